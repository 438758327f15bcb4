"""Stability selection by complementary pairs: how many kernels are chosen falsely, at most, on average.

Each of B pairs of halves chooses kernels on either half; a kernel's frequency is the share of the 2B halves
that choose it. Kernels that a half chooses with probability at most theta count as false if they are chosen.

    E #{false kernels with frequency >= tau} <= theta / (2 tau - 1) E #{false kernels that a half chooses}

whatever the method (Shah and Samworth, theorem 1); smaller by the factor of theorem 2 if the number of times
that both halves of a pair choose a false kernel has a distribution with one mode. Here theta is q / M, with q
the mean number of kernels that a half chooses, of M: a kernel is false if a half chooses it no more often
than one drawn at random.
"""

import numpy as np

from localmkl._checks import check_number, check_option

BOUNDS = ("unimodal", "worst")


def false_choices(
    threshold: float, n_chosen: float, n_kernels: int, n_pairs: int, bound: str = BOUNDS[0]
) -> float:
    """Return the most kernels that are chosen falsely on average at a threshold of the frequency.

    Parameters
    ----------
    threshold : float
        Frequency from which on a kernel is chosen, in (0.5, 1].
    n_chosen : float
        Mean number of kernels that a half chooses.
    n_kernels : int
    n_pairs : int
        Pairs of complementary halves.
    bound : {"unimodal", "worst"}, default="unimodal"
        Theorem 2 of Shah and Samworth, or the first, which assumes nothing.

    Returns
    -------
    float
        At most ``n_chosen / threshold``: no more kernels can have that frequency on average.

    References
    ----------
    Shah, Samworth: Variable selection with error control: another look at stability selection. JRSS B 75,
    2013.

    Examples
    --------
    >>> false_choices(0.9, n_chosen=4, n_kernels=20, n_pairs=50, bound="worst")
    1.0
    >>> round(false_choices(0.9, n_chosen=4, n_kernels=20, n_pairs=50), 3)
    0.345
    """
    check_number("threshold", threshold, low=0.5, low_open=True, high=1.0)
    check_option("bound", bound, BOUNDS)
    theta = n_chosen / n_kernels
    worst = theta * n_chosen / (2.0 * threshold - 1.0)
    if bound == BOUNDS[0]:
        worst = min(worst, unimodal_factor(threshold, theta, n_pairs) * theta * n_chosen)
    # Frequencies sum to q, so that at most q / tau kernels have one of tau.
    return float(min(worst, n_chosen / threshold))


def unimodal_factor(threshold: float, theta: float, n_pairs: int) -> float:
    """Return C(tau, B) of theorem 2, infinite where it does not hold."""
    least = min(0.5 + theta**2, 0.5 + 1.0 / (2 * n_pairs) + 0.75 * theta**2)
    lowest = 0.5 + 1.0 / n_pairs  # of the frequencies that the theorem is for
    if theta > 1.0 / np.sqrt(3.0) or threshold <= least or threshold < lowest - 1e-9:
        return np.inf
    if threshold <= 0.75:
        return 1.0 / (2.0 * (2.0 * threshold - 1.0 - 1.0 / (2 * n_pairs)))
    return 4.0 * (1.0 - threshold + 1.0 / (2 * n_pairs)) / (1.0 + 1.0 / n_pairs)


def least_threshold(
    most_false: float, n_chosen: float, n_kernels: int, n_pairs: int, bound: str = BOUNDS[0]
) -> float:
    """Return the smallest frequency at which no more than `most_false` kernels are chosen falsely on average.

    Returns
    -------
    float
        A multiple of 1 / (2 n_pairs); infinite if none will do.
    """
    grid = np.arange(n_pairs + 1, 2 * n_pairs + 1) / (2.0 * n_pairs)
    good = [tau for tau in grid if false_choices(tau, n_chosen, n_kernels, n_pairs, bound) <= most_false]
    return float(good[0]) if good else float("inf")
