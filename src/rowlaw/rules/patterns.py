r"""Patterns of ``matches``: a subset of regular expressions that no pattern and no text can make slow.

>>> matcher(r"\d{5}(-\d{4})?").matches("10115-0001"), matcher(r"\d{5}").matches("10115 ")
(True, False)
>>> matcher("(a|a)*(a*)*b").matches("a" * 10_000)
False

A pattern describes a whole text. It may have characters, ``.`` (any but a newline), classes ``[a-z]`` and ``[^a-z]``,
``\d \w \s`` and their opposites (ASCII only), groups, ``|`` and the quantifiers ``* + ? {n} {n,} {n,m}``. References,
lookarounds and word boundaries are errors: they are what makes other engines slow, or mean different things in them.

Method: the positions of the pattern are the states of an automaton without empty moves (Glushkov); sets of positions
are bits of an integer, and sets that were seen are kept. Each character of a text costs at most one step of
``MAX_POSITIONS / 8`` lookups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_
from typing import NoReturn, TypeAlias

MAX_LENGTH = 1000  # characters of a pattern
MAX_POSITIONS = 500  # characters and classes of a pattern after {n} is written out
_MAX_DEPTH = 50  # groups within groups
MAX_KEPT = 20_000  # transitions that a matcher keeps
_LAST = 0x10FFFF  # the last code point

Ranges: TypeAlias = tuple[tuple[int, int], ...]  # code points, from and to, in order and apart


def _chars(*pieces: str) -> Ranges:
    return _union([(ord(piece[0]), ord(piece[-1])) for piece in pieces])


def _union(ranges: list[tuple[int, int]]) -> Ranges:
    united: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if united and low <= united[-1][1] + 1:
            united[-1] = united[-1][0], max(united[-1][1], high)
        else:
            united.append((low, high))
    return tuple(united)


def _opposite(ranges: Ranges) -> Ranges:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), _LAST]
    return tuple((a, b) for a, b in zip(starts, ends, strict=True) if a <= b)


# \t to \r: tab, newline, \v, \f, \r
_DIGIT, _WORD, _SPACE = _chars("09"), _chars("az", "AZ", "09", "_"), _chars(" ", "\t\r")
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "D": _opposite(_DIGIT), "W": _opposite(_WORD), "S": _opposite(_SPACE)}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_NO_NEWLINE = _opposite(_chars("\n"))
_SIGNS = frozenset(r"\.^$|?*+()[]{}-/&~#'\"`@!%=:;,<> _")  # that may stand after a backslash for themselves


class PatternError(ValueError):
    """What is wrong with a pattern, and where: character offsets ``start`` and ``end``."""

    def __init__(self, problem: str, start: int, end: int) -> None:
        super().__init__(problem)
        self.problem, self.start, self.end = problem, start, end


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern: a class of characters, or parts one after another (``all``), as alternatives (``any``) or
    repeated."""

    kind: str  # "class", "all", "any", "repeat"
    parts: tuple[Node, ...] = ()
    ranges: Ranges = ()
    least: int = 1
    most: int | None = 1  # None: no limit

    @property
    def positions(self) -> int:
        """How many positions the automaton has for it."""
        if self.kind == "class":
            return 1
        inner = sum(part.positions for part in self.parts)
        return inner * max(1, self.least, self.most or 0) if self.kind == "repeat" else inner


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.end = text, 0, len(text)
        if len(text) > MAX_LENGTH:
            self.fail(f"the pattern has {len(text):,} characters; the limit is {MAX_LENGTH:,}", 0, len(text))
        # a match is always of the whole text, so these two say nothing
        if text.startswith("^"):
            self.at = 1
        backslashes = len(text[:-1]) - len(text[:-1].rstrip("\\"))
        if text.endswith("$") and backslashes % 2 == 0 and self.end > self.at:
            self.end -= 1

    def fail(self, problem: str, start: int, end: int | None = None) -> NoReturn:
        raise PatternError(problem, start, start + 1 if end is None else end)

    def whole(self) -> Node:
        pattern = self.alternatives(0)
        if self.at < self.end:
            self.fail("this ')' closes no group; write \\) for the character itself", self.at)
        if pattern.positions > MAX_POSITIONS:
            self.fail(
                f"written out, the pattern has {pattern.positions:,} characters; the limit is {MAX_POSITIONS}",
                0,
                len(self.text),
            )
        return pattern

    @property
    def peek(self) -> str:
        return self.text[self.at] if self.at < self.end else ""

    def alternatives(self, depth: int) -> Node:
        parts = [self.sequence(depth)]
        while self.peek == "|":
            self.at += 1
            parts.append(self.sequence(depth))
        return parts[0] if len(parts) == 1 else Node("any", tuple(parts))

    def sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.peek not in ("", "|", ")"):
            parts.append(self.repeated(self.atom(depth)))
        return Node("all", tuple(parts))

    def atom(self, depth: int) -> Node:
        start, c = self.at, self.peek
        self.at += 1
        if c == "(":
            return self.group(start, depth)
        if c == "[":
            return Node("class", ranges=self.brackets(start))
        if c == "\\":
            return Node("class", ranges=self.escape(start))
        if c == ".":
            return Node("class", ranges=_NO_NEWLINE)
        if c in "*+?{":
            self.fail(f"nothing stands before {c!r}; write \\{c} for the character itself", start)
        if c in "^$":
            self.fail(
                f"{c!r} is not needed: a pattern describes the whole text; write \\{c} for the character itself", start
            )
        return Node("class", ranges=_chars(c))

    def group(self, start: int, depth: int) -> Node:
        if depth >= _MAX_DEPTH:
            self.fail(f"groups are nested more than {_MAX_DEPTH} deep", start)
        if self.peek == "?":
            if self.text[self.at : self.at + 2] != "?:":
                problem = "groups that look ahead, look back, have a name or set flags are not supported; write (...)"
                self.fail(problem, start, min(self.at + 2, self.end))
            self.at += 2
        inner = self.alternatives(depth + 1)
        if self.peek != ")":
            self.fail("the group that begins here is never closed", start)
        self.at += 1
        return inner

    def escape(self, start: int) -> Ranges:
        if self.at >= self.end:
            self.fail("a backslash at the end stands for nothing; write \\\\ for the character itself", start)
        c = self.peek
        self.at += 1
        if c in _CLASSES:
            return _CLASSES[c]
        if c in _CONTROLS:
            return _chars(_CONTROLS[c])
        if c in _SIGNS or ord(c) > 127:
            return _chars(c)
        problem = f"'\\{c}' is not supported"
        if c.isdigit() or c == "k":
            problem += "; a pattern cannot refer to its own groups"
        elif c in "bB":
            problem += "; a pattern describes the whole text, so write what stands before and after"
        elif c in "pPuxN":
            problem += "; write the characters themselves, or a range such as [à-ü]"
        elif c in "AzZ":
            problem += ": a pattern describes the whole text"
        return self.fail(problem, start, self.at)

    def brackets(self, start: int) -> Ranges:
        negated = self.peek == "^"
        self.at += negated
        spans: list[tuple[int, int]] = []
        first = True
        while first or self.peek != "]":
            if self.at >= self.end:
                self.fail("the class that begins here is never closed with ']'", start)
            if self.text.startswith(("[:", "[=", "[."), self.at) or self.text.startswith("&&", self.at):
                self.fail(
                    f"{self.text[self.at : self.at + 2]!r} is not supported in a class; write \\{self.peek}",
                    self.at,
                    self.at + 2,
                )
            spans += self.span()
            first = False
        self.at += 1
        ranges = _union(spans)
        return _opposite(ranges) if negated else ranges

    def span(self) -> Ranges:
        start = self.at
        low = self.member()
        if self.peek == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "") and self.at + 1 < self.end:
            self.at += 1
            high = self.member()
            if len(low) > 1 or len(high) > 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
                self.fail(
                    "a range needs a character on both sides of '-'; write \\- for the character itself", start, self.at
                )
            if low[0][0] > high[0][0]:
                self.fail("the range runs backwards; write the smaller character first", start, self.at)
            return ((low[0][0], high[0][0]),)
        return low

    def member(self) -> Ranges:
        c, start = self.peek, self.at
        self.at += 1
        return self.escape(start) if c == "\\" else _chars(c)

    def repeated(self, node: Node) -> Node:
        start, c = self.at, self.peek
        if not c or c not in "*+?{":
            return node
        self.at += 1
        if c == "{":
            least, most = self.bounds(start)
        else:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[c]
        if self.peek and self.peek in "*+?{":
            lazy = "; whether it is lazy makes no difference" if self.peek == "?" else ""
            self.fail(f"a quantifier after a quantifier is not supported{lazy}", self.at)
        repeated = Node("repeat", (node,), least=least, most=most)
        if repeated.positions > MAX_POSITIONS:
            self.fail(f"this writes {repeated.positions:,} characters; the limit is {MAX_POSITIONS}", start, self.at)
        return repeated

    def bounds(self, start: int) -> tuple[int, int | None]:
        close = self.text.find("}", self.at, self.end)
        inside = self.text[self.at : close] if close >= 0 else ""
        low, comma, high = inside.partition(",")
        good = (
            low.isascii()
            and low.isdigit()
            and len(low) < 6
            and (not high or (high.isascii() and high.isdigit() and len(high) < 6))
        )
        if not good:
            self.fail(
                "expected {n}, {n,} or {n,m}; write \\{ for the character itself",
                start,
                close + 1 if close >= 0 else start + 1,
            )
        self.at = close + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if most is not None and most < least:
            self.fail("the numbers run backwards; write the smaller one first", start, self.at)
        return least, most


@dataclass(frozen=True, slots=True)
class _Ends:
    """A part of the automaton: whether it accepts nothing, and the positions where it can begin and end, as bits."""

    empty: bool
    first: int
    last: int


@dataclass
class Matcher:
    """The automaton of a pattern."""

    root: Node
    ranges: list[Ranges] = field(default_factory=list)  # of each position
    follow: list[int] = field(default_factory=list)  # of each position: the positions that may come next, as bits

    def __post_init__(self) -> None:
        ends = self._build(self.root)
        self._empty, self._first, self._last = ends.empty, ends.first, ends.last
        self._by_ranges: dict[Ranges, int] = {}
        for i, ranges in enumerate(self.ranges):
            self._by_ranges[ranges] = self._by_ranges.get(ranges, 0) | 1 << i
        self._accepting: dict[str, int] = {}
        self._unions: dict[tuple[int, int], int] = {}
        self._next: dict[int, dict[str, int]] = {}
        self._reach: dict[int, int] = {}
        self.kept = 0  # transitions
        self.steps = 0  # that were computed, not looked up

    def matches(self, text: str) -> bool:
        """Whether the pattern describes the whole text. Linear in the text."""
        state, start = 0, True
        for c in text:
            known = self._next.get(-1 if start else state)
            after = known.get(c) if known is not None else None
            if after is None:
                after = self._step(-1 if start else state, c)
            if not after:
                return False
            state, start = after, False
        return self._empty if start else bool(state & self._last)

    def _step(self, state: int, c: str) -> int:
        if self.kept >= MAX_KEPT:
            self.kept = 0
            for kept in (self._next, self._reach, self._accepting, self._unions):
                kept.clear()
        reach = self._first if state < 0 else self._reach.get(state)
        if reach is None:
            reach = self._reach[state] = self._following(state)
        accepting = self._accepting.get(c)
        if accepting is None:
            code = ord(c)
            accepting = 0
            for ranges, positions in self._by_ranges.items():
                if any(low <= code <= high for low, high in ranges):
                    accepting |= positions
            self._accepting[c] = accepting
        after = reach & accepting
        self._next.setdefault(state, {})[c] = after
        self.kept += 1
        self.steps += 1
        return after

    def _following(self, state: int) -> int:
        """The positions after those of a set, eight of them at a time."""
        following = 0
        for group, byte in enumerate(state.to_bytes((state.bit_length() + 7) // 8, "little")):
            if byte:
                union = self._unions.get((group, byte))
                if union is None:
                    union = 0
                    for i in range(8):
                        if byte >> i & 1:
                            union |= self.follow[8 * group + i]
                    self._unions[group, byte] = union
                following |= union
        return following

    def _build(self, node: Node) -> _Ends:
        match node.kind:
            case "class":
                self.ranges.append(node.ranges)
                self.follow.append(0)
                bit = 1 << (len(self.ranges) - 1)
                return _Ends(False, bit, bit)
            case "any":
                parts = [self._build(part) for part in node.parts]
                return _Ends(any(p.empty for p in parts), _or(p.first for p in parts), _or(p.last for p in parts))
            case "all":
                return self._joined([self._build(part) for part in node.parts])
        (inner,) = node.parts
        # {2,4} is written out as XX(X(X)?)?, {2,} as XX+, * as X+ that may be empty
        copies = max(1, node.least, node.most or 0) if node.most != 0 else 0
        built = [self._build(inner) for _ in range(copies)]
        if node.most is None and built:
            self._link(built[-1].last, built[-1].first)
        return self._joined([_Ends(e.empty or i >= node.least, e.first, e.last) for i, e in enumerate(built)])

    def _joined(self, parts: list[_Ends]) -> _Ends:
        # from the end, so that each part is linked once, however many parts after it may be left out
        first, last, empty = 0, 0, True
        for part in reversed(parts):
            self._link(part.last, first)
            first = part.first | (first if part.empty else 0)
            last |= part.last if empty else 0
            empty = empty and part.empty
        return _Ends(empty, first, last)

    def _link(self, from_bits: int, to_bits: int) -> None:
        while from_bits:
            low = from_bits & -from_bits
            self.follow[low.bit_length() - 1] |= to_bits
            from_bits ^= low


def _or(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def parse_pattern(text: str) -> Node:
    """The parts of a pattern, or a :class:`PatternError`."""
    return _Parser(text).whole()


@lru_cache(maxsize=256)
def matcher(text: str) -> Matcher:
    """The automaton of a pattern; made once."""
    return Matcher(parse_pattern(text))


def portable(text: str) -> str:
    r"""The pattern in the words that other engines (Java, RE2, Python) understand alike; they have to be told to match
    the whole text.

    >>> portable(r"\d{5}|n/a")
    '[0-9]{5}|n/a'
    """
    return _written(parse_pattern(text))


def _written(node: Node) -> str:
    if node.kind == "class":
        return _class(node.ranges)
    if node.kind == "any":
        return "|".join(map(_written, node.parts))
    if node.kind == "all":
        return "".join(f"(?:{_written(p)})" if p.kind == "any" else _written(p) for p in node.parts)
    (inner,) = node.parts
    body = _written(inner) if inner.kind == "class" else f"(?:{_written(inner)})"
    if (node.least, node.most) in ((0, None), (1, None), (0, 1)):
        return body + {(0, None): "*", (1, None): "+", (0, 1): "?"}[node.least, node.most]
    if node.most == node.least:
        return f"{body}{{{node.least}}}"
    return f"{body}{{{node.least},{'' if node.most is None else node.most}}}"


def _class(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0])
    other = _opposite(ranges)
    if not other:
        return r"[\x{0}-\x{10FFFF}]"
    sign, shown = ("^", other) if len(other) <= len(ranges) and ranges[-1][1] == _LAST else ("", ranges)
    return f"[{sign}{''.join(_character(a) if a == b else f'{_character(a)}-{_character(b)}' for a, b in shown)}]"


def _character(code: int) -> str:
    c = chr(code)
    if c in r"\.^$|?*+()[]{}-&~":
        return "\\" + c
    return c if c.isprintable() and not 0xD800 <= code < 0xE000 else f"\\x{{{code:X}}}"
