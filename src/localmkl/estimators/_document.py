"""Constructors and docstrings of the estimators, out of the parameters that their parts declare.

Every parameter is declared once, by the part that uses it, as a class attribute that holds its default, and
described once, here, where the order is that of every signature.
"""

import inspect
from collections.abc import Iterable
from dataclasses import field, make_dataclass
from typing import Any, TypeVar

from localmkl.gates import GATES

Class = TypeVar("Class", bound=type[Any])

PARAMETERS = {
    "kernels": """list of kernels, "precomputed" or None, default=None
    Kernels of `localmkl.kernels`, words for them such as ``"linear"`` and ``"rbf"`` (`KERNEL_WORDS` has all),
    or functions ``f(X, Y)``. With ``"precomputed"``, `X` is a
    `GramStack` (or an array of shape (n_kernels, n_rows, n_columns)) or a `FactorStack`. None stands
    for `localmkl.kernels.default_kernels`, which depend on what the training rows hold.""",
    "C": """float, default=3.0
    Cost of the loss against the norm of the solution; larger fits the training data closer.""",
    "loss": "",
    "p": """float, default=4/3
    Norm of each cluster's kernel weights, in [1, inf]: 1 selects few kernels, inf weighs all alike.""",
    "n_clusters": """int, default=3
    Number of clusters.""",
    "evenness": """float, default=0.7
    Average evenness of the memberships, in [1/n_clusters, 1]: from a hard partition to a uniform
    one. It does not matter with one cluster.""",
    "shared": """float, default=0.0
    Share of a part that is the same for all samples, in [0, 1]: memberships become
    (s, (1 - s) c_1, ..., (1 - s) c_l), with weights of its own for the part that is shared. 0 is the
    paper's method, 1 is MKL.""",
    "gate": f"""{{{", ".join(f'"{name}"' for name in GATES)}}}, Gate, model or array, default="{GATES[0]}"
    Where memberships come from: kernel k-means, or known groups (see `groups`). Also a
    `localmkl.gates.Gate` with its own parameters; any object with ``fit`` and ``predict_proba``, such as a
    `GaussianMixture` (wrap it in scikit-learn's ``FrozenEstimator`` if it is fitted already); a function of
    the rows returning (n, n_clusters); or a fixed matrix with one row per row of the whole `GramStack`.""",
    "gate_kernel": """None, int, kernel or callable, default=None
    The kernel that says who is near whom: the uniform combination of all kernels, one of `kernels`
    by index, or a kernel of its own. A sample that lacks the view that it reads belongs to all clusters
    alike. With ``gate="groups"``, how similar groups are: a matrix in the order
    of their sorted names, a data frame with the names on both sides, or a function of two lists of names.
    None: not at all.""",
    "groups": """str, int, pair or None, default=None
    With ``gate="groups"``, the column of `X` that holds the group of each row: its name in a data frame,
    its number in an array, of `Views` the name of a column that one of them has, or (view, column). Kernels
    do not see it, and count columns without it. None: groups are passed to ``fit`` and ``predict``. Groups
    that are new at prediction get the shared part and equal shares of the rest.""",
    "normalize": """{"multiplicative", "trace", "cosine", None}, default="multiplicative"
    Normalisation of every kernel, learned on the training rows. With precomputed kernels,
    ``"cosine"`` works on a copy.""",
    "missing": """{"rescale", "zero"}, default="rescale"
    What samples count that lack one of several `Views`: its kernels are zero for them either way;
    ``"rescale"`` lets their other kernels make up for it, divided by the root of the share of views that
    a sample has.""",
    "n_components": """int or None, default=None
    None computes the Grams of all rows, n^2 numbers for each kernel. A number replaces every kernel by
    features, at most so many, whose products are the kernel, or nearly so: cost and memory then grow with
    n alone. Kernels with few features of their own (lines, counts) keep these; all others are compared
    with so many training rows, the landmarks. ``approximation_error_`` and ``exact_gap`` say what it
    costs. Precomputed kernels are taken as they are.""",
    "landmarks": """{"random", "kmeans"}, default="random"
    With `n_components`, how landmarks are chosen: at random, or near the centres of k-means (rows of
    numbers only).""",
    "scale_C": """bool, default=True
    Whether to divide `C` by the size that memberships and the norm give the combined kernel at even
    weights, so that it means the same for every method, evenness, share, p and number of kernels:
    that of a support vector machine with the mean of the kernels. Regressors whose loss grows in
    proportion to the error multiply it by the standard deviation of the targets, so that these may be
    in any unit. False is the scaling of the paper.""",
    "epsilon": """float, default=0.1
    Half width of the tube in which errors cost nothing with ``loss="epsilon_insensitive"``; the error
    from which on the loss is linear with ``loss="huber"``. Other losses have none.""",
    "quantile": """float, default=0.5
    Share of the targets, in (0, 1), that shall lie below the predictions with ``loss="quantile"``.""",
    "solver": """{"newton", "alternating"}, default="newton"
    How the kernel weights move: by second-order steps, or by the closed form of the published
    algorithm, which is simpler and slower.""",
    "tol": """float, default=1e-3
    Relative duality gap to reach.""",
    "max_iter": """int, default=500
    Most updates of the kernel weights.""",
    "n_init": """int, default=DEFAULT
    Random restarts; the best one is kept.""",
    "class_weight": """dict, "balanced" or None, default=None
    Multiplies `C` for the samples of each class.""",
    "random_state": """int, RandomState instance or None, default=None
    Seed of restarts and landmarks.""",
    "device": """{"cpu", "cuda", "cuda:1", "auto"}, default="cpu"
    Where Grams or features are computed and kept, and problems solved: the processor, or a GPU by PyTorch
    (``pip install 'localmkl[gpu]'``); "auto" is a GPU where there is one. A precomputed stack of tensors
    stays on its device whatever this says. A GPU has solvers of its own in place of `solver`, and solves one
    problem after the other.""",
    "n_jobs": """int or None, default=None
    Threads over the classes of a multi-class problem; all of them read one Gram stack.""",
    "verbose": """int, default=0
    Print primal, dual and gap of every step.""",
}

ATTRIBUTES = {
    "kernel_weights_": """ndarray of shape (n_clusters, n_kernels)
    Weight of each (normalised) kernel in each cluster; with several classes,
    (n_classes, n_clusters, n_kernels).""",
    "dual_coef_": """ndarray of shape (n_samples,)
    Signed dual variables; (n_classes, n_samples) with several classes.""",
    "intercept_": """float
    One intercept for all clusters; (n_classes,) with several classes.""",
    "duality_gap_": """float
    Certified relative duality gap, recomputed from the Gram matrices; the largest over classes.""",
    "n_iter_": """int
    Updates of the kernel weights; the most over classes.""",
    "support_": """ndarray
    Indices of the training samples with a dual variable that is not zero.""",
    "cluster_names_": """list of str
    Names of the rows of `kernel_weights_`: the clusters or groups, before them "shared" if there is
    such a part.""",
    "tau_": """float
    Sharpness of the memberships that gives the evenness asked for; inf is a hard partition.""",
    "evenness_": """float
    Average evenness of the memberships of the training samples.""",
    "history_": """dict of ndarray
    "primal", "dual", "gap" and, for convex methods, "svm_gap" (the inner problem's part of it) of every
    step; a list of them with several classes.""",
    "squared_norm_": """float
    ``sum_jm ||w_jm||^2 / beta_jm`` of the solution; (n_classes,) with several classes.""",
    "C_": """float
    The cost that the optimisation had: `C`, scaled if `scale_C`.""",
    "classes_": """ndarray of shape (n_classes,)
    The class labels; a positive decision means ``classes_[1]``.""",
    "loss_": """Loss
    The loss of the fit.""",
    "kernels_": """list
    The fitted kernels; None with precomputed ones.""",
    "factors_": """ndarray of shape (n_kernels,)
    What the normalisation multiplies each Gram by.""",
    "approximation_error_": """ndarray of shape (n_kernels,)
    With `n_components`, the share of each kernel's trace that its features leave out.""",
}


def estimator(cls: Class) -> Class:
    """Give a class the constructor that stores its parameters, and complete its docstring.

    The class itself is no dataclass: tools (dask) take those for no more than their fields, whatever a fit
    has learned.
    """
    fields = [
        (name, object, field(default=getattr(cls, name), kw_only=name != "kernels"))
        for name in PARAMETERS
        if hasattr(cls, name)
    ]
    cls.__init__ = vars(make_dataclass(cls.__name__, fields))["__init__"]
    cls.__init__.__annotations__ = {}
    return _document(cls)


def _document(cls: Class) -> Class:
    """Insert parameters and attributes after the first paragraphs; "References" and "Examples" stay last."""
    text = inspect.cleandoc(cls.__doc__ or "")  # python -OO keeps none
    cut = min((text.index(word) for word in _ENDINGS if word in text), default=len(text))
    signature = inspect.signature(cls).parameters
    described = dict(PARAMETERS)
    for part in reversed(cls.__mro__):
        described |= vars(part).get("_described", {})
    parameters = [
        f"{name} : {described[name].replace('DEFAULT', repr(argument.default))}"
        for name, argument in signature.items()
    ]
    hidden = set(getattr(cls, "_undocumented", ()))
    if "class_weight" not in signature:
        hidden |= {"classes_"}
    attributes = [f"{name} : {text}" for name, text in ATTRIBUTES.items() if name not in hidden]
    sections = [*_section("Parameters", parameters), "", *_section("Attributes", attributes)]
    cls.__doc__ = "\n".join([text[:cut].rstrip(), "", *sections, "", text[cut:]])
    return cls


_ENDINGS = ("References\n----------", "Examples\n--------")


def _section(title: str, entries: Iterable[str]) -> list[str]:
    return [title, "-" * len(title), *entries]
