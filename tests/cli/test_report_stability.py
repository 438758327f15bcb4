"""``localmkl report --stability``: refits of models on files of every kind."""

import pytest

for extra in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(extra, reason=f"the report needs {extra}, the extra localmkl[report]")

MISUSED = 2
QUICK = ("--folds", 0, "--no-baselines", "--out", "r.html")


def section_of(said):
    page = (said.path / "r.html").read_text(encoding="utf-8")
    return page.partition('<section id="certainty"')[2].partition("</section>")[0]


def test_tables_and_sequences_are_refitted_from_the_model_alone(call, table, fasta):
    call("fit", table.train, "--target", "state", "--names", "id", "--kernels", "linear; rbf", "-q")
    said = call("report", "model.localmkl", *QUICK, "--stability", 20)
    assert "The model was refitted 20 times" in section_of(said)
    assert "20/20" in said.err
    call("fit", fasta.train, "--kernels", "spectrum:2,3", "-q")
    said = call("report", "model.localmkl", fasta.new, *QUICK, "--stability", 20, "-q")
    assert "The model was refitted 20 times" in section_of(said)
    assert said.err == ""


def test_grams_are_refitted_from_their_file_and_else_it_is_said(call, grams):
    call("fit", grams.all, "--target", "disease", "--rows", "0:90", "--gate", 1, "-q")
    said = call("report", "model.localmkl", grams.all, "--target", "disease", *QUICK, "--stability", 20)
    assert "The model was refitted 20 times" in section_of(said)
    said = call("report", "model.localmkl", *QUICK, "--stability", 20)
    assert "Nothing was refitted: that needs the training samples, or their Gram matrices" in section_of(said)


def test_without_the_option_nothing_is_refitted(call, table):
    call("fit", table.train, "--target", "state", "--names", "id", "--kernels", "linear; rbf", "-q")
    assert section_of(call("report", "model.localmkl", *QUICK)) == ""


@pytest.mark.parametrize("number", [7, 18, 21])
def test_other_numbers_are_refused(call, table, number):
    call("fit", table.train, "--target", "state", "--names", "id", "--kernels", "linear", "-q")
    said = call("report", "model.localmkl", *QUICK, "--stability", number, code=MISUSED)
    assert said.err == f"Error: --stability must be 0, or an even number from 20 on, got {number}.\n"
    assert not (said.path / "r.html").exists()
