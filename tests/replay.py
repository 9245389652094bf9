"""A table that grows batch by batch and shrinks back, compared on the way with discovery from scratch.

``python -m tests.replay TABLE INSERTS`` takes two files: the table as it was, and the rows that came later. It applies
them in batches of one row (the first 200), 100 rows, 1,000 rows and all at once.
"""

import argparse
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from rowlaw import Laws, check, discover
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import Denial

POINTS = 10
SIZES = {1: 200, 100: None, 1_000: None, None: None}  # rows of a batch, and how many rows are inserted in all


def replay(first, later, size, kinds=("dc",), nulls="equal", **options):
    """Apply ``later`` in batches of ``size`` rows, then delete its rows again; gives the number of rules at each point
    compared.

    ``options``: the predicate space, which must not depend on the rows; or ``rules``, chosen ones, of which the
    violations are counted.
    """
    first, later = _named(first), _named(later.cast(first.schema), len(first))
    size = size or len(later)
    batches = [later.slice(at, size) for at in range(0, len(later), size)]
    points = {round(len(batches) * k / POINTS) for k in range(1, POINTS + 1)}
    counted = []
    settings = {"nulls": nulls, "row_id": "row", "progress": False}
    settings |= {"cross": False, "kinds": kinds, **options} if "rules" not in options else options
    with tempfile.TemporaryDirectory() as folder, Laws.create(Path(folder) / "state", first, **settings) as laws:
        born = _state(laws)
        for number, batch in enumerate(batches, start=1):
            laws.apply(batch)
            if number in points:
                grown = pa.concat_tables([first, *batches[:number]])
                fresh = _from_scratch(grown, settings)
                assert _state(laws) == fresh, f"after {number} batches of {size:,} rows"
                counted.append(len(fresh))
        for batch in batches:
            laws.apply(deletes=batch.select(["row"]))
        assert _state(laws) == born, f"after the batches of {size:,} rows were taken back"
    return counted


def _named(table, start=0):
    return table.append_column("row", pa.array(range(start, start + len(table))))


def _state(laws):
    return laws.counts if laws.chosen else _texts(laws.rules)


def _from_scratch(table, settings):
    if "rules" not in settings:
        return _texts(discover(table, **settings))
    return check(table, settings["rules"], nulls=settings["nulls"], row_id="row", progress=False).counts


def _texts(rules):
    return {str(canonical(r.rule) if isinstance(r.rule, Denial) else r.rule) for r in rules}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("inserts", type=Path)
    parser.add_argument("--kinds", default="dc", help="key,fd,od,dc")
    given = parser.parse_args()
    first, later = (pyarrow.csv.read_csv(path) for path in (given.table, given.inserts))
    for size, rows in SIZES.items():
        counted = replay(first, later.slice(0, rows), size, tuple(given.kinds.split(",")))
        shown = ", ".join(map(str, counted))
        print(
            f"batches of {size or 'all'}: the same rules as from scratch at {len(counted)} points ({shown}), and "
            "taken back"
        )


if __name__ == "__main__":
    main()
