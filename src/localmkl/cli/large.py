"""Training on a large file: features written to a file piece by piece, and a fit on these."""

from typing import Any

from sklearn.base import clone

from localmkl.cli.feature_file import FeatureFile
from localmkl.cli.kernels import fitting_rows
from localmkl.cli.pieces import with_row
from localmkl.estimators.base import COSINE
from localmkl.estimators.factors import fit_on_features
from localmkl.kernels import fit_kernels
from localmkl.kernels.features import fit_features


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
        estimator._check_parameters()
        self.order, self.estimator, self.chosen, self.voice = order, estimator, chosen, voice
        self.whole = chosen.content.whole
        try:
            self.kernels = fit_kernels(chosen.kernels, chosen.content.rows)
        except ValueError as error:
            raise ValueError(with_row(error, chosen.content.numbers)) from error
        self.file: Any = None

    def fit(self, content, parameters=None):
        """Return a model with some parameters, fitted on all rows; the content is a sample of them."""
        model = clone(self.estimator).set_params(**(parameters or {}))
        self.file = self._file(model)
        self.file.open(self.voice, force=self.order.force)
        with self.file.kept():
            self._fill()
            with self.voice.counting(f"fitting {len(self.whole.y):,} rows"):
                return fit_on_features(
                    model,
                    content.rows,
                    self.whole.y,
                    self.file.features,
                    self.file.table(),
                    self.file.traces,
                    groups=self.whole.groups,
                )

    def _file(self, model):
        """Return the file of the features, or what is to become it."""
        sample, order = self.chosen.content.rows, self.order
        features = fit_features(
            self.kernels,
            sample,
            order.rank,
            landmarks=model.landmarks,
            random_state=order.seed,
            cosine=model.normalize == COSINE,
        )
        options = {
            "kernels": self.chosen.said,
            "rank": order.rank,
            "seed": order.seed,
            "normalize": str(model.normalize),
        }
        return FeatureFile(order.features, features, sample, len(self.whole.y), self.whole.stamps, options)

    def _fill(self):
        """Compute the features that are not there; what would only meet the same error again is not kept."""
        try:
            with self.voice.counting("features") as show:
                complete = self.file.fill(self._pieces(), show)
            self.whole.check_unchanged()
            if not complete:
                raise ValueError(
                    f"{str(self.whole.path)!r} had {len(self.whole.y):,} rows at first, and then others."
                )
        except ValueError:
            self.file.remove()
            raise

    def _pieces(self):
        for piece in self.whole.pieces():
            first = int(piece.numbers[0])
            yield first, first + len(piece), lambda piece=piece: fitting_rows(piece, self.chosen)

    def finish(self):
        """Remove the features, unless they are to be kept."""
        if self.order.keep_features:
            self.voice.note(f"The features are kept: {self.file.path}.")
        else:
            self.file.remove()
