"""Run first uses of the command line, and keep what they print and pictures of their reports.

Sphinx runs this before each build (``docs/conf.py``). Pictures need Chromium and playwright; without these,
pages show texts alone. ``python docs/make_sessions.py --picture`` also renews ``docs/_static/report.png``.
"""

import os
import shlex
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner

from localmkl.cli import app

DOCS = Path(__file__).resolve().parent
SESSIONS = DOCS / "generated" / "sessions"


def write_patients():
    """Write patients of four hospitals: CRP and age matter everywhere, one more column in each hospital."""
    rng = np.random.default_rng(3)
    n = 340
    table = pd.DataFrame({"patient_id": [f"P{1000 + i}" for i in range(n)]})
    table["hospital"] = rng.choice(["Basel", "Lyon", "Torino", "Graz"], n, p=[0.34, 0.28, 0.22, 0.16])
    table["age"] = rng.normal(64, 12, n).round()
    table["smoking"] = rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2])
    table["crp"] = np.exp(rng.normal(1.6, 0.8, n)).round(1)
    table["bmi"] = rng.normal(26, 4, n).round(1)
    table["creatinine"] = rng.normal(85, 18, n).round()
    table["lactate"] = np.exp(rng.normal(0.4, 0.4, n)).round(2)
    table["hemoglobin"] = rng.normal(135, 14, n).round()
    table["bp"] = rng.normal(128, 16, n).round()
    ranks = table.select_dtypes("number").rank(pct=True) - 0.5
    risk = 2 * ranks["age"] + 3 * ranks["crp"] + 0.8 * (table["smoking"] == "current")
    special = {
        "Basel": ("creatinine", 6),
        "Lyon": ("lactate", 6),
        "Torino": ("hemoglobin", -6),
        "Graz": ("bp", 6),
    }
    for hospital, (column, size) in special.items():
        risk += size * ranks[column] * (table["hospital"] == hospital)
    table["outcome"] = np.where(risk + rng.logistic(size=n) > 0.3, "readmitted", "home")
    for column, gaps in (("crp", 9), ("bmi", 14), ("lactate", 5)):
        table.loc[rng.choice(n, gaps, replace=False), column] = np.nan
    table[:300].to_csv("patients.csv", index=False)
    table[300:].to_csv("new.csv", index=False)


def write_diabetes():
    """Write the diabetes patients that come with scikit-learn."""
    table = load_diabetes(as_frame=True, scaled=False).frame
    table.rename(columns={"target": "progression"}).to_csv("diabetes.csv", index=False)


def write_promoters():
    """Write sequences with a blurred TATA box at position 25, and sequences without."""
    rng = np.random.default_rng(1)
    with open("promoters.fa", "w") as file:
        for i in range(200):
            letters = rng.choice(list("ACGT"), 60)
            kind = "promoter" if i % 2 else "other"
            if kind == "promoter":
                letters[24:32] = np.where(rng.random(8) < 0.6, list("TATAAAAG"), letters[24:32])
            file.write(f">site{i} label={kind}\n{''.join(letters)}\n")


def write_two_files():
    """Write clinical columns of 160 patients, and 20 genes of 130 of these in another order."""
    rng = np.random.default_rng(5)
    n = 160
    response = rng.integers(2, size=n)
    clinic = pd.DataFrame({"patient": [f"P{100 + i}" for i in range(n)]})
    clinic["age"] = rng.normal(60, 11, n).round()
    clinic["stage"] = np.where(rng.random(n) < 0.35 + 0.3 * response, "III", "II")
    clinic["marker"] = (rng.normal(10, 2, n) + 1.2 * response).round(1)
    clinic["response"] = np.where(response, "yes", "no")
    genes = pd.DataFrame(rng.normal(size=(n, 20)).round(2), columns=[f"gene{j}" for j in range(1, 21)])
    genes["gene1"] += 1.5 * response
    genes["gene7"] -= 1.1 * response
    genes.insert(0, "patient", clinic["patient"])
    clinic.to_csv("clinic.csv", index=False)
    genes.sample(130, random_state=1).to_csv("rna.csv", index=False)


USES = {
    "patients": (
        write_patients,
        {
            "slip": "localmkl info patients.csv --target Outcome",
            "info": "localmkl info patients.csv --target outcome",
            "fit": "localmkl fit patients.csv --target outcome --groups hospital --names patient_id",
            "report": "localmkl report model.localmkl",
            "predict": "localmkl predict model.localmkl new.csv --out predictions.csv",
            "compare": "localmkl compare patients.csv --target outcome --groups hospital --names patient_id",
        },
    ),
    "diabetes": (
        write_diabetes,
        {
            "fit": "localmkl fit diabetes.csv --target progression --regression",
            "report": "localmkl report model.localmkl",
        },
    ),
    "promoters": (
        write_promoters,
        {"fit": "localmkl fit promoters.fa", "report": "localmkl report model.localmkl"},
    ),
    "two": (
        write_two_files,
        {
            "slip": "localmkl fit rna.csv clinic.csv --target response",
            "fit": "localmkl fit rna.csv clinic.csv --target response --names patient",
            "report": "localmkl report model.localmkl",
        },
    ),
}


def run(command):
    """Run a command; return it with what it prints, without its progress."""
    result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    passing = ("fits ", "The first fit compiles")
    lines = [line for line in result.output.splitlines() if not line.startswith(passing)]
    text = "\n".join([f"$ {command}", *lines]).replace(f"{Path.cwd()}{os.sep}", "") + "\n"
    return text, result.exit_code != 0


def record(name):
    """Make the files of a use, run its commands, and keep what they print and write."""
    write, commands = USES[name]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write()
        printed = {}
        for step, command in commands.items():
            printed[step], failed = run(command)
            if failed != (step == "slip"):
                raise RuntimeError(printed[step])
        shutil.copy("report.html", SESSIONS / f"{name}.html")
        if "predict" in commands:
            lines = Path("predictions.csv").read_text(encoding="utf-8").splitlines()[:4]
            printed["predictions"] = "\n".join(["$ head -n 4 predictions.csv", *lines, ""])
    for step, text in printed.items():
        (SESSIONS / f"{name}_{step}.txt").write_text(text, encoding="utf-8")
    page = [printed[step] for step in ("fit", "report", "predict", "predictions") if step in printed]
    (SESSIONS / f"{name}.txt").write_text("\n".join(page), encoding="utf-8")


def photograph():
    """Take a picture of the first screen of each report; return whether there is a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return False
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        path = next(filter(None, browsers), own if Path(own).exists() else None)
        if path is None:
            return False
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1040, "height": 860}, color_scheme="light")
        for name in USES:
            page.goto((SESSIONS / f"{name}.html").as_uri())
            below = page.locator("body > nav, nav").first.bounding_box()
            size = {"x": 0, "y": 0, "width": 1040, "height": min(below["y"] - 10, 1100)}
            page.screenshot(path=SESSIONS / f"{name}.png", full_page=True, clip=size)
        browser.close()
    return True


def main():
    """Record all uses; write for each a piece of a page that holds its picture, or nothing."""
    SESSIONS.mkdir(parents=True, exist_ok=True)
    for name in USES:
        record(name)
    there = photograph()
    for name in USES:
        picture = (
            f".. image:: /generated/sessions/{name}.png\n"
            "   :class: picture\n   :alt: The first screen of the report.\n"
        )
        (SESSIONS / f"{name}_picture.txt").write_text(picture if there else "", encoding="utf-8")
    if "--picture" in sys.argv and there:
        shutil.copy(SESSIONS / "patients.png", DOCS / "_static" / "report.png")


if __name__ == "__main__":
    main()
