"""Thin scikit-learn shells: check, compute kernels, gate, solve, store."""

from localmkl.estimators.convex import (
    CLMKLClassifier,
    CLMKLRegressor,
    HLMKLClassifier,
    HLMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from localmkl.estimators.gated import LMKLClassifier, LMKLRegressor

__all__ = [
    "CLMKLClassifier",
    "CLMKLRegressor",
    "HLMKLClassifier",
    "HLMKLRegressor",
    "LMKLClassifier",
    "LMKLRegressor",
    "MKLClassifier",
    "MKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]
