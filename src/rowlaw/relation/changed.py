"""Some rows of a relation, and copies of them with single cells changed, as a relation of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from rowlaw.relation.memory import MemoryRelation
from rowlaw.relation.relation import CODES_FILE, Relation
from rowlaw.spark.ship import located


def changed_rows(
    relation: Relation, rows: np.ndarray, copied: np.ndarray, columns: np.ndarray, codes: np.ndarray
) -> Relation:
    """Make a relation of ``rows``, followed by a copy of each of ``copied`` with one cell changed.

    ``rows``, ``copied``: positions in ``relation``. ``columns``, ``codes`` (one for each copy): the index of the column
    whose cell is changed, and its new code. Codes mean what they mean in ``relation``: the dictionaries are shared.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})))
    >>> changed_rows(relation, np.array([0, 2]), np.array([2]), np.array([1]), np.array([0])).decode().to_pylist()
    [{'a': 1, 'b': 'x'}, {'a': 3, 'b': 'z'}, {'a': 3, 'b': 'x'}]
    """
    matrix = np.ascontiguousarray(relation.matrix[:, np.concatenate((rows, copied)).astype(np.int64)])
    matrix[columns, len(rows) + np.arange(len(copied))] = codes
    if isinstance(relation, MemoryRelation):
        return relation.recoded(matrix.astype(np.int32, copy=False))
    folder = Path(tempfile.mkdtemp(prefix="rowlaw-changed-"))
    matrix.astype(np.int32, copy=False).tofile(folder / CODES_FILE)
    for file in sorted(located(relation.folder, CODES_FILE).parent.glob("dictionary-*")):
        os.symlink(file.absolute(), folder / file.name)
    return Relation(folder, matrix.shape[1], relation.columns, owned=True)
