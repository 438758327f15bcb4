"""Model selection at the price of a few fits: shared Grams, shared partitions, warm starts."""

from localmkl.model_selection.choice import OneStandardError
from localmkl.model_selection.search import MKLSearchCV
from localmkl.model_selection.tables import evenness_curve, nested_cross_validate, score_table

__all__ = ["MKLSearchCV", "OneStandardError", "evenness_curve", "nested_cross_validate", "score_table"]
