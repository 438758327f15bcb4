"""Training on a large file: features written to a file piece by piece, and a fit on these."""

import numpy as np
from sklearn.base import clone

from localmkl._files import create_array
from localmkl.cli.kernels import fitting_rows
from localmkl.cli.pieces import with_row
from localmkl.estimators.base import COSINE
from localmkl.estimators.factors import fit_on_features
from localmkl.kernels import fit_kernels
from localmkl.kernels.features import fit_features
from localmkl.kernels.stack import take_rows

BLOCK_ROWS = 2**13
"""Rows whose features are computed at a time: seconds of work."""


class LargeFit:
    """The fits on one large file; kernels and landmarks come from a sample of its rows.

    Parameters
    ----------
    order : Order
    estimator : estimator with `n_components`
    chosen : Chosen
        With the sample as its content.
    voice : Voice
    """

    def __init__(self, order, estimator, chosen, voice):
        self.order, self.estimator, self.chosen, self.voice = order, estimator, chosen, voice
        self.whole = chosen.content.whole
        try:
            self.kernels = fit_kernels(chosen.kernels, chosen.content.rows)
        except ValueError as error:
            raise ValueError(with_row(error, chosen.content.numbers)) from error

    def fit(self, content, parameters=None):
        """Return a model with some parameters, fitted on all rows; the content is a sample of them."""
        model, n_rows = clone(self.estimator).set_params(**(parameters or {})), len(self.whole.y)
        features = fit_features(
            self.kernels,
            self.chosen.content.rows,
            self.order.rank,
            landmarks=model.landmarks,
            random_state=self.order.seed,
            cosine=model.normalize == COSINE,
        )
        create_array(self.order.features, (n_rows, features.n_features), np.float32)
        try:
            with self.voice.counting("features") as show:
                traces = self._fill(features, show)
            table = np.lib.format.open_memmap(self.order.features, mode="r")
            with self.voice.counting(f"fitting {n_rows:,} rows"):
                rows, y, groups = content.rows, self.whole.y, self.whole.groups
                return fit_on_features(model, rows, y, features, table, traces, groups=groups)
        except BaseException:
            self.finish()
            raise

    def _fill(self, features, show):
        """Write the features of all rows; return the sums of the diagonals of the kernels."""
        table = np.lib.format.open_memmap(self.order.features, mode="r+")
        done, traces = 0, np.zeros(features.n_kernels)
        for piece in self.whole.pieces():
            rows = fitting_rows(piece, self.chosen)
            for start in range(0, len(piece), BLOCK_ROWS):
                block, numbers = take_rows(rows, slice(start, start + BLOCK_ROWS)), piece.numbers[start:]
                out = table[done : done + min(BLOCK_ROWS, len(numbers))]
                try:
                    features.transform(block, out=out)
                except ValueError as error:
                    raise ValueError(with_row(error, numbers)) from error
                if len(wrong := np.flatnonzero(~np.isfinite(out).all(axis=1))):
                    raise ValueError(
                        f"Kernels must be finite in 32 bits, those of row {numbers[wrong[0]]} are not; "
                        "bring the columns to one size."
                    )
                traces += features.diagonals(block).sum(axis=1)
                done += len(out)
                show(done, len(table))
        return traces

    def finish(self):
        """Remove the features."""
        self.order.features.unlink(missing_ok=True)
