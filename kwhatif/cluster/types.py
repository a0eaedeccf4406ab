"""Type aliases of arrays. Shapes are documented where they are used; N is the number of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
Int16Array = npt.NDArray[np.int16]
Int64Array = npt.NDArray[np.int64]
IntpArray = npt.NDArray[np.intp]
Float64Array = npt.NDArray[np.float64]
