"""One type for the outcome of a comparison: its encodings agree with each other and with the kernels, and no module
defines another."""

import ast
import itertools
import operator
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.evidence.packed import Packed
from rowlaw.evidence.slots import Slot, Slots
from rowlaw.evidence.tiles import evidence_of_pairs
from rowlaw.kernels import differences, links, sample, upkeep, witness
from rowlaw.kernels.signatures import SLOTS
from rowlaw.relation import encode
from rowlaw.rules import outcomes
from rowlaw.rules.model import Column, Constant, Op
from rowlaw.rules.outcomes import ACCEPT, ANY, DIFFERENCE, KEY, KEY_UNORDERED, ROW, Outcome, compare, exchanged_mask
from rowlaw.source import open_source
from tests import naive

ROOT = Path(rowlaw.__file__).parent
VALUES = [None, 1, 2, 3]
PAIRS = list(itertools.product(VALUES, repeat=2))
KNOWN_PAIRS = [(a, b) for a, b in PAIRS if a is not None and b is not None]
SIGNS = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.GE: operator.ge,
    Op.GT: operator.gt,
}
FULL = [outcomes.ACCEPT, outcomes.ROW, outcomes.DIFFERENCE, outcomes.KEY]
UNORDERED = [outcomes.ACCEPT_UNORDERED, outcomes.KEY_UNORDERED]


def expected(a, b, *, ordered=True, unknown=True):
    """The outcome by definition: without an order, what is not equal is different."""
    found = compare(a, b, unknown=unknown)
    return Outcome.DIFFERENT if not ordered and found == Outcome.HIGHER else found


class TestDefinitions:
    def test_numbers_are_those_of_stored_states(self):
        assert {o.name: int(o) for o in Outcome} == {"EQUAL": 0, "LOWER": 1, "HIGHER": 2, "UNKNOWN": 3}
        assert {op.name: int(op) for op in Op} == {"LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6}
        assert ANY == 7

    def test_plain_integers_are_the_codes(self):
        for name, member in Outcome.__members__.items():
            assert getattr(outcomes, f"{name}_CODE") == member
        assert (len(Outcome),) * 3 == (outcomes.CODES, 1 << outcomes.CODE_BITS, outcomes.CODE_MASK + 1)
        assert sum(int(Outcome.LOWER) << outcomes.CODE_BITS * slot for slot in range(SLOTS)) == outcomes.LOWER_WORD

    @pytest.mark.parametrize("encoding", FULL)
    def test_round_trip(self, encoding):
        assert [encoding.decode(encoding.encode(o)) for o in Outcome] == list(Outcome)

    @pytest.mark.parametrize("encoding", UNORDERED)
    def test_round_trip_without_an_order(self, encoding):
        possible = [Outcome.EQUAL, Outcome.DIFFERENT, Outcome.UNKNOWN]
        assert [encoding.decode(encoding.encode(o)) for o in possible] == possible
        assert encoding.encode(Outcome.HIGHER) == encoding.encode(Outcome.DIFFERENT)

    @pytest.mark.parametrize("unknown", [True, False])
    @pytest.mark.parametrize(("a", "b"), PAIRS)
    def test_compare(self, a, b, unknown):
        found = compare(a, b, unknown=unknown)
        oracle = naive.outcome(a, b, "unknown" if unknown else "equal")
        assert ACCEPT.encode(found) == (0 if oracle is None else oracle)
        assert found.exchanged == compare(b, a, unknown=unknown)
        for op in Op:
            assert found.accepted_by(op) == (oracle is not None and bool(op & oracle))
            assert found.accepted_by(op) == found.exchanged.accepted_by(op.swapped)
            if (a, b) in KNOWN_PAIRS:
                assert found.accepted_by(op) == SIGNS[op](a, b)

    def test_exchanged_masks(self):
        for mask in range(ANY + 1):
            assert exchanged_mask(exchanged_mask(mask)) == mask
            assert all(o.accepted_by(mask) == o.exchanged.accepted_by(exchanged_mask(mask)) for o in Outcome)

    def test_row_encoding_gives_the_outcome_again(self):
        for o in Outcome:
            number = None if ROW.encode(o) == -1 else ROW.encode(o)
            assert compare(number, ROW.encode(Outcome.EQUAL)) == o

    def test_unknown_covers_every_code(self):
        assert all(o | Outcome.UNKNOWN == Outcome.UNKNOWN for o in Outcome)


def relation_of(pairs):
    """A row for each left value, then a row for each right value."""
    left, right = zip(*pairs, strict=True)
    return encode(open_source(pa.table({"a": pa.array([*left, *right], pa.int64())})))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("nulls", ["unknown", "equal"])
class TestKernels:
    def slots(self, nulls, ordered):
        return Slots(relation_of(PAIRS), (Slot(Column("s", "a"), Column("t", "a"), ordered),), nulls)

    def test_signatures(self, nulls, ordered):
        slots = self.slots(nulls, ordered)
        n = len(PAIRS)
        signatures = evidence_of_pairs(slots, np.arange(n), np.arange(n) + n)
        assert slots.outcomes(signatures)[:, 0].tolist() == [
            expected(a, b, ordered=ordered, unknown=slots.unknown) for a, b in PAIRS
        ]
        reverse = [expected(b, a, ordered=ordered, unknown=slots.unknown) for a, b in PAIRS]
        assert slots.outcomes(slots.reverse(signatures))[:, 0].tolist() == reverse

    @pytest.mark.parametrize("straight", [True, False])
    def test_signatures_of_a_batch(self, nulls, ordered, straight):
        slots = self.slots(nulls, ordered)
        n, zero = len(PAIRS), np.zeros(1, np.int64)
        higher = np.array([expected(2, 1, ordered=ordered)], np.uint64)
        how = upkeep.Comparing(
            zero, zero, higher, zero.astype(np.uint64), np.array([straight]), np.array([slots.unknown])
        )
        out = np.empty((n, 1), np.uint64)
        upkeep._signatures(slots.columns[0].reshape(-1, 1).copy(), how, np.arange(n), np.arange(n) + n, n, out)
        assert out[:, 0].tolist() == [expected(a, b, ordered=ordered, unknown=slots.unknown) for a, b in PAIRS]

    def test_keys(self, nulls, ordered):
        slots = self.slots(nulls, ordered)
        n = len(PAIRS)
        packed = Packed.of(slots, np.arange(2 * n))
        encoding = KEY if ordered else KEY_UNORDERED
        for i, (a, b) in enumerate(PAIRS):
            table = np.zeros((16, packed.words + 1), np.uint64)
            rows = np.array([i], np.int32), np.array([i + n], np.int32)
            _, _, keys, _ = sample.count_pairs(packed.matrix, packed.right, packed.masks, *rows, table, 0)
            bits = int(keys[0, 0]) >> int(packed.guard[0]) - 1 & 0b111
            outcome = expected(a, b, ordered=ordered, unknown=slots.unknown)
            assert (bits, encoding.decode(bits)) == (encoding.encode(outcome), outcome)
            assert packed.signatures(keys).tolist() == [[outcome]]

    def test_outcomes_within_a_row(self, nulls, ordered):
        table = pa.table(
            {"a": pa.array([a for a, _ in PAIRS], pa.int64()), "b": pa.array([b for _, b in PAIRS], pa.int64())}
        )
        operands = [(Column("s", "a"), Column("s", "b")), (Column("t", "a"), Column("t", "b"))]
        operands += [(Column(row, "a"), Constant(2)) for row in "st"]
        slots = Slots(encode(open_source(table)), tuple(Slot(x, y, ordered) for x, y in operands), nulls)
        rows = np.arange(len(PAIRS))
        found = slots.outcomes(evidence_of_pairs(slots, rows, rows[::-1].copy()))
        for i, line in enumerate(found.tolist()):
            wanted = []
            for get in (lambda a, b: b, lambda a, b: 2):
                for a, b in (PAIRS[i], PAIRS[len(PAIRS) - 1 - i]):
                    wanted.append(expected(a, get(a, b), ordered=ordered, unknown=slots.unknown))
            assert line == wanted
        numbers = slots.columns[slots.left[0]].tolist()
        assert numbers == [ROW.encode(compare(a, b, unknown=slots.unknown)) for a, b in PAIRS]


@pytest.mark.parametrize("unknown", [True, False])
def test_difference_bits(unknown):
    codes = {None: -1, 1: 0, 2: 1, 3: 2}
    x, y = (np.array([codes[pair[side]] for pair in PAIRS], np.int32) for side in (0, 1))
    words = [np.zeros(len(PAIRS), np.uint64) for _ in range(3)]
    differences._compare(x, y, unknown, np.uint64(0), *words)
    bits = [
        int(d) * outcomes.DIFFERS | int(k) * outcomes.KNOWN | int(b) * outcomes.BELOW
        for d, k, b in zip(*words, strict=True)
    ]
    assert bits == [DIFFERENCE.encode(compare(a, b, unknown=unknown)) for a, b in PAIRS]
    assert [DIFFERENCE.decode(number) for number in bits] == [compare(a, b, unknown=unknown) for a, b in PAIRS]


@pytest.mark.parametrize("mask", range(1, ANY + 1))
def test_masks_in_kernels(mask):
    rows, starts = np.array([0], np.int32), np.array([0, 1], np.int32)
    for a, b in KNOWN_PAIRS:
        wanted = compare(a, b).accepted_by(mask)
        left, right = np.array([[a]], np.int32), np.array([[b]], np.int32)
        given = rows, starts, rows + np.int32(1), starts, left, right, np.array([mask], np.int64)
        assert witness.scan(*given, 1, np.empty((1, 2), np.int32)) == wanted
        assert witness.count_scanned(*given, np.zeros(0, np.uint32)) == wanted
    for a, b in PAIRS:  # a rule that does not compare a column accepts unknown, too
        cells = np.array([[-1 if a is None else a], [-1 if b is None else b]], np.int32)
        place = np.zeros(1, np.int64)
        found = links._breaks(cells, 0, 1, place, place, np.array([[mask]], np.uint8), True)
        assert found == (mask == ANY or compare(a, b).accepted_by(mask))


NAMES = re.compile(r"_*(ANY|EQUAL|LESS|LOWER|BELOW|GREATER|HIGHER|ABOVE|DIFFERENT|UNKNOWN)(_(CODE|BIT|MASK|DIGIT))?")


def defined(text):
    """Names of outcomes that a module assigns, or imports from elsewhere than the module of outcomes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module != outcomes.__name__:
            yield from ((alias.asname or alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname, node.lineno) for alias in node.names if alias.asname)


def own_outcomes(text):
    return [f"line {line}: {name}" for name, line in defined(text) if NAMES.fullmatch(name)]


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_other_module_defines_outcomes(path):
    if path == Path(outcomes.__file__):
        return
    assert own_outcomes(path.read_text()) == [], "import outcomes from rowlaw.rules.outcomes"


def test_definitions_are_found_where_there_are_some():
    assert own_outcomes("EQUAL = 2") == ["line 1: EQUAL"]
    assert own_outcomes("LESS, _GREATER = 1, 2") == ["line 1: LESS", "line 1: _GREATER"]
    assert own_outcomes("class A:\n    UNKNOWN: int = 3") == ["line 2: UNKNOWN"]
    assert own_outcomes("from rowlaw.maintain.prover import EQUAL") == ["line 1: EQUAL"]
    assert own_outcomes("from rowlaw.rules.outcomes import EQUAL_CODE as EQUAL") == ["line 1: EQUAL"]
    assert own_outcomes("from rowlaw.rules.outcomes import EQUAL_CODE\nx = EQUAL_CODE\nequal = 0") == []
