"""Run benchmarks by name: ``python -m benchmarks [NAME ...] [--smoke] [--out FOLDER]``."""

import argparse
import pkgutil
from importlib import import_module

import benchmarks
from benchmarks import figures, harness

APART = ("against", "figures", "harness", "hostile", "inference_trials", "quality", "references", "__main__")
"""What is no benchmark, or has a command of its own."""

NAMES = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in APART)

ON_A_GPU = ("devices",)
"""Benchmarks that run only where they are asked for."""


def main():
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], help=f"of {', '.join(NAMES)}; all by default"
    )
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does the code run?")
    parser.add_argument("--out", default="benchmarks/results", help="folder of the JSON files")
    arguments = parser.parse_args()
    for name in arguments.names or [name for name in NAMES if name not in ON_A_GPU]:
        rows = import_module(f"benchmarks.{name}").run(arguments.smoke)
        harness.show(name, rows)
        if not arguments.smoke:
            print(f"written: {harness.write(name, rows, arguments.out)}")
            if name == "solver":
                print(f"written: {figures.from_results(arguments.out)}")


if __name__ == "__main__":
    main()
