"""Files that say the same thing twice say the same."""

import re
import tomllib
from pathlib import Path

import localmkl

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages(lines):
    """Return {name: lower bound} of requirements such as "numpy>=1.26"; what includes a group is left out."""
    found = (re.fullmatch(r"([\w.-]+) ?(?:>=([\w.]+))?", line) for line in lines if isinstance(line, str))
    return {match[1]: match[2] for match in found}


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "recipe/meta.yaml").read_text()
    run = recipe[recipe.index("  run:\n") : recipe.index("  run_constrained:")]
    asked = re.findall(r"^    - ((?!python )\S+ >=\S+)$", run, re.MULTILINE)
    assert packages(asked) == packages(PROJECT["project"]["dependencies"])


def test_recipe_and_citation_name_the_version_of_the_package():
    assert f'version = "{localmkl.__version__}"' in (ROOT / "recipe/meta.yaml").read_text()
    assert f"\nversion: {localmkl.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_tests_install_every_extra_but_pytorch_with_the_same_lower_bound():
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = packages(one for name, lines in extras.items() if name != "gpu" for one in lines)
    tested = packages(PROJECT["dependency-groups"]["test"])
    assert wanted == {name: bound for name, bound in tested.items() if name in wanted}
