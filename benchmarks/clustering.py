"""Kernel k-means that follows the rows that move, beside one that multiplies the whole matrix every round.

Ten kinds of data, three and eight clusters, ten restarts from the same seeds, one thread of BLAS each. The
partitions should be the same, or have a smaller inertia.
"""

import numpy as np
from sklearn import datasets
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from benchmarks import harness
from benchmarks.references import make_blobs
from localmkl.backends import one_blas_thread
from localmkl.datasets import load_splice, make_localized
from localmkl.gates import kernel_kmeans, kmeans
from localmkl.kernels import WeightedDegree, compute_stack, fit_kernels


def run(smoke):
    """Return times and inertias of both, for every set and number of clusters."""
    rows = []
    for name, gram in _grams(60 if smoke else 2000).items():
        for n_clusters in (3,) if smoke else (3, 8):
            rows.append({"data": name, "n": len(gram), "l": n_clusters, **_both(gram, n_clusters, smoke)})
    return rows


def _both(gram, n_clusters, smoke):
    found, compiled = {}, kmeans._compiled
    plain = kmeans.cluster_sums, kmeans.settle
    for name, functions in {"rows that move": compiled, "whole products": lambda: plain}.items():
        kmeans._compiled = functions
        try:
            with one_blas_thread():
                cluster = _cluster(gram, n_clusters)
                found[name] = harness.seconds(cluster, repeats=1 if smoke else 3), *cluster()
        finally:
            kmeans._compiled = compiled
    (time, averages, _, inertia), (other_time, other, _, other_inertia) = found.values()
    return {
        "ms": 1e3 * time,
        "times faster": other_time / time,
        "same partition": bool(np.array_equal(averages > 0.0, other > 0.0)),
        "inertia / theirs": inertia / other_inertia,
    }


def _cluster(gram, n_clusters):
    return lambda: kernel_kmeans(gram, n_clusters, n_init=10, random_state=0)


def _grams(n):
    """Return a Gram of at most n rows for each of ten kinds of data."""
    rng = np.random.default_rng(0)
    tables = {
        "iris": datasets.load_iris().data,
        "wine": datasets.load_wine().data,
        "breast cancer": datasets.load_breast_cancer().data,
        "digits": datasets.load_digits().data,
        "diabetes": datasets.load_diabetes().data,
        "moons": datasets.make_moons(n, noise=0.1, random_state=0)[0],
        "three views": make_localized(n, random_state=0).X,
        "noise": rng.normal(size=(n, 20)),
    }
    grams = {name: _rbf(table[rng.permutation(len(table))[:n]]) for name, table in tables.items()}
    sequences = load_splice()[0][:n]
    kernels = fit_kernels([WeightedDegree(4)], sequences)
    return {
        **grams,
        "blobs": make_blobs(n).grams.mean(axis=0),
        "splice": compute_stack(kernels, sequences).grams[0],
    }


def _rbf(table):
    return rbf_kernel(StandardScaler().fit_transform(table), gamma=1.0 / table.shape[1])
