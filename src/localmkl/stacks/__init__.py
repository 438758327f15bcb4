"""Stacks: the kernels of some samples, wherever their numbers live.

A `Stack` answers questions whose answers are small: products with a few vectors, norms, one combined kernel.
Nothing outside of this package reads the numbers themselves; `GramStack` keeps them as dense matrices,
`FactorStack` as features whose products they are.
"""

from localmkl.stacks.dense import GramStack, cosine_scales
from localmkl.stacks.factors import FactorStack
from localmkl.stacks.interface import Stack, device_of

__all__ = ["FactorStack", "GramStack", "Stack", "cosine_scales", "device_of"]
