"""Data frames as plain arrays, for files without code."""

import numpy as np


def take_apart(frame):
    """Return the names of the columns, and one matrix for each type: thousands of columns are few arrays."""
    types = np.array([str(dtype) for dtype in frame.dtypes])
    places = {kind: np.flatnonzero(types == kind) for kind in dict.fromkeys(types.tolist())}
    blocks = [[where, frame.iloc[:, where].to_numpy()] for where in places.values()]
    return {"names": np.array([str(name) for name in frame.columns]), "blocks": blocks}


def put_together(parts):
    """Undo `take_apart`."""
    import pandas as pd

    columns: dict[int, np.ndarray] = {}
    for places, block in parts["blocks"]:
        columns |= {int(place): column for place, column in zip(places, block.T, strict=True)}
    frame = pd.DataFrame({place: columns[place] for place in sorted(columns)})
    return frame.set_axis(parts["names"].tolist(), axis=1)
