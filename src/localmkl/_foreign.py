"""Rows as other packages hold them: frames of polars and pyarrow, AnnData, MuData.

They are known by the package that made them: none is imported to find out that rows are something else.
"""

from decimal import Decimal
from importlib import import_module

FRAMES = {
    "polars": ("DataFrame", "LazyFrame", "Series"),
    "pyarrow": ("Table", "RecordBatch", "ChunkedArray"),
}
"""Package: the frames and columns in it that are read as those of pandas."""


def import_extra(package, purpose, extra):
    """Return an optional package, or say which extra of this one brings it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package {package}; install it with `pip install localmkl[{extra}]`."
        ) from error


def is_foreign_frame(X):
    """Whether rows are a frame, or a column of one, that is not pandas'."""
    return any(_is(X, package, *names) for package, names in FRAMES.items())


def is_anndata(X):
    """Whether rows are an annotated matrix."""
    return _is(X, "anndata", "AnnData")


def is_mudata(X):
    """Whether rows are several annotated matrices of the same samples."""
    return _is(X, "mudata", "MuData")


def _is(X, package, *names):
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] == package for kind in type(X).__mro__
    )


def as_pandas(X):
    """Return rows that are a frame of polars or pyarrow as one of pandas; other rows as they are.

    A missing value is NaN among numbers and None among words, decimal numbers are floating-point ones.
    """
    if not is_foreign_frame(X):
        return X
    name = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
    if hasattr(X, "collect"):
        raise ValueError(f"The rows must be in memory, got a {name}; call its `collect()` first.")
    for package in ("pandas", "pyarrow"):
        import_extra(package, f"A {name}", "frames")
    names = getattr(X, "column_names", [])
    twice = [column for column in names if names.count(column) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"The columns of a {name} must have different names, got {twice[0]!r} twice.")
    frame = X.to_pandas()
    if frame.ndim == 1:
        return _floating(frame).rename(frame.name or "")
    return frame.assign(**{column: _floating(frame[column]) for column in frame.select_dtypes(object)})


def _floating(column):
    """Return a column whose decimal numbers, which are objects to pandas, are floating-point ones."""
    there = column.dropna().tolist() if column.dtype == object else []
    return column.astype(float) if there and isinstance(there[0], Decimal) else column


def annotated_rows(name, X):
    """Return the matrix of an AnnData that is the view of this name."""
    if X.isbacked:
        raise ValueError(
            f"View {name!r} must be in memory, it is backed by a file; call `to_memory()` first."
        )
    if X.X is None:
        raise ValueError(f"View {name!r} must have its rows in `X` of the AnnData, got none there.")
    from scipy.sparse import csr_matrix, issparse

    return csr_matrix(X.X) if issparse(X.X) else X.X  # slices have classes of their own


def modalities(X):
    """Return the parts of a MuData, by name: an AnnData and the places of its samples among all of them."""
    if X.axis == 1:
        raise ValueError(
            "The modalities of a MuData must share samples (axis 0), got some that share variables (axis 1); "
            "make one AnnData of them."
        )
    if not X.obs_names.is_unique:
        raise ValueError(
            "The samples of a MuData must have different names, got some twice; call its "
            "`obs_names_make_unique()`."
        )
    return {name: (_checked(name, part), _places(name, X, part)) for name, part in X.mod.items()}


def _checked(name, part):
    if not is_anndata(part):
        raise ValueError(f"Modality {name!r} of a MuData must be an AnnData, got {type(part).__name__}.")
    return part


def _places(name, X, part):
    places = X.obs_names.get_indexer(part.obs_names)
    if (places < 0).any():
        stranger = part.obs_names[places < 0][0]
        raise ValueError(
            f"The samples of modality {name!r} must be samples of the MuData, got {stranger!r}; call its "
            "`update()` first."
        )
    return places
