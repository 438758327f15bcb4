"""Gates: memberships from the Gram of a gate kernel; see `interface` for the protocol.

kmeans    round clusters around means: kernel k-means
groups    known groups take the place of clusters (`localmkl.estimators.groups`)

Any model with ``fit`` and ``predict_proba`` is a gate, too: ``GaussianMixture(3)``, for instance.
"""

from localmkl.gates.evenness import average_evenness, memberships, tau_for_evenness
from localmkl.gates.interface import Gate
from localmkl.gates.kmeans import KernelKMeansGate, kernel_kmeans, settle

__all__ = [
    "GATES",
    "GROUPS",
    "Gate",
    "KernelKMeansGate",
    "average_evenness",
    "kernel_kmeans",
    "memberships",
    "settle",
    "tau_for_evenness",
]

GROUPS = "groups"
GATES = ("kmeans", GROUPS)
"""All names that `gate` may have, the default first."""
