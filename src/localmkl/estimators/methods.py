"""The ten estimators: a task, and a method.

UNIF    the sum of all kernels            MKL    one set of kernel weights
HLMKL   one set for each hard cluster     CLMKL  one set for each soft cluster
LMKL    weights that a learned gate gives each sample
"""

from localmkl.estimators._document import estimator
from localmkl.estimators.convex import GlobalMKL, LocalMKL, LpNormMKL, SoftMKL
from localmkl.estimators.gated import GatedMKL
from localmkl.estimators.tasks import ClassifierPart, RegressorPart


@estimator
class UniformMKLClassifier(ClassifierPart, GlobalMKL):
    """Classification with the sum of all (normalised) kernels: UNIF.

    With the hinge loss, this is a support vector machine.

    Examples
    --------
    >>> from localmkl import UniformMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> UniformMKLClassifier().fit(X, y).kernel_weights_
    array([[1., 1., 1., 1.]])
    """


@estimator
class UniformMKLRegressor(RegressorPart, GlobalMKL):
    """Regression with the sum of all (normalised) kernels: UNIF.

    With the epsilon-insensitive loss, this is support vector regression.

    Examples
    --------
    >>> from localmkl import UniformMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> UniformMKLRegressor(C=10.0).fit(X, y).kernel_weights_
    array([[1., 1., 1., 1.]])
    """


@estimator
class MKLClassifier(ClassifierPart, LpNormMKL, GlobalMKL):
    """Lp-norm multiple kernel learning for classification: one set of kernel weights.

    Minimises ``sum_m ||w_m||^2 / (2 beta_m) + C sum_i loss(f(x_i), y_i)`` over w, b and weights
    beta >= 0 with ``||beta||_p <= 1``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien: Lp-norm multiple kernel learning. JMLR 12, 2011.

    Examples
    --------
    >>> from localmkl import MKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = MKLClassifier(p=1).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((1, 4), True)
    """


@estimator
class MKLRegressor(RegressorPart, LpNormMKL, GlobalMKL):
    """Lp-norm multiple kernel learning for regression: one set of kernel weights.

    Minimises ``sum_m ||w_m||^2 / (2 beta_m) + C sum_i loss(f(x_i), y_i)`` over w, b and weights
    beta >= 0 with ``||beta||_p <= 1``.

    References
    ----------
    Kloft, Brefeld, Sonnenburg, Zien: Lp-norm multiple kernel learning. JMLR 12, 2011.

    Examples
    --------
    >>> from localmkl import MKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> model = MKLRegressor(p=1).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((1, 4), True)
    """


@estimator
class HLMKLClassifier(ClassifierPart, LocalMKL):
    """Localized multiple kernel learning with hard clusters, for classification.

    Every sample, new ones too, belongs to its nearest cluster; each cluster has its own weights.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Theory and algorithms for the localized setting of learning kernels.
    NIPS workshop on feature extraction, 2015.

    Examples
    --------
    >>> from localmkl import HLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = HLMKLClassifier(n_clusters=2, random_state=0).fit(X, y)
    >>> sorted(set(model.memberships(X).ravel().tolist()))
    [0.0, 1.0]
    """


@estimator
class HLMKLRegressor(RegressorPart, LocalMKL):
    """Localized multiple kernel learning with hard clusters, for regression.

    Every sample, new ones too, belongs to its nearest cluster; each cluster has its own weights.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Theory and algorithms for the localized setting of learning kernels.
    NIPS workshop on feature extraction, 2015.

    Examples
    --------
    >>> from localmkl import HLMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> HLMKLRegressor(n_clusters=2, random_state=0).fit(X, y).kernel_weights_.shape
    (2, 4)
    """


@estimator
class CLMKLClassifier(ClassifierPart, SoftMKL):
    """Convex localized multiple kernel learning for classification.

    Samples belong to clusters with memberships c_j(x) that sum to one, and each cluster j has its own
    kernel weights: minimise ``sum_jm ||w_jm||^2 / (2 beta_jm) + C sum_i loss(f(x_i), y_i)`` with
    ``f(x) = sum_j c_j(x) sum_m <w_jm, phi_m(x)> + b``, beta >= 0 and ``||beta_j||_p <= 1``.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach. ACML, 2016.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = CLMKLClassifier(n_clusters=2, evenness=0.7, random_state=0).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((2, 4), True)
    >>> round(model.evenness_, 3)
    0.7
    """

    _hard = False


@estimator
class CLMKLRegressor(RegressorPart, SoftMKL):
    """Convex localized multiple kernel learning for regression.

    Samples belong to clusters with memberships c_j(x) that sum to one, and each cluster j has its own
    kernel weights: minimise ``sum_jm ||w_jm||^2 / (2 beta_jm) + C sum_i loss(f(x_i), y_i)`` with
    ``f(x) = sum_j c_j(x) sum_m <w_jm, phi_m(x)> + b``, beta >= 0 and ``||beta_j||_p <= 1``.

    References
    ----------
    Lei, Binder, Dogan, Kloft: Localized Multiple Kernel Learning - A Convex Approach. ACML, 2016.

    Examples
    --------
    >>> from localmkl import CLMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> model = CLMKLRegressor(n_clusters=2, evenness=0.7, random_state=0).fit(X, y)
    >>> model.kernel_weights_.shape, bool(model.duality_gap_ <= model.tol)
    ((2, 4), True)
    """

    _hard = False


@estimator
class LMKLClassifier(ClassifierPart, GatedMKL):
    """Localized multiple kernel learning with a gate, for classification: not convex.

    `gate` is ``"softmax"`` or ``"sigmoid"``; ``gate_kernel=Linear()`` is the linear gate on raw
    columns. `kernel_weights_` holds the mean of the gate over the training samples, and
    `duality_gap_` is that of the convex problem for the final gate: the whole is not convex, and
    nothing certifies the gate itself.

    References
    ----------
    Gonen, Alpaydin: Localized multiple kernel learning. ICML, 2008; in the kernelised form of the
    supplement of Lei, Binder, Dogan, Kloft, 2016.

    Examples
    --------
    >>> from localmkl import LMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, random_state=0)[:2]
    >>> model = LMKLClassifier(random_state=0).fit(X, y)
    >>> float(model.gating(X).sum(axis=1).round(6).min())
    1.0
    """


@estimator
class LMKLRegressor(RegressorPart, GatedMKL):
    """Localized multiple kernel learning with a gate, for regression: not convex.

    `gate` is ``"softmax"`` or ``"sigmoid"``; ``gate_kernel=Linear()`` is the linear gate on raw
    columns. `kernel_weights_` holds the mean of the gate over the training samples, and
    `duality_gap_` is that of the convex problem for the final gate: the whole is not convex, and
    nothing certifies the gate itself.

    References
    ----------
    Gonen, Alpaydin: Localized algorithms for multiple kernel learning. Pattern Recognition 46, 2013.

    Examples
    --------
    >>> from localmkl import LMKLRegressor
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(n_samples=100, regression=True, random_state=0)[:2]
    >>> LMKLRegressor(random_state=0).fit(X, y).gating(X).shape
    (100, 4)
    """
