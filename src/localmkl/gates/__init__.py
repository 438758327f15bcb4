"""Gates: memberships from the Gram of a gate kernel; see `interface` for the protocol.

kmeans       round clusters around means: kernel k-means
mixture      clusters of any shape and size: a Gaussian mixture on kernel principal components
convex       clusters that points drawn together fuse to: convex, without a seed
supervised   clusters that are moved until the labels fit: not convex
"""

from localmkl.gates.convex import ConvexGate
from localmkl.gates.evenness import average_evenness, memberships, tau_for_evenness
from localmkl.gates.interface import Gate
from localmkl.gates.kmeans import KernelKMeansGate, kernel_kmeans, settle
from localmkl.gates.mixture import MixtureGate
from localmkl.gates.supervised import SupervisedGate

__all__ = [
    "CLUSTERINGS",
    "GATES",
    "GROUPS",
    "ConvexGate",
    "Gate",
    "KernelKMeansGate",
    "MixtureGate",
    "SupervisedGate",
    "average_evenness",
    "kernel_kmeans",
    "memberships",
    "settle",
    "tau_for_evenness",
]

CLUSTERINGS: dict[str, type[Gate]] = {
    "kmeans": KernelKMeansGate,
    "mixture": MixtureGate,
    "convex": ConvexGate,
    "supervised": SupervisedGate,
}
"""Name of a gate that finds clusters: its class. One that is added here is an option of all estimators."""

GROUPS = "groups"
"""The gate of known groups, which finds none."""

GATES = (*CLUSTERINGS, GROUPS)
"""All names that `gate` may have."""
