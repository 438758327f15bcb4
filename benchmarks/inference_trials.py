"""Does `localmkl.inference` keep what it says? Coverage, level, power.

    python -m benchmarks.inference_trials [KIND ...]        goes on where it stopped
    python -m benchmarks.inference_trials --summary         writes the table, draws the power

Each trial is a generated problem with a seed, one line of `results/inference_trials.jsonl`. The truth of
weight shares is the mean of three fits on 40000 samples, with C so that a sample costs what it costs on
400; views are isotropic, so that all problems of one setting have the same. Fits on features, exact: the
kernels are linear.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import harness
from localmkl import CLMKLClassifier, GramStack
from localmkl.datasets import make_localized
from localmkl.explain import kernel_shares
from localmkl.inference import locality_test, stability
from localmkl.inference.matching import main_clusters_in, match_clusters
from localmkl.kernels import FactorStack

FILE = Path(__file__).parent / "results" / "inference_trials.jsonl"
FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "locality_power.svg"
N_COVERED, N_LARGE, LARGE_FITS = 400, 40000, 3
N_TESTED = 150
EVEN = 0.385
"""Locality at which CLMKL and MKL are equally good on new samples: the edge of the t-test's hypothesis."""


def main(arguments):
    if "--summary" in arguments:
        harness.show("inference trials", rows := summary(_read(FILE)))
        harness.write("inference_trials", rows, FILE.parent)
        draw_power(rows, FIGURE)
        return
    done = {(row["kind"], row["setting"], row["seed"]) for row in _read(FILE)}
    for kind, setting, seed in _in_turn(arguments or list(KINDS)):
        if (kind, setting, seed) not in done:
            found = KINDS[kind][0](seed, **SETTINGS[setting])
            with FILE.open("a") as file:
                file.write(json.dumps({"kind": kind, "setting": setting, "seed": seed, **found}) + "\n")


def _in_turn(kinds):
    """Return (kind, setting, seed) of all trials, so that all kinds come to their end together."""
    trials = [
        (seed / KINDS[kind][2], kind, setting, seed)
        for kind in kinds
        for setting in KINDS[kind][1]
        for seed in range(KINDS[kind][2])
    ]
    return [trial[1:] for trial in sorted(trials, key=lambda trial: trial[0])]


def _read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _problem(n_samples, seed, **options):
    X, y, groups, views = make_localized(n_samples, random_state=seed, **options)
    return GramStack(np.stack([X[:, view] @ X[:, view].T for view in views])), y, groups


def _model(**options):
    return CLMKLClassifier("precomputed", **{"gate_kernel": 0, "evenness": 0.5, "random_state": 0, **options})


TRUTHS: dict = {}


def _truth(locality, p):
    """Return the shares of a fit on very many samples, clusters in the order of groups."""
    if (locality, p) not in TRUTHS:
        every = []
        for seed in range(LARGE_FITS):
            X, y, groups, views = make_localized(N_LARGE, locality=locality, random_state=10**6 + seed)
            stack = FactorStack.of_table(X, [view.stop - view.start for view in views])
            model = _model(p=p, C=3.0 * N_COVERED / N_LARGE, tol=1e-5).fit(stack, y)
            every.append(kernel_shares(model)[_in_order(model, groups)])
        TRUTHS[locality, p] = np.mean(every, axis=0)
    return TRUTHS[locality, p]


def _in_order(model, groups):
    """Return the clusters of a model in the order of the groups."""
    return match_clusters(groups, main_clusters_in(model.memberships_), 3, 3)


def _coverage(seed, locality, p):
    stack, y, groups = _problem(N_COVERED, seed, locality=locality)
    model, truth = _model(p=p).fit(stack, y), _truth(locality, p)
    found = stability(model, stack, y, random_state=seed)
    order = _in_order(model, groups)
    low, high = found.low[order], found.high[order]
    inside, large = _covers(low, high, truth), truth > 0.02
    shares, refits = found.shares[order], found.resampled[:, order]
    row = {
        "covered": float(inside.mean()),
        "covered large": float(inside[large].mean()),
        "covered small": float(inside[~large].mean()),
        "width": float((high - low).mean()),
        "own share inside": float(_covers(low, high, shares).mean()),
        "jaccard": float(found.jaccard.mean()),
        "error of shares": float(np.abs(shares - truth).mean()),
        "error of corrected": float(np.abs(found.corrected[order] - truth).mean()),
    }
    return row | {
        name: float(_covers(*ends, truth).mean()) for name, ends in _plain_intervals(shares, refits).items()
    }


def _covers(low, high, values):
    return (low - 1e-9 <= values) & (values <= high + 1e-9)


def _plain_intervals(shares, refits):
    """Return 90 % intervals that correct nothing, to compare with."""
    low, high = np.quantile(refits, (0.05, 0.95), axis=0)
    pairs = np.quantile(np.abs(refits[::2] - refits[1::2]) / 2.0, 0.9, axis=0)
    apart = np.quantile(np.abs(refits - shares), 0.9, axis=0)
    return {
        "percentile": (low, high),
        "basic": (2.0 * shares - high, 2.0 * shares - low),
        "pairs": (shares - pairs, shares + pairs),
        "distance": (shares - apart, shares + apart),
    }


def _test(seed, locality, n_permutations=19, gate_kernel=0, scoring=None):
    stack, y, _ = _problem(N_TESTED, seed, locality=locality)
    model = _model(gate_kernel=gate_kernel).fit(stack, y)
    cv = StratifiedShuffleSplit(20, test_size=0.2, random_state=seed)
    options = {"n_permutations": n_permutations, "folds": 3, "scoring": scoring}
    found = locality_test(model, stack, y, cv=cv, random_state=seed, **options)
    return {"t": found.t_p_value, "permutation": found.p_value, "difference": found.difference}


SETTINGS: dict = {
    "p = 1, locality 1": {"p": 1.0, "locality": 1.0},
    "p = 4/3, locality 1": {"p": 4 / 3, "locality": 1.0},
    "p = 1, locality 0.3": {"p": 1.0, "locality": 0.3},
    "p = 4/3, locality 0.3": {"p": 4 / 3, "locality": 0.3},
    "no locality": {"locality": 0.0},
    "no locality, gate sees all views": {"locality": 0.0, "gate_kernel": None},
    "even": {"locality": EVEN, "n_permutations": 0},
    "locality 0.2": {"locality": 0.2},
    "locality 0.3": {"locality": 0.3},
    "locality 0.4": {"locality": 0.4},
    "locality 0.5": {"locality": 0.5},
    "locality 0.6": {"locality": 0.6},
    "locality 0.8": {"locality": 0.8},
    "locality 1": {"locality": 1.0},
}
NAMES = list(SETTINGS)
KINDS: dict = {
    "coverage": (_coverage, NAMES[:4], 50),
    "even": (_test, ["even"], 500),
    "level": (_test, ["no locality"], 500),
    "power": (_test, NAMES[7:14], 60),
    "level, gate sees all views": (_test, ["no locality, gate sees all views"], 200),
}
"""Trial, its settings, how many seeds of each."""


def summary(rows):
    """Return one row for each setting: how many trials, and what came of them."""
    table = []
    for kind, (_, settings, _) in KINDS.items():
        for setting in settings:
            own = [row for row in rows if (row["kind"], row["setting"]) == (kind, setting)]
            if own:
                table.append({"kind": kind, "setting": setting, "trials": len(own), **_summed(own)})
    return table


def _summed(own):
    values = {name: np.array([row[name] for row in own]) for name in own[0] if name not in HEAD}
    if "t" in values:
        found = {"difference": _mean(values["difference"]), "its error": _error(values["difference"])}
        for name in ("t", "permutation"):
            known = values[name][~np.isnan(values[name])]
            if len(known):
                hits = int((known <= 0.05).sum())
                low, high = stats.binomtest(hits, len(known)).proportion_ci(0.95, "exact")
                found |= {
                    name: hits / len(known),
                    f"{name} low": round(low, 4),
                    f"{name} high": round(high, 4),
                }
        return found
    return {name: _mean(every) for name, every in values.items()}


def draw_power(table, path):
    """Draw how often the tests say that there is locality, by how much there is, with 95 % intervals."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "localmkl"  # the same figure from the same numbers
    from matplotlib import pyplot as plt

    rows = [row for row in table if row["kind"] in ("level", "power")]
    rows.sort(key=lambda row: SETTINGS[row["setting"]]["locality"])
    places = [SETTINGS[row["setting"]]["locality"] for row in rows]
    figure, axes = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    for name, said in (("permutation", "memberships matter"), ("t", "better than MKL")):
        middle = np.array([row[name] for row in rows])
        ends = np.array([[row[f"{name} low"], row[f"{name} high"]] for row in rows]).T
        axes.errorbar(places, middle, np.abs(ends - middle), marker="o", capsize=2, label=said)
    axes.axhline(0.05, color="0.6", linewidth=0.8)
    axes.set(xlabel="locality", ylabel="share of p-values up to 0.05", ylim=(0.0, 1.02))
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


HEAD = ("kind", "setting", "seed")


def _mean(values):
    return round(float(np.mean(values)), 4)


def _error(values):
    return round(float(np.std(values, ddof=1) / np.sqrt(len(values))), 4) if len(values) > 1 else None


if __name__ == "__main__":
    main(sys.argv[1:])
