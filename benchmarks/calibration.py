"""Probabilities of a log-loss model of 20,000 samples against the true ones, in deciles of as many new ones.

With fewer samples to learn from, the labels themselves leave the frequencies of a decile uncertain by more
than a hundredth.
"""

import numpy as np

from localmkl import UniformMKLClassifier
from localmkl.kernels import RBF


def run(smoke):
    rng = np.random.default_rng(0)
    n = 200 if smoke else 20_000
    X, y, _ = make(rng, n)
    new, labels, true = make(rng, n)
    model = UniformMKLClassifier([RBF(gamma=1.0)], C=1.0, loss="log_loss").fit(X, y)
    found = model.predict_proba(new)[:, 1]
    decile = np.argsort(np.argsort(found)) * 10 // len(found)
    return [
        {
            "decile": k + 1,
            "n": n,
            "gap": model.duality_gap_,
            "predicted": found[decile == k].mean(),
            "observed": labels[decile == k].mean(),
            "true": true[decile == k].mean(),
            "predicted - true": found[decile == k].mean() - true[decile == k].mean(),
        }
        for k in range(10)
    ]


def make(rng, n):
    """Return rows, labels, and the probability of each label being one; left and right follow other rules."""
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    score = np.where(X[:, 0] < 0.0, 2.5 * np.sin(2.0 * X[:, 1]), 2.0 * X[:, 0] * X[:, 1])
    true = 1.0 / (1.0 + np.exp(-score))
    return X, (rng.uniform(size=n) < true).astype(int), true
