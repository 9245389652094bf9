"""What work costs: the constants behind cost estimates and thresholds, each with its unit and where it was measured.

Seconds are those of one core. ``python -m benchmarks.costs`` prints the estimate of each counting method beside what it
takes, on the table Tax with a million rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rowlaw.relation.groups import KEY_BITS, Sorted, span

# --- thresholds: when a counting method applies ---
# combinations of values: 32 MiB of counts, about what a last-level cache has (benchmarks/targets/check.py, phi6)
CELLS = 1 << 23
# combinations for each row beyond which sums cost more than a sort (benchmarks/targets/check.py, phi7)
CELLS_PER_ROW = 4
# values of the left side of a functional dependency whose sizes fit the cache (benchmarks/targets/check.py, phi5)
LEFT_SIDES = 1 << 20
# combinations for each row up to which cells are as quick as exceptions (benchmarks/targets/check.py, phi5 and phi6)
FEW_CELLS = 0.5
# rows for each that may be an exception: sorting more of them is no gain (benchmarks/targets/check.py, phi5)
ROWS_PER_EXCEPTION = 8
# rows for which it is worth an estimate how often they repeat (benchmarks/targets/check.py, phi12)
REPEATING_ROWS = 1 << 19
REPEATING_SAMPLE = 1 << 15  # rows of that estimate: 2 ms (benchmarks/costs.py)
# rows for each combination of values, below which a sort of all rows is as quick (benchmarks/targets/check.py, phi12)
REPEATED = 4
SCANNED_PAIRS = 2e7  # pairs that are compared one by one at most: a tenth of a second (benchmarks/costs.py)
NARROW = 4_096  # values for which a tree of counts fits the first-level cache (benchmarks/targets/check.py, phi7)
# share of the rows of shared groups that a rule must need (benchmarks/targets/check.py, ten rules with nulls)
SHARED_ROWS = 0.5

# --- looking for counterexamples ---
# pairs that are compared in the time in which one row is sorted and counted (benchmarks/targets/discover_dc.py)
PAIRS_PER_ROW = 50

# --- tasks ---
# seconds of a rule below which it is not cut into pieces (benchmarks/targets/check.py, inequality and non-equality)
SPLIT_SECONDS = 0.1

# --- costs, in seconds for each row unless said otherwise (benchmarks/costs.py) ---
TAKE = 1e-9  # a row marked
KEY = 0.8e-9  # a column packed into the key of a row
_SORT_PASS = 5e-9  # a key moved in one pass of a radix sort
_PASS_BITS = 11  # bits of a key that one pass sorts by (rowlaw/kernels/sort.py)
GROUP = 4e-9  # a sorted key put into its group
GATHER = 4e-9  # a code read for a row of a group
EXCEPTION = 6e-9  # a row compared with the first one of its group
CELL_ROW = 1.5e-9  # a row counted into its cell, and its cell's result read back
CELL = 3e-9  # seconds for each cell: sums over one column
CELL_BY_TWO = 10e-9  # seconds for each cell: running sums over two columns
HASH = 18e-9  # a row found in a hash table of combinations
COMBINATION = 200e-9  # seconds for each combination: sorted, and counted in a tree in both directions
RUN = 4e-9  # a sorted row counted in its run of equal values
ASCENT_TREE = 2e-9  # a row, for each halving of the values, in counting ascents by a small tree
ASCENT_MERGE = 6e-9  # a row, for each halving of its group, in counting ascents by merging
PRODUCT = 7e-9  # a row of a group whose pairs are all counted
WALK = 15e-9  # a row of either side in the walk along two sorted sides
MERGE = 7e-9  # a row of either side, for each halving of its group, in counting dominated rows
SPLIT = 2.5e-9  # the same, times the halvings of the values of each inequality beyond the second: divide and conquer
SMALL = 30e-9  # a row of either side in the small lists that divide and conquer ends with
SCAN = 3e-9  # seconds for each pair and comparison that is not an equality
STAGE = 30e-9  # a row in each stage of listing
LISTED_PAIR = 15e-9  # seconds for each pair that is listed


def halvings(rows: float) -> float:
    """How often rows can be halved, at least once."""
    return math.log2(max(2.0, rows))


def sort_seconds(rows: int, columns: Sequence[Sorted], groups: int = 1) -> float:
    """Sort rows by some columns within groups."""
    bits = min(KEY_BITS * len(columns), span(groups, columns).bit_length())
    return rows * (KEY * len(columns) + _SORT_PASS * math.ceil(bits / _PASS_BITS)) if columns else 0.0
