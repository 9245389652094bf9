"""Names for the arrays of kernels, by the type of their elements. The docstring of a kernel says what shape each array
has.

In docstrings ``int32[rows, 2]`` is an array of two dimensions with elements of type ``int32``. An array is only read
unless the docstring says that it is written.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
Int8Array: TypeAlias = NDArray[np.int8]
Int16Array: TypeAlias = NDArray[np.int16]
Int32Array: TypeAlias = NDArray[np.int32]
Int64Array: TypeAlias = NDArray[np.int64]
Uint8Array: TypeAlias = NDArray[np.uint8]
Uint16Array: TypeAlias = NDArray[np.uint16]
Uint32Array: TypeAlias = NDArray[np.uint32]
Uint64Array: TypeAlias = NDArray[np.uint64]
Float32Array: TypeAlias = NDArray[np.float32]

IntArray: TypeAlias = NDArray[np.signedinteger]  # int32 or int64, compiled once for each
UintArray: TypeAlias = NDArray[np.unsignedinteger]  # uint32 or uint64, compiled once for each
RecordArray: TypeAlias = NDArray[np.void]  # of named fields; the docstring says which
