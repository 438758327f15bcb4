"""Quality: scores on test rows of localmkl and of what scikit-learn has, on many sets of data.

``python -m benchmarks.quality`` runs what is missing of (set, repetition, method) and writes the summary.
"""
