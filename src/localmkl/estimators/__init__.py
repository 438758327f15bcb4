"""Thin scikit-learn shells: check, compute kernels, gate, solve, store."""

from localmkl.estimators.methods import (
    CLMKLClassifier,
    CLMKLRegressor,
    HLMKLClassifier,
    HLMKLRegressor,
    LMKLClassifier,
    LMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)

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
