"""What the values of a column are like, from its codes."""

from __future__ import annotations

import numpy as np

from rowlaw.engine.answers import ColumnProfile
from rowlaw.relation.relation import Relation
from rowlaw.source.types import type_name


def column_profile(relation: Relation, name: str, top: int) -> ColumnProfile:
    """Describe a column: one pass over its codes. Values that are equally frequent come in their order.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> found = column_profile(encode(open_source(pa.table({"city": ["Ulm", "Bonn", "Ulm", None]}))), "city", 1)
    >>> found.nulls, found.distinct, found.lowest, found.highest, found.frequent
    (1, 2, 'Bonn', 'Ulm', (('Ulm', 2),))
    """
    column = relation.column(name)
    dictionary = relation.dictionary(name)
    # code -1, null, is counted at 0
    counts = np.bincount(relation.codes(name) + np.int32(1), minlength=column.distinct + 1)[1:]
    often = np.argsort(-counts, kind="stable")[:top] if top else np.zeros(0, np.int64)
    return ColumnProfile(
        name,
        type_name(column.arrow_type),
        column.type,
        relation.rows,
        column.nulls,
        column.distinct,
        dictionary[0].as_py() if len(dictionary) else None,
        dictionary[len(dictionary) - 1].as_py() if len(dictionary) else None,
        tuple((dictionary[int(code)].as_py(), int(counts[code])) for code in often),
    )
