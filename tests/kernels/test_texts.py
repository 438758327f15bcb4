"""The kernel on texts, against scikit-learn's vectoriser."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import localmkl
from localmkl import MKLClassifier, Views
from localmkl.kernels import TfIdf

TEXTS = ["A red rose is red.", "a white rose", "Rain, rain, go away", None, "42 roses in the rain", "rose"]
NEW = ["red rain", "", "tulips only", "white white rose"]


@pytest.mark.parametrize("ngrams", [1, 2])
def test_features_are_those_of_the_vectoriser_and_grams_their_products(ngrams):
    vectorizer = TfidfVectorizer(ngram_range=(1, ngrams)).fit([text or "" for text in TEXTS])
    own, new = (vectorizer.transform([text or "" for text in some]).toarray() for some in (TEXTS, NEW))
    kernel = TfIdf(ngrams=ngrams).fit(TEXTS)
    np.testing.assert_allclose(kernel.features(NEW).toarray(), new, atol=1e-15)
    np.testing.assert_allclose(kernel(NEW, TEXTS), new @ own.T, atol=1e-15)
    np.testing.assert_allclose(kernel.diag(TEXTS), np.diag(kernel(TEXTS)), atol=1e-15)
    assert kernel.diag(TEXTS)[3] == 0.0


def test_counts_weigh_as_the_texts_they_count_and_rare_terms_can_be_left_out():
    counts = CountVectorizer().fit_transform([text or "" for text in TEXTS])
    expected = TfIdf().fit(TEXTS)(TEXTS)
    for rows in (counts, counts.toarray(), pd.DataFrame(counts.toarray()), sparse.coo_array(counts)):
        np.testing.assert_allclose(TfIdf().fit(rows)(rows), expected, atol=1e-15)
    few = TfIdf(min_df=2).fit(TEXTS)
    assert few.terms_.tolist() == ["rain", "rose"]
    np.testing.assert_allclose(TfIdf(min_df=2).fit(counts)(counts), few(TEXTS), atol=1e-15)


def test_a_row_of_weight_two_counts_as_two_texts_and_one_of_weight_zero_as_none():
    weights = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    repeated = [TEXTS[0], *TEXTS[:4], TEXTS[5]]
    weighed, plain = TfIdf().fit(TEXTS, weights), TfIdf().fit(repeated)
    assert weighed.terms_.tolist() == plain.terms_.tolist()
    np.testing.assert_allclose(weighed.idf_, plain.idf_, rtol=1e-14)


def test_models_on_texts_come_back_whole(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 10)
    notes = [f"{'calm' if k else 'storm'} {rng.choice(['day', 'night'])} {rng.integers(99)}" for k in y]
    for X in (notes, pd.DataFrame({"notes": notes}), Views({"notes": notes})):
        view = "notes" if isinstance(X, Views) else None
        model = MKLClassifier([TfIdf(view=view), TfIdf(ngrams=2, view=view)]).fit(X, y)
        localmkl.save(model, tmp_path / "m.localmkl")
        again = localmkl.load(tmp_path / "m.localmkl")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["?", "..."], "needs texts with words of two letters or more, got '\\?'"),
        ([1.5, "a word"], "needs texts, got 1.5"),
        (np.array([[1.0, -1.0]]), "needs counts of terms, at least zero, got -1"),
        (pd.DataFrame({"a": ["word"], "b": ["words"]}), "needs one column of texts, got 2 columns"),
    ],
)
def test_rows_that_are_no_texts(rows, message):
    with pytest.raises(ValueError, match=message):
        TfIdf().fit(rows)


def test_new_rows_must_be_of_the_kind_of_the_fit():
    with pytest.raises(ValueError, match="needs the 2 columns of counts of the fit, got texts"):
        TfIdf().fit(np.eye(2)).features(["word"])
    with pytest.raises(ValueError, match="in at least 3 training texts, got none"):
        TfIdf(min_df=3).fit(["one", "two"])
