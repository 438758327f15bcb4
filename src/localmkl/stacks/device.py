"""Stacks on a device, as tensors of PyTorch: the numbers stay there, vectors come and go.

`GramStack` and `FactorStack` of tensors are these. Questions by arrays of NumPy have the answers that every
stack gives, in float64; those by tensors (of float64, on the same device) are for solvers that work there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
import torch

from localmkl._devices import require_device_memory
from localmkl._types import Device, Floats, Ints, Picked, Tensor
from localmkl.backends import on_device
from localmkl.stacks.dense import GramStack
from localmkl.stacks.factors import FactorStack
from localmkl.stacks.interface import Stack

ROOM = "take float32, fewer rows or kernels, `n_components`, or device='cpu'"
"""Advice where a device has too little memory."""


class DeviceMatrix:
    """One matrix on a device, of which answers are arrays of NumPy.

    Parameters
    ----------
    matrix : tensor of shape (n_rows, n_columns)
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return tuple(self.matrix.shape)

    def __matmul__(self, vectors: Floats) -> Floats:
        """Return the product with a vector or several, of float64."""
        own = _tensor(vectors, self.matrix.device)
        return (self.matrix.double() @ own).cpu().numpy()

    def __getitem__(self, key: Any) -> Any:
        """Return some rows, or rows and columns as `numpy.ix_` names them."""
        if isinstance(key, tuple):
            rows, columns = (_places(np.ravel(one), self.matrix.device) for one in key)
            return DeviceMatrix(self.matrix[rows][:, columns])
        return self.matrix[key].double().cpu().numpy()

    def scaled(self, factor: float, left: Floats | None = None, right: Floats | None = None) -> DeviceMatrix:
        """Return a copy with all entries, rows and columns multiplied by some numbers."""
        matrix = self.matrix.double() * float(factor)
        if left is not None:
            matrix *= _tensor(left, matrix.device)[:, None]
        if right is not None:
            matrix *= _tensor(right, matrix.device)
        return DeviceMatrix(matrix)

    def __iadd__(self, other: DeviceMatrix) -> Self:
        self.matrix += other.matrix
        return self

    def __itruediv__(self, number: float) -> Self:
        self.matrix /= number
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return self.matrix.double().cpu().numpy()

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return self.matrix.diagonal().double().cpu().numpy()


class _OnDevice(Stack):
    """The common part of stacks of tensors; before their kinds, whose answers it takes the place of."""

    _numbers: Tensor

    @property
    def device(self) -> Device:
        """The ``torch.device`` that the numbers are on."""
        return self._numbers.device

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(str(self._numbers.dtype).removeprefix("torch."))

    @property
    def bytes_in_memory(self) -> int:
        """None: they are elsewhere."""
        return 0

    def tensor(self, values: Any) -> Tensor:
        """Return numbers as a tensor of float64 where the stack is."""
        return _tensor(values, self.device)

    def to_device(self, device: Device) -> Self:
        """Return the stack: it stays where it is."""
        return self

    def _rows(self) -> Tensor | None:
        return None if self.rows is None else _places(self.rows, self.device)

    def contents(self) -> Any:
        """Return what all answers depend on, for checksums: sums that no other stack is likely to have."""
        weights = np.sin(np.arange(1.0, 1.0 + self.whole_shape[1]))[:, None]
        whole = self._with(rows=None, columns=None, factors=None)
        return whole.products(weights) if self._is_square else self.whole_shape, self.rows, self.columns

    @property
    def _is_square(self) -> bool:
        return self.whole_shape[0] == self.whole_shape[1]

    def __getstate__(self) -> NoReturn:
        """Refuse: what goes to files or other processes should not hold a device's memory."""
        raise TypeError(
            f"A {type(self).__name__} on {str(self.device)!r} cannot be saved or sent to other processes; "
            "use one process (n_jobs=None)."
        )

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


class DeviceGramStack(_OnDevice, GramStack):
    """Gram matrices as one tensor of shape (n_kernels, n_rows, n_columns)."""

    def __init__(self, grams: Any, diagonals: Floats | None = None) -> None:
        super(GramStack, self).__init__()
        self.grams = self._numbers = _as_stack(grams)
        self._set_diagonals(diagonals)

    @property
    def whole_shape(self) -> tuple[int, int]:
        """Number of rows and columns of the stack that this one is a slice of."""
        return tuple(self.grams.shape[1:])

    def read(self, m: int, rows: Ints | None, columns: Ints | None) -> Floats:  # noqa: D102
        return self._part(m, rows, columns).to("cpu", torch.float64, copy=True).numpy()

    def _part(self, m: int, rows: Ints | None, columns: Ints | None) -> Tensor:
        part = self.grams[m]
        part = part if rows is None else part[_places(rows, self.device)]
        return part if columns is None else part[:, _places(columns, self.device)]

    def matrix(self, m: int, rows: Picked = slice(None), columns: Picked = slice(None)) -> DeviceMatrix:
        """Return a part of the m-th kernel, where it is."""
        part = self[rows, columns]
        matrix = self._part(m, part.rows, part.columns)
        return DeviceMatrix(matrix if self.factors is None else matrix * float(self.factors[m]))

    def whole_diagonals(self) -> Floats:  # noqa: D102
        if self._diagonals is not None or not self._is_square or "symmetric" not in self._verdicts:
            return super().whole_diagonals()
        return self.grams.diagonal(dim1=1, dim2=2).double().cpu().numpy()

    def combine(self, weights: Floats, memberships: Floats, out: Floats | None = None) -> DeviceMatrix:
        """Return the combined kernel of the rows, as a `DeviceMatrix`."""
        return DeviceMatrix(self.combined(self.tensor(weights), self.tensor(memberships)))

    def combined(self, weights: Tensor, memberships: Tensor) -> Tensor:
        """Return the combined kernel of the rows, as a tensor that belongs to who asks."""
        n = len(self)
        require_device_memory(8 * n * n, f"A combined kernel of {n} rows", self.device, ROOM)
        out = torch.empty((n, n), dtype=torch.float64, device=self.device)
        scaled = weights if self.factors is None else weights * self.tensor(self.factors)
        return on_device.combine(self.grams, self._rows(), scaled, memberships, out)

    @property
    def n_terms(self) -> int:  # noqa: D102
        return on_device.n_terms(self.grams, len(self))

    def products(self, vectors: Floats, samples: Ints | None = None) -> Floats:  # noqa: D102
        part = self if samples is None else self[np.ix_(samples, samples)]
        return part.product(self.tensor(vectors)).cpu().numpy()

    def product(self, vectors: Tensor) -> Tensor:
        """Return ``K_m u_j`` for the columns u_j of `vectors`, (l, n_kernels, n), as a tensor."""
        found = on_device.products(self.grams, self._rows(), vectors)
        return found if self.factors is None else found.mul_(self.tensor(self.factors)[:, None])

    def norms(self, vectors: Floats) -> Floats:  # noqa: D102
        own = self.tensor(vectors)
        return torch.einsum("jmi,ij->jm", self.product(own), own).cpu().numpy()

    def only(self, m: int) -> Self:  # noqa: D102
        m = range(self.n_kernels)[m]
        factors = None if self.factors is None else self.factors[m : m + 1]
        own = self.grams[m : m + 1]
        return self._with(grams=own, _numbers=own, factors=factors)

    def divided(self, scales: Floats, *, in_place: bool) -> DeviceGramStack:  # noqa: D102
        grams = self.grams
        if not in_place:
            n = len(self)
            needed = self.n_kernels * n * n * self.dtype.itemsize
            require_device_memory(needed, "A copy of the stack for the cosine", self.device, ROOM)
            grams = torch.empty((self.n_kernels, n, n), dtype=self.grams.dtype, device=self.device)
        for m, own in enumerate(self.tensor(scales).to(grams.dtype)):
            gram = grams[m]
            if not in_place:
                gram.copy_(self._part(m, self.rows, self.columns))
            gram.mul_(own[:, None]).mul_(own * (1.0 if self.factors is None else float(self.factors[m])))
        return DeviceGramStack(grams).vouch("finite", "symmetric")

    def only_kernel(self, weights: Floats, memberships: Floats) -> None:
        """Return none that NumPy could read."""
        return None

    def kernels_first(self) -> DeviceGramStack:  # noqa: D102
        return DeviceGramStack(self.grams.permute(2, 0, 1).contiguous())

    def sum(self) -> float:  # noqa: D102
        return float(sum(gram.sum(dtype=torch.float64) for gram in self.grams))

    def detached(self) -> tuple[Self, Any]:  # noqa: D102
        return self.__getstate__()

    def _check_at_once(self) -> None:
        """Leave both looks to the device."""
        return

    def _check_finite(self) -> None:
        for m, gram in enumerate(self.grams):
            finite = gram.isfinite().all(dim=1)
            if not bool(finite.all()):
                raise ValueError(
                    f"`grams[{m}]` contains NaN or infinity (row {int(finite.byte().argmin())}); remove or "
                    "impute such entries first."
                )

    def _check_symmetric(self) -> None:
        n = self.whole_shape[0]
        for m, gram in enumerate(self.grams):
            size = max(float(gram.diagonal().abs().max()), np.finfo(np.float64).tiny)
            parts = [slice(start, start + TILE) for start in range(0, n, TILE)]
            pairs = ((one, other) for k, one in enumerate(parts) for other in parts[k:])
            worst = max(float((gram[one, other] - gram[other, one].T).abs().max()) for one, other in pairs)
            if not worst <= SYMMETRY * size:
                raise ValueError(
                    f"`grams[{m}]` must be symmetric, its entries differ by up to {worst:.3g} from those of "
                    "its transpose; pass the Gram matrix of the training rows."
                )
            picked = _places(np.linspace(0, n - 1, min(n, CHECKED)).astype(int), self.device)
            lowest = float(torch.linalg.eigvalsh(gram[picked][:, picked].double())[0])
            lowest = min(lowest, float(gram.diagonal().min()))
            if lowest < -SYMMETRY * size * len(picked):
                raise ValueError(
                    f"`grams[{m}]` must be positive semidefinite, got an eigenvalue of {lowest:.3g} or less; "
                    "use a kernel that is one."
                )


class DeviceFactorStack(_OnDevice, FactorStack):
    """Features of all kernels as one tensor of shape (n_rows, n_features)."""

    def __init__(self, features: Sequence[Tensor]) -> None:
        super(FactorStack, self).__init__()
        self._set_table(*_as_table(features))
        self.scales = None
        self.vouch("symmetric")

    def _set_table(self, table: Tensor, widths: Iterable[int]) -> None:
        self._numbers = table
        self.tables = tuple(torch.split(table, list(widths), dim=1))

    def table(self) -> None:
        """Return none that NumPy could read."""
        return None

    def features(self, rows: Picked = slice(None), dtype: Any = np.float64) -> Floats:  # noqa: D102
        return self.rows_of(rows).double().cpu().numpy().astype(dtype, copy=False)

    def rows_of(self, rows: Picked = slice(None)) -> Tensor:
        """Return the features of some rows of this slice, as a tensor."""
        if self.rows is not None:
            rows = self.rows[rows]
        return self._numbers[rows if isinstance(rows, slice) else _places(rows, self.device)]

    def gather(self, rows: Picked, out: Floats) -> Floats:  # noqa: D102
        out[...] = self.features(rows)
        return out

    def _own_features(self, m: int, rows: Ints | None) -> Floats:
        own = self.tables[m] if rows is None else self.tables[m][_places(rows, self.device)]
        return own.double().cpu().numpy()

    def whole_diagonals(self) -> Floats:  # noqa: D102
        found = [
            self.folded(self._numbers[part].double().square())
            for part in on_device.feature_blocks(*self._numbers.shape)
        ]
        return torch.cat(found).T.contiguous().cpu().numpy()

    def traces(self, weights: Floats) -> Floats:  # noqa: D102
        total = np.zeros(self.n_kernels)
        for rows in on_device.feature_blocks(len(self), self.n_features):
            squares = self.rows_of(rows).double().square()
            total += self.folded(self.tensor(weights[rows]) @ squares).cpu().numpy()
        return total if self.factors is None else total * self.factors

    def row_diagonals(self, rows: slice) -> Floats:
        """Return ``k_m(x, x)`` of a slice of the rows, (n_kernels, n_rows)."""
        own = self.folded(self.rows_of(rows).double().square()).T.contiguous().cpu().numpy()
        return own if self.factors is None else own * self.factors[:, None]

    def folded(self, values: Tensor) -> Tensor:
        """Return sums over each kernel's features of values (..., n_features), as a tensor."""
        return torch.stack([own.sum(-1) for own in torch.split(values, list(self.widths), -1)], -1)

    def column_moments(self, vectors: Floats, columns: Ints) -> Floats:
        """Return ``Phi' u_j`` of some columns of the features alone, (l, n_columns), in plain NumPy."""
        own = self._numbers[:, _places(columns, self.device)]
        own = own if self.rows is None else own[self._rows()]
        return vectors.T @ own.double().cpu().numpy()

    def moments_of(self, rows: Ints, vectors: Floats) -> Floats:  # noqa: D102
        part = self if len(rows) == len(self) else self[rows]
        return part.moment(self.tensor(vectors)).cpu().numpy()

    def scores_of(self, rows: Ints, memberships: Floats, images: Floats, precise: bool) -> Floats:  # noqa: D102
        part = self if len(rows) == len(self) else self[rows]
        return np.einsum("ij,ij->i", memberships, part.project(images.T))

    def moment(self, vectors: Tensor) -> Tensor:
        """Return ``Phi' u_j`` for the columns u_j of `vectors`, (k, n_features), as a tensor."""
        return on_device.moments(self._numbers, self._rows(), vectors)

    def projected(self, columns: Tensor) -> Tensor:
        """Return ``Phi v_j`` for `columns` v_j (n_features, k), as a tensor."""
        return on_device.projections(self._numbers, self._rows(), columns, len(self))

    def project(self, columns: Floats) -> Floats:  # noqa: D102
        return self.projected(self.tensor(columns)).cpu().numpy()

    def curvature(self, memberships: Tensor, weights: Tensor) -> Tensor:
        """Return ``Phi' diag(w c_j c_k) Phi`` of all pairs of clusters, (l, R, l, R), as a tensor."""
        return on_device.curvature(self._numbers, self._rows(), memberships, weights)

    def norms(self, vectors: Floats) -> Floats:  # noqa: D102
        norms = self.folded(self.moment(self.tensor(vectors)).square_()).cpu().numpy()
        return norms if self.factors is None else norms * self.factors

    @property
    def n_terms(self) -> int:
        """Additions behind a score: rows of a block, blocks, features."""
        blocks = on_device.feature_blocks(len(self), self.n_features)
        return blocks[0].stop + len(blocks) + self.n_features

    def only(self, m: int) -> Self:  # noqa: D102
        factors = None if self.factors is None else self.factors[m : m + 1]
        return self._with(tables=self.tables[m : m + 1], _numbers=self.tables[m], factors=factors)

    def divided(self, scales: Floats, *, in_place: bool) -> DeviceFactorStack:
        """Return the stack of features multiplied by ``scales`` (n_kernels, n_rows), in place or copied."""
        if not in_place:
            needed = len(self) * self.n_features * self.dtype.itemsize
            require_device_memory(needed, "A copy of the features for the cosine", self.device, ROOM)
        table = self.rows_of()
        table = table if in_place or self.rows is not None else table.clone()
        other = DeviceFactorStack.of_table(table, self.widths)
        for own, scale in zip(other.tables, self.tensor(scales).to(table.dtype), strict=True):
            own.mul_(scale[:, None])
        other.origin, other.factors = self.origin, self.factors
        return other

    def _check_finite(self) -> None:
        for m, table in enumerate(self.tables):
            if not bool(table.isfinite().all()):
                raise ValueError(f"The features of kernel {m} hold NaN or infinity.")


CHECKED = 200
"""Rows and columns of a Gram whose eigenvalues are looked at."""
TILE = 4096
"""Rows and columns of a Gram that are compared with their transpose at a time."""
SYMMETRY = 1e-6
"""Share of its largest diagonal entry by which a Gram may be asymmetric, or indefinite a row."""


def _as_stack(grams: Any) -> Tensor:
    """Return Grams as one tensor of three axes, uncopied if they are one of float32 or float64."""
    if not isinstance(grams, torch.Tensor):
        _check_tensors(grams, "grams")
        shapes = sorted({tuple(gram.shape) for gram in grams})
        if len(shapes) > 1:
            raise ValueError(f"`grams` must all have one shape, got {shapes}.")
        grams = torch.stack(list(grams))
    _check_tensors([grams], "grams")
    grams = grams[None] if grams.ndim == 2 else grams
    if grams.ndim != 3 or 0 in grams.shape:
        raise ValueError(f"`grams` must have shape (n_kernels, n_rows, n_columns), got {tuple(grams.shape)}.")
    return _floating(grams.detach(), "grams")


def _as_table(features: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    """Return features as one tensor, uncopied where they stand side by side in one, and their numbers."""
    _check_tensors(features, "features")
    tables = [_floating(table.detach(), f"features[{m}]") for m, table in enumerate(features)]
    for m, table in enumerate(tables):
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(
                f"`features[{m}]` must have shape (n_rows, n_features) with at least one of each, got "
                f"{tuple(table.shape)}."
            )
    lengths = {len(table) for table in tables}
    if len(lengths) > 1:
        raise ValueError(f"`features` must have the same rows for every kernel, got {sorted(lengths)} rows.")
    widths = [table.shape[1] for table in tables]
    first, place, joined = tables[0], tables[0].data_ptr(), True
    for table in tables:
        joined &= table.data_ptr() == place and table.stride() == first.stride() == (first.stride(0), 1)
        joined &= table.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        place += table.shape[1] * table.element_size()
    if joined and first.stride(0) >= sum(widths):
        return first.as_strided((len(first), sum(widths)), first.stride()), widths
    return torch.cat(tables, dim=1), widths


def _check_tensors(tensors: Sequence[Any], name: str) -> None:
    """Raise unless all are dense tensors on one device that has numbers."""
    kinds = sorted({f"{type(one).__name__} on {getattr(one, 'device', 'no device')}" for one in tensors})
    plain = all(
        isinstance(one, torch.Tensor) and one.layout == torch.strided and not one.is_meta for one in tensors
    )
    if not plain or len(kinds) > 1:
        raise ValueError(f"`{name}` must be dense tensors on one device, got {', '.join(kinds)}.")


def _floating(tensor: Tensor, name: str) -> Tensor:
    if tensor.is_complex():
        raise ValueError(f"`{name}` must hold real numbers, got {tensor.dtype}.")
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.double()


def _tensor(values: Any, device: Device) -> Tensor:
    if isinstance(values, np.ndarray):
        values = np.require(values, np.float64, ["C", "W"])
    return torch.as_tensor(values, dtype=torch.float64, device=device)


def _places(numbers: Ints, device: Device) -> Tensor:
    return torch.as_tensor(np.asarray(numbers), dtype=torch.int64, device=device)
