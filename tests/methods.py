"""Counting methods with other thresholds than usual: what it takes to send small tables through each of them."""

from __future__ import annotations

import math

from rowlaw.engine.local.cells import Cells, Exceptions
from rowlaw.engine.local.count import METHODS
from rowlaw.engine.local.kinds import DistinctRows
from rowlaw.engine.local.method import Method
from rowlaw.engine.local.terms import Ascents, Runs, Scan, SingleRows, Terms

EAGER: dict[str, Method] = {
    "exceptions": Exceptions(per_row=math.inf, few_cells=0.0, rows_per_exception=1),
    "cells": Cells(per_row=math.inf),
    "distinct rows": DistinctRows(min_rows=1, repeated=0),
    "runs": Runs(),
    "ascents": Ascents(),
    "scan": Scan(comparisons=0, limit=math.inf, slower=math.inf),
    "terms": Terms(),
}  # each applies to all rules that it can count

# Lists to pass instead of METHODS: each method before the general one, and the usual list.
LISTS: dict[str, tuple[Method, ...]] = {
    "as usual": METHODS,
    **{name: (SingleRows(), method, Terms()) for name, method in EAGER.items()},
}
