"""The certificate of an answer: feasibility, then the duality gap, with what rounding may have done to it.

    P(beta, alpha) = 1/2 sum_jm beta_jm q_jm + sum_i C_i loss(f_i, y_i)
    D(alpha)       = - sum_i C_i loss*(-alpha_i / C_i, y_i) - 1/2 sum_j ||q_j||_{p/(p-1)}
    gap            = (P - D) / P,  with P rounded up and D rounded down

Rounding errors are bounded, not estimated. A sum of k products has the error gamma_k = k u / (1 - k u) times
the sum of their sizes (u: half the distance from one to the next number), and
|k_m(x, y)|^2 <= k_m(x, x) k_m(y, y) bounds the sizes without another look at the Grams:

    |error of (K_m u_j)_i| <= gamma r_mi S_jm,   r_mi = sqrt(k_m(x_i, x_i)),   S_jm = sum_i r_mi |u_ij|
    |error of q_jm|        <= 2 gamma S_jm^2

Where that alone may hold a gap above the one asked for, everything is computed again in the machine's
extended precision. Dual variables whose sum is not quite zero count as much less as the largest possible
intercept could gain from it: scores of size S move the best intercept by S at most.
"""

import math
import warnings
import zlib
from dataclasses import dataclass, field

import numpy as np

from localmkl.solvers.objective import dual_norm
from localmkl.stacks import GramStack

SUMMED_ROWS = 512
"""Rows whose products are added up at a time: errors grow with these and the number of sums, not with all."""
AUDITED_ROWS = 16
"""Rows of every certificate that are computed twice: a wrong row among n is found with probability 16 / n."""
BOUNDED_ROWS = 2**16
"""Rows of features on a device whose rounding errors are bounded at a time."""
SPARE = 8
"""Operations beside the sums, of each entry: products with factors, memberships and weights."""
SLACK = 1e-9
"""Relative violation of a norm or a sum beyond which an answer is not rounded but infeasible."""
ROOT_SLACK = 1.0 + 1e-6
"""Factor by which the intercept of scores that are all zero may be larger than it was found to be."""
INDEFINITE = 1e-6
"""Share of its largest diagonal entry by which a Gram may be indefinite, as the checks of Grams allow."""


@dataclass(frozen=True)
class Solution:
    """An answer with its certificate.

    `gap` is always the relative duality gap of exactly this `weights`, `alpha` and `intercept`, computed by
    `certify` from the Gram matrices, not by the solver that found them.

    Parameters
    ----------
    weights : ndarray of shape (l, M)
        Kernel weights beta.
    alpha : ndarray of shape (n,)
        Signed dual variables.
    intercept : float
        The best b for these scores.
    primal, dual : float
        Bounds of the optimum from above and below.
    gap : float
        ``(primal - dual) / primal``, rounding errors counted against it; infinite if not feasible.
    squared_norm : float
        ``sum_jm ||w_jm||^2 / beta_jm = sum_jm beta_jm q_jm``.
    rounding : float
        The part of `gap` that bounds rounding errors.
    n_iter : int
        Updates of the weights.
    converged : bool
        Whether the gap asked for was reached.
    history : dict of ndarray
        Values of every step.

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> from localmkl.solvers.objective import Problem
    >>> from localmkl.stacks import GramStack
    >>> x, y = np.array([-2.0, -1.0, 1.0, 3.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = Problem(GramStack([np.outer(x, x)]), np.ones((4, 1)), y, np.ones(4), Hinge(), p=1)
    >>> answer = certify(problem, np.ones((1, 1)), np.array([0.0, -0.5, 0.5, 0.0]))
    >>> answer.primal, answer.dual, answer.gap < 1e-12
    (0.5, 0.5, True)
    """

    weights: np.ndarray
    alpha: np.ndarray
    intercept: float
    primal: float
    dual: float
    gap: float
    squared_norm: float
    rounding: float = 0.0
    n_iter: int = 0
    converged: bool = True
    history: dict = field(default_factory=dict)


def certify(problem, weights, alpha, *, tol=np.inf):
    """Return the `Solution` of any weights and any alpha, judged from scratch in plain NumPy.

    One pass over the stack, and another in extended precision where that decides about `tol`. The intercept
    is the best one for these scores.

    Parameters
    ----------
    problem : Problem
    weights : ndarray of shape (l, M)
        Kernel weights; outside the lp balls, or negative, they have an infinite gap.
    alpha : ndarray of shape (n,)
        Dual variables; outside the loss's box, or with a sum that is not zero, they have an infinite gap.
    tol : float
        The relative gap that is asked for.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from localmkl.solvers.losses import Hinge
    >>> from localmkl.solvers.objective import Problem
    >>> from localmkl.stacks import GramStack
    >>> x, y = np.array([-1.0, 1.0]), np.array([-1.0, 1.0])
    >>> problem = Problem(GramStack([np.outer(x, x)]), np.ones((2, 1)), y, np.ones(2), Hinge(), p=1)
    >>> solution = certify(problem, np.ones((1, 1)), np.array([-0.5, 0.5]))
    >>> solution.gap < 1e-13, solution.gap == solution.rounding
    (True, True)
    """
    return judge(problem, weights, alpha, products_of(problem, alpha), tol)


def judge(problem, weights, alpha, products, tol=np.inf, n_terms=None):
    """Return the `Solution` of any weights and any alpha, given its products; as `certify` does.

    `n_terms` are the additions behind a product: those of all rows, if nothing is said.
    """
    solution = _judge(problem, weights, alpha, products, n_terms)
    undecided = solution.gap > tol >= solution.gap - 2.0 * solution.rounding
    if undecided and np.finfo(np.longdouble).eps < np.finfo(np.float64).eps:
        return _judge(problem, weights, alpha, products_of(problem, alpha, np.longdouble))
    return solution


def judge_factors(problem, weights, alpha, tol=np.inf):
    """Return the `Solution` of any weights and any alpha on a `FactorStack`, judged from scratch.

    Two reads of the features in plain NumPy: sums ``a = Phi'u``, then scores. Rounding errors are bounded as
    for products: ``|error of a_jm| <= gamma S_jm`` in norm, and ``||phi_m(x_i)|| = r_mi``.
    """
    solution = _judge_factors(problem, weights, alpha, np.float64)
    undecided = solution.gap > tol >= solution.gap - 2.0 * solution.rounding
    if undecided and np.finfo(np.longdouble).eps < np.finfo(np.float64).eps:
        return _judge_factors(problem, weights, alpha, np.longdouble)
    return solution


@np.errstate(over="ignore", invalid="ignore")
def _judge_factors(problem, weights, alpha, dtype):
    stack = problem.stack
    parts = problem.cluster_parts(alpha.astype(dtype))
    sums = stack.moments(parts)
    factors = np.ones(stack.n_kernels) if stack.factors is None else stack.factors
    norms = stack.fold(np.square(sums)) * factors
    scores = stack.scores(problem.memberships, stack.spread(weights * factors) * sums)
    share = gamma(stack.n_terms, dtype) + gamma(weights.size, dtype)
    return _weigh_up(problem, weights, alpha, norms, scores, share, _bounds(problem, weights, alpha, share))


def judge_on_device(problem, weights, alpha, tol=np.inf):
    """Return the `Solution` as `certify` does, of a stack on a device, which is not trusted.

    Products of some rows, or sums of some features and scores and sizes of some rows, are computed again in
    plain NumPy; if they differ by more than rounding, all are, and it is said.
    """
    if isinstance(problem.stack, GramStack):
        products, agree = _audited(problem, problem.cluster_parts(alpha))
        return judge(problem, weights, alpha, products, tol, problem.stack.n_terms if agree else None)
    stack, rows = problem.stack, np.arange(problem.n_samples)
    parts = problem.cluster_parts(alpha)
    factors = np.ones(stack.n_kernels) if stack.factors is None else stack.factors
    sums = stack.moments_of(rows, parts)
    images = stack.spread(weights * factors) * sums
    scores = stack.scores_of(rows, problem.memberships, images, True)
    share = gamma(stack.n_terms, np.float64) + gamma(weights.size, np.float64)
    bounds = _bounds_by_blocks(problem, weights, parts, share)
    rng = np.random.default_rng(zlib.crc32(alpha.tobytes()))
    columns = rng.choice(stack.n_features, size=min(AUDITED_ROWS, stack.n_features), replace=False)
    picked = rng.choice(problem.n_samples, size=min(AUDITED_ROWS, problem.n_samples), replace=False)
    columns = columns[stack.spread(factors)[columns] > 0.0]  # of the others nothing counts
    allowed = 2.0 * share * (stack.spread(bounds[0])[:, columns] / np.sqrt(stack.spread(factors)[columns]))
    agree = np.all(np.abs(sums[:, columns] - stack.column_moments(parts, columns)) <= allowed)
    again = stack[picked].scores(problem.memberships[picked], images)
    sizes = stack.fold(np.square(stack[picked].features())).T * factors[:, None]
    agree &= np.allclose(stack[picked].row_diagonals(slice(None)), sizes, rtol=2.0 * share, atol=0.0)
    if agree and np.all(np.abs(scores[picked] - again) <= 2.0 * bounds[1][picked]):
        norms = stack.fold(np.square(sums)) * factors
        solution = _weigh_up(problem, weights, alpha, norms, scores, share, bounds)
        undecided = solution.gap > tol >= solution.gap - 2.0 * solution.rounding
        return judge_factors(problem, weights, alpha, tol) if undecided else solution
    warnings.warn(
        f"The sums of {problem.n_samples} rows on {str(stack.device)!r} disagree with NumPy's, which are "
        "used instead; the answer is right, but please report it.",
        RuntimeWarning,
        stacklevel=2,
    )
    return judge_factors(problem, weights, alpha, tol)


def _bounds_by_blocks(problem, weights, parts, share):
    """Return what `_bounds` does, of features on a device, without arrays of kernels by rows."""
    stack, c = problem.stack, problem.memberships
    blocks = [slice(start, start + BOUNDED_ROWS) for start in range(0, len(parts), BOUNDED_ROWS)]
    sizes, span = np.zeros(weights.shape), 0.0
    for rows in blocks:
        reach = np.sqrt(stack.row_diagonals(rows))
        sizes += sizes_of(reach, parts[rows])
        span = max(span, float(np.max(np.sum(c[rows] ** 2, axis=1) * np.sum(reach**2, axis=0))))
    sizes *= 1.0 + share
    errors = np.empty(len(parts))
    for rows in blocks:
        reach = np.sqrt(stack.row_diagonals(rows))
        errors[rows] = 2.0 * share * np.einsum("ij,ji->i", c[rows], (weights * sizes) @ reach)
    return sizes, errors, span


def products_of(problem, alpha, dtype=np.float64):
    """Return ``K_m u_j`` for every cluster, kernel and training row, (l, M, n), in plain NumPy."""
    return problem.stack.plain_products(problem.cluster_parts(alpha.astype(dtype)))


def audited_products(problem, vectors):
    """Return ``K_m u_j`` for the columns u_j of `vectors`, (l, M, n), from a stack that is not trusted.

    Some rows are computed again in plain NumPy; if they differ by more than rounding, all are, and it is
    said. The rows depend on the vectors: another certificate looks at others, the same one at the same.
    """
    return _audited(problem, vectors)[0]


def _audited(problem, vectors):
    """Return products, and whether they are the stack's own."""
    products = problem.stack.products(vectors)
    rng = np.random.default_rng(zlib.crc32(vectors.tobytes()))
    picked = rng.choice(problem.n_samples, size=min(AUDITED_ROWS, problem.n_samples), replace=False)
    again = problem.stack.plain_products(vectors, picked)
    reach = reaches(problem)
    allowed = 2.0 * gamma(problem.n_samples, np.float64) * sizes_of(reach, vectors)[:, :, None]
    if np.all(np.abs(products[:, :, picked] - again) <= allowed * reach[:, picked]):
        return products, True
    warnings.warn(
        f"The products of {problem.n_samples} rows disagree with NumPy's, which are used instead; "
        "the answer is right, but please report it.",
        RuntimeWarning,
        stacklevel=3,
    )
    return problem.stack.plain_products(vectors), False


def reaches(problem, largest=None):
    """Return bounds r of the kernels' entries, ``|k_m(x_i, x_k)| <= r_mi r_mk``, (M, n).

    `largest` holds the largest diagonal entry of each kernel, where other rows may have it.
    """
    diagonals = np.maximum(problem.diagonals, 0.0)
    largest = diagonals.max(axis=1) if largest is None else largest
    return np.sqrt(diagonals + INDEFINITE * largest[:, None])


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is not certified
def _judge(problem, weights, alpha, products, n_terms=None):
    """Return the `Solution` in the precision of the products."""
    parts, n_rows = problem.cluster_parts(alpha.astype(products.dtype)), problem.n_samples
    blocks = [slice(start, start + SUMMED_ROWS) for start in range(0, n_rows, SUMMED_ROWS)]
    norms = np.maximum(sum(np.einsum("jmi,ij->jm", products[:, :, b], parts[b]) for b in blocks), 0.0)
    scores = np.einsum("ij,ji->i", problem.memberships, np.matmul(weights[:, None], products)[:, 0])
    n_terms = n_rows if n_terms is None else max(n_terms, SUMMED_ROWS + len(blocks))
    share = gamma(n_terms, products.dtype) + gamma(weights.size, products.dtype)
    return _weigh_up(problem, weights, alpha, norms, scores, share, _bounds(problem, weights, alpha, share))


def _bounds(problem, weights, alpha, share):
    """Return the sizes S, bounds of the errors of the scores, and the span of `Terms`."""
    reach = reaches(problem)
    sizes = sizes_of(reach, problem.cluster_parts(alpha))
    return sizes, score_errors(problem, weights * sizes, reach, share), span_of(problem, reach)


def _weigh_up(problem, weights, alpha, norms, scores, share, bounds):
    """Return the `Solution`, given norms and scores, a sum's relative error, and `_bounds`."""
    sizes, errors, span = bounds
    quadratic = quadratics(weights, norms, sizes, problem.p, share)
    terms = Terms(scores, errors, span, **quadratic)
    intercept, primal, dual, gap, rounding = bracket(problem, alpha, terms)
    if not feasible(problem, weights, alpha):
        gap, rounding = np.inf, 0.0
    return Solution(weights, alpha, intercept, primal, dual, gap, float(np.sum(weights * norms)), rounding)


def score_errors(problem, sizes, reach, share):
    """Return bounds of the errors of the scores, (n,), given ``beta_jm S_jm`` and a sum's error."""
    return 2.0 * share * np.einsum("ij,ji->i", problem.memberships, sizes @ reach)


def quadratics(weights, norms, sizes, p, share):
    """Return the quadratic parts of primal and dual, each with a bound of its error, by their names."""
    norms_error = 3.0 * share * sizes**2
    radius = max(1.0, _largest_norm(weights, p))
    regulariser = 0.5 * radius * np.sum(weights * norms)
    regulariser_error = 0.5 * radius * np.sum(weights * norms_error) + share * regulariser
    penalty, penalty_error = penalties(norms, norms_error, p, share)
    return {
        "regulariser": regulariser,
        "regulariser_error": regulariser_error,
        "penalty": penalty,
        "penalty_error": penalty_error,
    }


def penalties(norms, norms_error, p, share):
    """Return ``1/2 sum_j ||q_j||_{p/(p-1)}`` and a bound of its error, given the norms and theirs."""
    penalty, penalty_error = 0.0, 0.0
    for own, error in zip(norms, norms_error, strict=True):
        upper = dual_norm(own + error, p)
        penalty += 0.5 * dual_norm(own, p)
        penalty_error += 0.5 * (upper - dual_norm(own, p)) + 4.0 * share * upper
    return penalty, penalty_error


def span_of(problem, reach):
    """Return the bound of ``|f_i - b|^2 / (2 P)`` of every answer whose primal is P."""
    return float(np.max(np.sum(problem.memberships**2, axis=1) * np.sum(reach**2, axis=0)))


@dataclass(frozen=True)
class Terms:
    """The terms of primal and dual that `bracket` needs: values, and bounds of their rounding errors.

    scores, scores_error: f without the intercept, (n,). regulariser, penalty: the quadratic parts of primal
    and dual. span: bounds ``|f_i - b|^2 / (2 P)`` of every answer whose primal is P.
    """

    scores: np.ndarray
    scores_error: np.ndarray
    span: float
    regulariser: float
    regulariser_error: float
    penalty: float
    penalty_error: float


def bracket(problem, alpha, terms):
    """Return intercept, primal, dual, relative gap and the part of it that is rounding."""
    intercept = problem.loss.best_intercept(terms.scores.astype(np.float64), problem.y, problem.C)
    primal, above, below = primal_value(terms, cost_sums(problem, terms, intercept), len(alpha))
    quadratic = terms.penalty, terms.penalty_error
    dual, deep = dual_value(problem, alpha.astype(terms.scores.dtype), quadratic, primal + above, terms.span)
    gap, rounding = relative(primal, dual, above, below, deep)
    return intercept, float(primal), float(dual), gap, rounding


def cost_sums(problem, terms, intercept):
    """Return sums over rows: losses, the largest they may be, and what that adds or at most takes."""
    loss, y, C = problem.loss, problem.y.astype(terms.scores.dtype), problem.C
    outputs = terms.scores + intercept
    lost = np.abs((outputs - terms.scores) - intercept) + np.abs((outputs - intercept) - terms.scores)
    error = terms.scores_error + lost + np.finfo(outputs.dtype).eps * np.abs(y - outputs)
    losses = loss.value(outputs, y)
    # The loss is convex: between two outputs it is at most what it is at one of them.
    worst = np.maximum(
        loss.value(np.where(error > 0.0, np.nextafter(outputs + error, np.inf), outputs), y),
        loss.value(np.where(error > 0.0, np.nextafter(outputs - error, -np.inf), outputs), y),
    )
    return np.array([C @ losses, C @ worst, C @ (worst - losses), C @ np.minimum(losses, worst - losses)])


def primal_value(terms, costs, n_rows):
    """Return P, and by how much it may be larger or smaller, given `cost_sums` of all rows."""
    share = 4.0 * gamma(n_rows, costs.dtype)
    above = terms.regulariser_error + costs[2] + share * costs[1]
    below = terms.regulariser_error + costs[3] + share * costs[0]
    return terms.regulariser + costs[0], above, below


def dual_value(problem, alpha, penalty, highest, span):
    """Return D(alpha) in the precision of alpha, and a bound of its error.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray of shape (n,)
    penalty : (float, float)
        The quadratic part, and a bound of its error.
    highest : float
        The most that the primal of the answer may be.
    span : float
        As in `Terms`.
    """
    base = problem.loss.best_intercept(np.zeros(len(alpha)), problem.y, problem.C)
    extent = intercept_extent(base, highest, span)
    return dual_bounds(dual_sums(problem, alpha), math.fsum(alpha), penalty, extent, len(alpha))


def dual_sums(problem, alpha):
    """Return sums over rows: of the loss's dual terms, and of their sizes."""
    y = problem.y.astype(alpha.dtype)
    terms, sizes = problem.loss.dual_terms, problem.loss.dual_sizes
    return np.array([terms(alpha, y, problem.C).sum(), sizes(alpha, y, problem.C).sum()])


def intercept_extent(base, highest, span):
    """Return the largest size of a best intercept, given that of scores that are all zero."""
    return ROOT_SLACK * abs(base) + math.sqrt(2.0 * max(float(highest), 0.0) * float(span))


def dual_bounds(sums, surplus, penalty, extent, n_rows):
    """Return D(alpha) and a bound of its error, given `dual_sums` and the sum of all dual variables."""
    dual = sums[0] - penalty[0]
    deep = penalty[1] + abs(surplus) * extent + gamma(n_rows, sums.dtype) * sums[1]
    return dual, deep + np.finfo(sums.dtype).eps * np.abs(dual)


def relative(primal, dual, above, below, deep):
    """Return (P - D) / P at the worst that rounding allows, and the part of it that is rounding."""
    highest, lowest = primal + above, dual - deep
    if not np.isfinite(highest - lowest) or primal - dual < -(above + deep):
        return np.inf, 0.0  # not a number, or a dual above its primal: no answer of a convex problem
    if highest == 0.0 and lowest == 0.0:
        return 0.0, 0.0
    scale = highest if lowest >= 0.0 else primal - below
    if not scale > 0.0:
        return np.inf, 0.0
    gap = float((highest - lowest) / scale)
    rounding = (above + deep) / scale
    if dual + deep < 0.0:  # then a larger primal makes a smaller gap
        rounding = max(rounding, 0.5 * (gap - 1.0 + (dual + deep) / highest))
    return gap, float(min(rounding, gap))


def feasible(problem, weights, alpha):
    """Whether dual variables lie in their box and sum to zero, and weights in their lp balls."""
    return dual_feasible(problem, alpha) and in_balls(weights, problem.p)


def in_balls(weights, p):
    """Whether weights lie in their lp balls."""
    return bool(np.all(weights >= 0.0) and _largest_norm(weights, p) <= 1.0 + SLACK)


def dual_feasible(problem, alpha):
    """Whether dual variables lie in their box and sum to zero."""
    lower, upper = problem.box()
    in_box = np.all((alpha >= lower) & (alpha <= upper))
    return bool(in_box and abs(math.fsum(alpha)) <= SLACK * np.abs(alpha).sum())


def _largest_norm(weights, p):
    """Return ``max_j ||beta_j||_p``."""
    largest = weights.max(axis=1)
    if np.isinf(p) or not np.all(largest > 0.0):
        return float(largest.max())
    return float(np.max(largest * np.sum((weights / largest[:, None]) ** p, axis=1) ** (1.0 / p)))


def sizes_of(reach, parts):
    """Return ``S_jm = sum_i r_mi |u_ij|``, (l, M)."""
    return np.abs(parts).astype(np.float64).T @ reach.T


def gamma(n_terms, dtype):
    """Return the relative error of a sum of products, in a precision."""
    share = (n_terms + SPARE) * np.finfo(dtype).eps / 2.0
    return share / (1.0 - share)
