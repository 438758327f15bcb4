"""Run campaigns by name: ``python -m benchmarks.hostile NAME ... [--trials N] [--first SEED] [--jobs K]``."""

import argparse
import pkgutil
from importlib import import_module

from benchmarks import hostile
from benchmarks.hostile import campaign

NAMES = sorted(
    module.name
    for module in pkgutil.iter_modules(hostile.__path__)
    if module.name not in ("campaign", "__main__")
)


def main():
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], help=f"of {', '.join(NAMES)}; all by default"
    )
    parser.add_argument("--trials", type=int, help="how many; default: a long run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--rows", default=".hostile", help="folder of all trials: a run goes on from them")
    parser.add_argument("--out", default="benchmarks/results", help="folder of the summaries")
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        module = import_module(f"benchmarks.hostile.{name}")
        seeds = range(arguments.first, arguments.first + (arguments.trials or module.TRIALS))
        options = {"jobs": arguments.jobs, "minutes": arguments.minutes}
        rows = campaign.run(module.__name__, seeds, arguments.rows, **options)
        print(campaign.summarise(name, rows, arguments.out))


if __name__ == "__main__":
    main()
