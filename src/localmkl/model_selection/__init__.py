"""Model selection at the price of a few fits: shared Grams, shared partitions, warm starts."""

from localmkl.model_selection.search import MKLSearchCV

__all__ = ["MKLSearchCV"]
