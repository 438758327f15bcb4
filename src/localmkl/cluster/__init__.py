"""Rows in chunks, as `dask.array` or `dask.dataframe`: fit and predict where they are.

    chunks        rows, labels and weights as tasks, with equal lengths; a sample of them
    chunk_sums    what a chunk adds to the sums that the solver asks for
    fitting       features once, then a few sums for each step
    predicting    answers are dask arrays

Every task is a function of a chunk and of small arrays: dask can repeat it when a worker is lost.
"""

from localmkl.cluster.fitting import fit, sample_of
from localmkl.cluster.predicting import predict

__all__ = ["fit", "predict", "sample_of"]
