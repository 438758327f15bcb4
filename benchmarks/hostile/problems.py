"""Random problems, many of them absurd, and a witness of every certificate in extended precision.

Thrown: 2 to 60 samples; kernels of rank one, of zeros, of duplicates, of sizes from 1e-12 to 1e12; tied,
constant, tiny and huge targets; every loss; C from 1e-6 to 1e8; p from 1 to 1e6; clusters without samples;
tolerances down to 1e-12.

A defect is an error that is not one clear sentence, a number that is not finite in a fitted model or in its
predictions, an infeasible answer, or a gap that is larger, as the witness computes it, than the model says.

certified      the gap asked for, confirmed
uncertified    a warning said that the gap asked for was not reached; the gap that was is confirmed
refused        one clear sentence
"""

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import localmkl
from localmkl.kernels import GramStack

TRIALS = 100_000
SHORT = 40
LIMIT = 60.0
"""Seconds. Most problems take milliseconds; those that cannot be certified may try for seconds."""

SIZES = (2, 3, 5, 5, 8, 8, 8, 13, 13, 13, 13, 20, 20, 20, 20, 30, 30, 30, 45, 45, 60)
NORMS = (1, 1, 1, 1 + 1e-12, 1.001, 1.1, 4 / 3, 4 / 3, 2, 3, 10, 50, 1000, 1e6, np.inf)
WIDE = np.longdouble
UNIT = float(np.finfo(WIDE).eps)
CLASSIFICATION = ("hinge", "hinge", "squared_hinge", "log_loss")
REGRESSION = ("epsilon_insensitive", "epsilon_insensitive", "squared_error", "huber", "quantile")
UNCLEAR = ("zero-size", "out of bounds", "broadcast", "unexpected", "NoneType", "not finite or far")
"""Words of messages that were not written for users."""


def trial(seed):
    """Fit one random model; judge what comes out."""
    rng = np.random.default_rng(seed)
    stack, y, model, weight = make(rng)
    told = {"model": _told(model), "n": len(y)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(stack, y, weight)
            decisions = getattr(model, "decision_function", model.predict)(stack)
        except ValueError as error:
            return {"verdict": "refused", "defect": unclear(str(error)), **told, "message": str(error)[:300]}
    expected = ConvergenceWarning, UserWarning
    strange = [str(warning.message) for warning in caught if not issubclass(warning.category, expected)]
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    defect = f"warned: {strange[0]}" if strange else _judge(model, stack, y, weight, decisions)
    convex = not told["model"].startswith("LMKL")
    if defect is None and convex and not warned and model.duality_gap_ > model.tol:
        defect = f"no word about a gap of {model.duality_gap_:.3g}"
    verdict = "uncertified" if warned else "certified"
    return {"verdict": verdict, "defect": defect, **told, "gap": model.duality_gap_}


def _told(model):
    changed = {name: value for name, value in model.get_params().items() if not isinstance(value, np.ndarray)}
    return f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"


def unclear(message):
    """Return what is wrong with a message, or None."""
    for words in UNCLEAR:
        if words in message:
            return f"unclear: {message}"
    return None if message.strip().endswith(".") and "\n" not in message else f"no sentence: {message}"


def make(rng):
    """Return a stack, targets, an unfitted model and sample weights (or None)."""
    n = int(
        rng.choice([2, 3, 5, 8, 13, 20, 30, 45, 60], p=[0.02, 0.04, 0.09, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05])
    )
    X = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-2, 3)
    if rng.random() < 0.2:
        X = X[rng.integers(n, size=n)]  # duplicates
    n_kernels = int(rng.integers(1, 7))
    grams = np.stack([_gram(rng, X) for _ in range(n_kernels)])
    if rng.random() < 0.15:
        grams[-1] = grams[0]
    if rng.random() < 0.25:
        with np.errstate(over="ignore"):
            grams = grams.astype(np.float32)
    regression = rng.random() < 0.45
    y = _targets(rng, X) if regression else _labels(rng, X)
    weight = None
    if rng.random() < 0.15:
        weight = rng.choice([0.0, 1e-6, 1.0, 2.0, 1e3], size=n)
    return GramStack(grams), y, _model(rng, n, regression), weight


def _gram(rng, X):
    """Return a Gram matrix whose largest entry is a power of ten."""
    gram = _shape(rng, X)
    largest = np.abs(gram).max()
    scale = 10.0 ** rng.choice([0, 0, 0, 0, 1, -1, 3, -3, 6, -6, 12, -12])
    return gram * (scale / largest) if largest > 0.0 else gram


def _shape(rng, X):
    n, kind = len(X), rng.integers(8)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    if kind == 0:
        return np.exp(-distances * 10.0 ** rng.integers(-4, 3))
    if kind == 1:
        return X @ X.T
    if kind == 2:
        column = X[:, rng.integers(X.shape[1])]
        return np.outer(column, column)
    if kind == 3:
        return (X @ X.T + 1.0) ** 2
    if kind == 4:
        return np.eye(n)
    if kind == 5:
        return np.zeros((n, n)) if rng.random() < 0.3 else np.ones((n, n))
    if kind == 6:
        groups = rng.integers(3, size=n)
        return (groups[:, None] == groups).astype(float)
    sizes = 10.0 ** rng.uniform(-3.0, 3.0, size=n)
    return np.outer(sizes, sizes) * np.exp(-distances)


def _targets(rng, X):
    n, kind = len(X), rng.integers(6)
    signal = X @ rng.normal(size=X.shape[1]) / (np.abs(X).max() + 1e-300)
    if kind == 0:
        return np.full(n, float(rng.choice([0.0, 0.1, 1e8])))
    if kind == 1:
        return rng.integers(-2, 3, size=n).astype(float)
    if kind == 2:
        return np.round(signal, 1)
    if kind == 3:
        return signal * 10.0 ** rng.integers(-8, 9) + rng.choice([0.0, 1e4, 1e8])
    return signal + 0.3 * rng.normal(size=n)


def _labels(rng, X):
    n_classes = int(rng.choice([2, 2, 2, 2, 3, 4]))
    y = rng.integers(n_classes, size=len(X))
    if rng.random() < 0.5:
        y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, n_classes + 1)[1:-1]))
    if rng.random() < 0.15:
        y[:] = 0
        y[0] = 1
    return y


def _model(rng, n, regression):
    method = rng.choice(["CLMKL", "HLMKL", "MKL", "UniformMKL", "LMKL"], p=[0.5, 0.15, 0.2, 0.1, 0.05])
    options = {
        "kernels": "precomputed",
        "C": 10.0 ** rng.uniform(-6.0, 8.0) if rng.random() < 0.6 else float(rng.choice([0.01, 1.0, 100.0])),
        "normalize": rng.choice(["multiplicative", "trace", "none"]).replace("none", "") or None,
        "tol": 10.0 ** -float(rng.choice([1, 2, 3, 3, 3, 4, 6, 8, 10, 12])),
    }
    options["loss"] = str(rng.choice(REGRESSION if regression else CLASSIFICATION))
    if regression:
        options["epsilon"] = float(rng.choice([0.0, 0.0, 1e-12, 0.01, 0.1, 1.0, 100.0]))
        options["quantile"] = float(rng.choice([0.5, 0.9, rng.uniform(1e-6, 1.0)]))
    elif rng.random() < 0.2:
        options["class_weight"] = "balanced"
    if method in ("CLMKL", "HLMKL", "MKL"):
        options["p"] = float(
            rng.choice([1, 1, 1, 1 + 1e-12, 1.001, 1.1, 4 / 3, 4 / 3, 2, 3, 10, 50, 1000, 1e6, np.inf])
        )
        options["solver"] = str(rng.choice(["newton", "newton", "newton", "alternating"]))
    if method in ("CLMKL", "HLMKL"):
        options["n_clusters"] = int(rng.integers(1, 6))
        options["random_state"] = 0
        options["n_init"] = 3
    if method == "CLMKL":
        options["evenness"] = float(rng.uniform(1.0 / options["n_clusters"], 1.0))
        if rng.random() < 0.1:
            options["evenness"] = 1.0
    if method in ("CLMKL", "HLMKL"):
        options["shared"] = float(rng.choice([0.0, 0.0, 0.5, 1.0, rng.random()]))
    if method != "LMKL":
        options["scale_C"] = bool(rng.random() < 0.5)
    if method in ("CLMKL", "HLMKL") and rng.random() < 0.2:
        options["gate"] = _memberships(rng, n, options["n_clusters"], hard=method == "HLMKL")
    if method == "LMKL":
        options |= {"random_state": 0, "n_init": int(rng.integers(1, 3)), "max_iter": 20}
        options["tol"] = max(options["tol"], 1e-4)
    return getattr(localmkl, f"{method}{'Regressor' if regression else 'Classifier'}")(**options)


def _memberships(rng, n, n_clusters, *, hard):
    if hard:
        return np.eye(n_clusters)[rng.integers(n_clusters, size=n)]
    raw = rng.random((n, n_clusters)) ** 4
    raw[rng.random(raw.shape) < 0.3] = 0.0
    raw[raw.sum(axis=1) == 0.0, 0] = 1.0
    return raw / raw.sum(axis=1, keepdims=True)


def _judge(model, stack, y, weight, decisions):
    """Return what is wrong with a fitted model, or None."""
    for name, value in vars(model).items():
        finite = value is None or not isinstance(value, np.ndarray | float) or _is_finite(value)
        if name.endswith("_") and not finite and name not in ("tau_", "evenness_", "duality_gap_"):
            return f"`{name}` is not finite"
    if not np.isfinite(decisions).all():
        return "a decision is not finite"
    if type(model).__name__.startswith("LMKL"):
        return None
    if not math.isclose(model.C_, _scaled(model, y, weight), rel_tol=1e-6):
        return f"the cost is {_scaled(model, y, weight):.6g}, the model says {model.C_:.6g}"
    for alpha, weights, intercept, target, C in _problems(model, y, weight):
        defect = infeasible(model, alpha, weights, target, C)
        if defect is not None:
            return defect
        gap, doubt = witness(model, stack, alpha, weights, intercept, target, C)
        if not gap <= model.duality_gap_ + doubt:
            return f"the gap is {gap:.6g} (+- {doubt:.1g}), the model says {model.duality_gap_:.6g}"
    return None


def _scaled(model, y, weight):
    """Return the cost of the optimisation: C over the size of the kernel, in units of the targets."""
    if not model.scale_C:
        return model.C
    shares = np.ones(len(y)) if weight is None else weight
    shares = shares / shares.sum()
    size = shares @ (model.memberships_**2).sum(axis=1) * len(model.factors_) ** (1.0 - 1.0 / _p(model))
    unit, counted = 1.0, np.asarray(y, dtype=WIDE)[shares > 0.0]
    if model.loss in ("epsilon_insensitive", "quantile") and np.ptp(counted) > 1e-12 * np.abs(counted).max():
        unit = float(np.sqrt(shares[shares > 0.0] @ (counted - shares[shares > 0.0] @ counted) ** 2))
    return model.C * unit / size


def _is_finite(value):
    return np.asarray(value).dtype.kind not in "f" or np.isfinite(value).all()


def _problems(model, y, weight):
    """Yield dual variables, weights, intercept, targets and costs of every class."""
    costs = np.ones(len(y))
    targets = [np.asarray(y, dtype=float)]
    if hasattr(model, "classes_"):
        if model.class_weight == "balanced":
            _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
            costs = (len(y) / (len(counts) * counts))[codes]
        positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        targets = [np.where(y == label, 1.0, -1.0) for label in positive]
    C = model.C_ * (costs if weight is None else costs * weight)
    shape = len(targets), -1, len(model.factors_)
    yield from zip(
        np.reshape(model.dual_coef_, (len(targets), -1)),
        np.reshape(model.kernel_weights_, shape),
        np.ravel(model.intercept_),
        targets,
        [C] * len(targets),
        strict=True,
    )


def infeasible(model, alpha, weights, y, C):
    """Return which constraint an answer breaks, or None."""
    lower, upper = _box(model, y, C)
    if np.any(alpha < lower) or np.any(alpha > upper):
        return "a dual variable lies outside its box"
    if abs(math.fsum(alpha)) > 1e-13 * np.abs(alpha).sum():
        return f"the dual variables sum to {math.fsum(alpha):.3g}, their sizes to {np.abs(alpha).sum():.3g}"
    if np.any(weights < 0.0) or _norm(weights.astype(WIDE), _p(model)).max() > 1.0 + 1e-12:
        return "kernel weights lie outside their ball"
    return None


def witness(model, stack, alpha, weights, intercept, y, C):
    """Return the relative duality gap of an answer, by the formulas alone, and its rounding."""
    c, a = model.memberships_.astype(WIDE), alpha.astype(WIDE)
    factors = model.factors_.astype(WIDE)
    u = c * a[:, None]
    q, size = np.zeros((2, *weights.shape), WIDE)
    doubts, diagonals, f = np.zeros((3, len(y)), WIDE)
    f += intercept
    for m in range(weights.shape[1]):
        gram = stack.block(m).astype(WIDE) * factors[m]
        diagonals += gram.diagonal()
        for j in range(weights.shape[0]):
            image = gram @ u[:, j]
            rough = np.abs(gram) @ np.abs(u[:, j])
            q[j, m] = max(u[:, j] @ image, WIDE(0.0))
            size[j, m] = np.abs(u[:, j]) @ rough
            f += c[:, j] * weights[j, m] * image
            doubts += c[:, j] * weights[j, m] * rough
    losses, slopes, terms, sizes, far = _by_formula(model, f, y, a, C)
    p = _p(model)
    primal = (weights * q).sum() / 2 * max(WIDE(1.0), _norm(weights.astype(WIDE), p).max()) + C @ losses
    dual = terms.sum() - sum(_dual_norm(own, p) for own in q) / 2
    # An answer with a primal like this has scores, and so a best intercept, of at most this size.
    widest = np.sqrt(2 * max(primal, WIDE(0.0)) * np.max((c**2).sum(axis=1) * diagonals))
    surplus = abs(math.fsum(alpha))
    dual -= surplus * ((_intercept(model, y, a, C, far) if surplus else 0) + widest)
    rough = size.sum() + C @ (slopes * (doubts + np.abs(f) + np.abs(y)) + losses) + sizes.sum() + abs(primal)
    doubt = (len(y) + weights.size + 20) * UNIT * rough
    if primal <= 2 * doubt:
        return 0.0, float("inf")  # the witness cannot tell it from zero
    return float((primal - dual) / primal), float(2 * doubt / (primal - doubt))


def _box(model, y, C):
    """Return the bounds of the dual variables."""
    if model.loss == "squared_error":
        far = np.where(C > 0.0, np.inf, 0.0)
        return -far, far
    if model.loss in REGRESSION:
        low, high = {"quantile": (1.0 - model.quantile, model.quantile)}.get(model.loss, (1.0, 1.0))
        factor = model.epsilon if model.loss == "huber" else 1.0
        return -low * factor * C, high * factor * C
    far = C if model.loss != "squared_hinge" else np.where(C > 0.0, np.inf, 0.0)
    return np.where(y > 0.0, 0.0, -far), np.where(y > 0.0, far, 0.0)


def _by_formula(model, f, y, a, C):
    """Return losses, largest slopes near them, terms of the dual, their sizes, and a bound of the intercept.

    The intercept is that of scores that are all zero.
    """
    error, margin, safe = y - f, 1.0 - y * f, np.where(C > 0.0, C, 1.0).astype(WIDE)
    bend = np.where(C > 0.0, a * a / safe, 0.0)
    epsilon, far = WIDE(getattr(model, "epsilon", 0.0)), np.abs(y).max()
    linear, ones = y * a, np.ones_like(f)
    if model.loss == "hinge":
        return np.maximum(0, margin), ones, linear, np.abs(linear), far
    if model.loss == "squared_hinge":
        losses = np.maximum(0, margin) ** 2
        return losses, 2 * np.abs(margin) + 2, linear - bend / 4, np.abs(linear) + bend, far
    if model.loss == "log_loss":
        t = np.clip(linear / safe, 0, 1)
        entropy = -t * np.log(np.where(t > 0, t, 1)) - (1 - t) * np.log1p(-np.where(t < 1, t, 0))
        both = np.log(C[y > 0].sum()) - np.log(C[y < 0].sum())
        return np.logaddexp(0, -y * f), ones, C * entropy, C * (entropy + 40 * t), abs(both)
    if model.loss == "epsilon_insensitive":
        losses = np.maximum(0, np.abs(error) - epsilon)
        return losses, ones, linear - epsilon * np.abs(a), np.abs(linear) + epsilon * np.abs(a), far + epsilon
    if model.loss == "quantile":
        q = WIDE(model.quantile)
        return np.maximum(q * error, (q - 1) * error), ones, linear, np.abs(linear), far
    terms, sizes = linear - bend / 2, np.abs(linear) + bend
    if model.loss == "squared_error":
        return error**2 / 2, np.abs(error) + 1, terms, sizes, far
    near = np.minimum(np.abs(error), epsilon)
    return near * (np.abs(error) - near / 2), np.full_like(f, epsilon), terms, sizes, far


def _intercept(model, y, a, C, far):
    """Return the size of the best intercept of scores that are all zero, from a narrowing range."""
    low, high = -WIDE(far), WIDE(far)
    for _ in range(200):
        points = low + (high - low) / 3, high - (high - low) / 3
        left, right = (C @ _by_formula(model, np.full(len(y), b), y, a, C)[0] for b in points)
        low, high = (low, points[1]) if left <= right else (points[0], high)
    return max(abs(low), abs(high)) * (1 + 1e-6)


def _p(model):
    return WIDE(getattr(model, "p", np.inf))


def _norm(weights, p):
    """Return ||beta_j||_p of every cluster."""
    largest = weights.max(axis=1)
    if np.isinf(p):
        return largest
    safe = np.where(largest > 0.0, largest, WIDE(1.0))
    return largest * np.sum((weights / safe[:, None]) ** p, axis=1) ** (1 / p)


def _dual_norm(q, p):
    if p == 1 or not q.max() > 0.0:
        return q.max()
    if np.isinf(p):
        return q.sum()
    exponent = p / (p - 1)
    return q.max() * np.sum((q / q.max()) ** exponent) ** (1 / exponent)
