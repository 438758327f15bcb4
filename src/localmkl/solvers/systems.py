"""The linear systems of the joint interior point on a device: K~ + Theta, of Grams or of features.

    T = (K~ + Theta)^-1,   B = [c_j * K_m u_j],   u_j = c_j * alpha

A system is asked in turn: `look` at dual variables, `factorise` at weights and Theta, then for each right
side rho `sums` (B'T rho, 1'T rho), and the `change` T (rho - B dbeta - db) that it leads to. Features use
Woodbury's identity: with Phi~ = [c_1 Phi, ..., c_l Phi], S = sqrt(beta) and E = Phi~' Theta^-1 Phi~,

    T = Theta^-1 - Theta^-1 Phi~ S (I + S E S)^-1 S Phi~' Theta^-1
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch

from localmkl._devices import require_device_memory
from localmkl.stacks.device import ROOM

JITTER = 1e-14
"""First share of the mean diagonal entry that is added to a matrix that cannot be factorised."""
LARGEST = 1e4
"""Entries of S E S up to which its products may be rounded to 11 bits: errors are 1e-5 of that, beside 1."""
LARGER = 100.0
"""The factor by which more is added the next time."""


class System(ABC):
    """The systems of one problem.

    Parameters
    ----------
    stack : DeviceGramStack or DeviceFactorStack
    memberships : ndarray of shape (n, l)
    """

    precise = False
    """Whether matrices are as precise as they can be had: where steps lead nowhere else."""

    def __init__(self, stack, memberships):
        self.stack, self.memberships = stack, stack.tensor(memberships)
        self.shape = memberships.shape[1], stack.n_kernels

    @abstractmethod
    def look(self, alpha):
        """Take in dual variables; return their norms q, (l, M)."""

    @abstractmethod
    def outputs(self, weights):
        """Return the scores of several weights (k, l, M) at these dual variables, (k, n)."""

    @abstractmethod
    def kernel(self, weights, vector):
        """Return K~ x."""

    @abstractmethod
    def factorise(self, weights, theta):
        """Take in weights and the diagonal Theta; return B'TB, B'T1 and 1'T1."""

    @abstractmethod
    def sums(self, rho):
        """Return B'T rho and 1'T rho."""

    @abstractmethod
    def change(self, rho, d_weights, shift):
        """Return T (rho - B d_weights - shift); rho is the one that `sums` had last."""


class DenseSystem(System):
    """The systems of Gram matrices: one factor of n x n a step."""

    factor: Any = None

    def look(self, alpha):  # noqa: D102
        images = self.stack.product(self.memberships * alpha[:, None])
        images *= self.memberships.T[:, None, :]
        self.images = images.reshape(-1, len(alpha))
        return (self.images @ alpha).reshape(self.shape)

    def outputs(self, weights):  # noqa: D102
        return weights.reshape(len(weights), -1) @ self.images

    def kernel(self, weights, vector):  # noqa: D102
        products = self.stack.product(self.memberships * vector[:, None])
        return torch.einsum("jm,jmi,ij->i", weights, products, self.memberships)

    def factorise(self, weights, theta):  # noqa: D102
        self.factor = None  # its memory is needed again
        self.factor = factor(lambda: self._matrix(weights, theta))
        right = torch.cat([self.images, theta.new_ones((1, len(theta)))]).T
        solved = torch.cholesky_solve(right, self.factor)
        self.solved, self.ones = solved[:, :-1], solved[:, -1]
        return self.images @ self.solved, self.images @ self.ones, self.ones.sum()

    def _matrix(self, weights, theta):
        matrix = self.stack.combined(weights, self.memberships)
        matrix.diagonal().add_(theta)
        return matrix

    def sums(self, rho):  # noqa: D102
        self.along = torch.cholesky_solve(rho[:, None], self.factor)[:, 0]
        return self.images @ self.along, self.along.sum()

    def change(self, rho, d_weights, shift):  # noqa: D102
        return self.along - self.solved @ d_weights - shift * self.ones


class FactorSystem(System):
    """The systems of features: one factor of l R x l R a step, and a few reads of the features."""

    factor: Any = None

    def __init__(self, stack, memberships):
        super().__init__(stack, memberships)
        factors = np.ones(stack.n_kernels) if stack.factors is None else stack.factors
        self.widths = torch.as_tensor(stack.widths, device=stack.device)
        self.roots = self._spread(stack.tensor(np.sqrt(factors))[None])[0]
        size = memberships.shape[1] * stack.n_features
        require_device_memory(5 * 8 * size**2, f"A system of {size} features", stack.device, ROOM)

    def _spread(self, values):
        return torch.repeat_interleave(values, self.widths, dim=-1)

    def _moments(self, values):
        """Return Phi~' x of a vector, (l R,)."""
        return (self.stack.moment(self.memberships * values[:, None]) * self.roots).reshape(-1)

    def _scores(self, several):
        """Return Phi~ v of several v (k, l R), (k, n)."""
        count, n_clusters = len(several), self.shape[0]
        columns = several.reshape(count * n_clusters, -1) * self.roots
        found = self.stack.projected(columns.T.contiguous())
        return torch.einsum("nkj,nj->kn", found.reshape(len(found), count, n_clusters), self.memberships)

    def look(self, alpha):  # noqa: D102
        self.own = self._moments(alpha)
        return self.stack.folded(self.own.reshape(self.shape[0], -1).square())

    def outputs(self, weights):  # noqa: D102
        return self._scores(self._spread(weights).reshape(len(weights), -1) * self.own)

    def kernel(self, weights, vector):  # noqa: D102
        return self._scores((self._spread(weights).reshape(-1) * self._moments(vector))[None])[0]

    def factorise(self, weights, theta):  # noqa: D102
        self.factor = self.curvature = None
        self.inverse = 1.0 / theta
        roots = self.roots.repeat(self.shape[0])
        size = len(roots)
        self.scale = self._spread(weights).reshape(-1).sqrt()
        for _ in range(2):
            curvature = self.stack.curvature(self.memberships, self.inverse, self.precise).reshape(size, size)
            self.curvature = curvature.mul_(roots[:, None]).mul_(roots)
            if self.precise or float((self.curvature.diagonal() * self.scale**2).max()) <= LARGEST:
                break
            self.precise = True  # what was rounded would count beside the identity
        self.factor = factor(self._matrix)
        # Column (j, m) of A holds the part of `own` that belongs there: B = Phi~ A.
        blocks = torch.arange(self.shape[0] * self.shape[1], device=theta.device)
        places = torch.repeat_interleave(blocks, self.widths.repeat(self.shape[0]))
        self.parts = theta.new_zeros((size, len(blocks)))
        self.parts[torch.arange(size, device=theta.device), places] = self.own
        images = self.curvature @ self.parts
        self.across = self._moments(self.inverse)
        ones = self._inner(self.across)
        inner = self.parts.T @ images - images.T @ self._inner(images)
        return (
            inner,
            self.parts.T @ (self.across - self.curvature @ ones),
            self.inverse.sum() - self.across @ ones,
        )

    def _matrix(self):
        matrix = self.curvature * self.scale
        matrix.mul_(self.scale[:, None]).diagonal().add_(1.0)
        return matrix

    def _inner(self, moments):
        """Return S (I + S E S)^-1 S x of moments x, (l R,) or (l R, k)."""
        wide = moments[:, None] if moments.ndim == 1 else moments
        found = self.scale[:, None] * torch.cholesky_solve(self.scale[:, None] * wide, self.factor)
        return found.reshape(moments.shape)

    def sums(self, rho):  # noqa: D102
        self.along = self._moments(self.inverse * rho)
        inner = self._inner(self.along)
        total = self.inverse @ rho - self.across @ inner
        return self.parts.T @ (self.along - self.curvature @ inner), total

    def change(self, rho, d_weights, shift):  # noqa: D102
        moved = self.parts @ d_weights
        inner = self._inner(self.along - shift * self.across - self.curvature @ moved)
        return self.inverse * (rho - shift - self._scores((moved + inner)[None])[0])


def factor(make):
    """Return the Cholesky factor of a matrix that is made anew where more must be added to its diagonal."""
    jitter = 0.0
    while jitter <= 1.0:
        matrix = make()
        if jitter:
            matrix.diagonal().add_(jitter * float(matrix.diagonal().mean()))
        failed = torch.empty((), dtype=torch.int32, device=matrix.device)
        torch.linalg.cholesky_ex(matrix, out=(matrix, failed))
        if not int(failed):
            return matrix
        jitter = JITTER if jitter == 0.0 else LARGER * jitter
    raise FloatingPointError("A matrix is not finite, or far from positive definite.")
