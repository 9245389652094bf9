"""Two kinds of charts as SVG text: dots in rows and lines, both on logarithmic axes. Small files, and text takes the
colour around it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.case import short

# told apart by the colour-blind
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#a0622d")
DASHES = ("", "6 3", "2 2")  # for more lines than there are colours
FONT, LETTER = 11, 5.9  # pixels: height of the text, and width of a letter, nearly
WIDTH, ROW, EDGE = 760, 17, 14  # pixels
LINES_HEIGHT = 320
AXIS_HEIGHT = 34  # of numbers and title


@dataclass(frozen=True, slots=True)
class Dot:
    """A value in a row, with its spread; ``bound`` is ``<`` or ``>`` where only a bound is known, ``bar`` what was
    wanted."""

    row: str
    series: str
    value: float
    low: float
    high: float
    bound: str | None = None
    bar: float | None = None
    note: str = ""  # shown while the pointer is on the dot


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic axis from ``low`` to ``high`` between two places."""

    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], begin: float, end: float) -> Scale:
        """From the power of ten below all values to the one above."""
        known = list(values)
        low, high = math.floor(math.log10(min(known)) + 1e-9), math.ceil(math.log10(max(known)) - 1e-9)
        return cls(low, max(high, low + 1), begin, end)

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    @property
    def ticks(self) -> list[float]:
        step = math.ceil((self.high - self.low) / 8)
        return [10.0**power for power in range(int(self.low), int(self.high) + 1, step)]


def dots(found: Sequence[Dot], title: str) -> str:
    """A row per case, a colour per series; a triangle is a bound, a red stroke is a bar."""
    rows = list(dict.fromkeys(dot.row for dot in found))
    series = list(dict.fromkeys(dot.series for dot in found))
    left = EDGE + LETTER * max(map(len, rows))
    bottom = EDGE + ROW * len(rows)
    values = [1.0, *(value for dot in found for value in (dot.low, dot.high, dot.bar or dot.value))]
    x = Scale.around(values, left + EDGE, WIDTH - EDGE)
    parts = _axis_below(x, EDGE, bottom, title)
    parts.append(_line(x(1.0), EDGE, x(1.0), bottom, 0.9))
    parts += [_text(left, EDGE + ROW * (k + 0.7), row, "end") for k, row in enumerate(rows)]
    for dot in found:
        y, colour = EDGE + ROW * (rows.index(dot.row) + 0.5), COLOURS[series.index(dot.series) % len(COLOURS)]
        if dot.bar is not None:
            parts.append(f'<path d="M{x(dot.bar)} {y - 6}v12" stroke="#c00000" stroke-width="2"/>')
        if dot.low < dot.high:
            parts.append(f'<path d="M{x(dot.low)} {y}H{x(dot.high)}" stroke="{colour}"/>')
        value = f"{dot.bound or ''} {dot.value:.3g}".strip()
        parts.append(_mark(x(dot.value), y, dot.bound, colour, f"{dot.series}: {dot.note or value}"))
    below = bottom + AXIS_HEIGHT
    legend, height = _legend([(name, k, 0) for k, name in enumerate(series)], below)
    return _whole([*parts, *legend], below + height)


def lines(found: Mapping[str, Sequence[tuple[float, float]]], x_title: str, y_title: str) -> str:
    """A line per name."""
    left, bottom = 60.0, EDGE + LINES_HEIGHT
    x = Scale.around((a for points in found.values() for a, _ in points), left, WIDTH - EDGE)
    y = Scale.around((b for points in found.values() for _, b in points), bottom, EDGE)
    parts = _axis_below(x, EDGE, bottom, x_title)
    for tick in y.ticks:
        parts += [_line(left, y(tick), WIDTH - EDGE, y(tick), 0.2), _text(left - 5, y(tick) + 4, f"{tick:g}", "end")]
    parts.append(_text(left + 5, EDGE + 10, y_title, "start"))
    names = []
    for k, (name, points) in enumerate(found.items()):
        colour, dash = COLOURS[k % len(COLOURS)], (k // len(COLOURS)) % len(DASHES)
        names.append((name, k, dash))
        path = "L".join(f"{x(a)} {y(b)}" for a, b in points)
        dashed = f' stroke-dasharray="{DASHES[dash]}"' if dash else ""
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashed}/>')
        parts += [_mark(x(a), y(b), None, colour, f"{name}, {a:,.10g}: {b:.3g}") for a, b in points]
    below = bottom + AXIS_HEIGHT
    legend, height = _legend(names, below)
    return _whole([*parts, *legend], below + height)


def _whole(parts: Iterable[str], height: float) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    )
    return (
        "\n".join((f'{head} font-family="sans-serif" font-size="{FONT}" fill="currentColor">', *parts, "</svg>")) + "\n"
    )


def _axis_below(x: Scale, top: float, bottom: float, title: str) -> list[str]:
    parts = []
    for tick in x.ticks:
        label = f"{tick:g}" if tick < 1_000 else short(int(tick))
        parts += [_line(x(tick), top, x(tick), bottom, 0.2), _text(x(tick), bottom + 13, label, "middle")]
    return [*parts, _text((x.begin + x.end) / 2, bottom + 28, title, "middle")]


def _legend(names: Sequence[tuple[str, int, int]], top: float) -> tuple[list[str], float]:
    """Names beside their colours, in as many lines as they need; and the height of it all."""
    parts, at, y = [], float(EDGE), top + 12.0
    for name, number, dash in names:
        width = 26 + LETTER * len(name) + 14
        if at > EDGE and at + width > WIDTH:
            at, y = float(EDGE), y + ROW
        dashed = f' stroke-dasharray="{DASHES[dash]}"' if dash else ""
        parts.append(
            f'<path d="M{at:g} {y - 4:g}h18" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="3"{dashed}/>'
        )
        parts.append(_text(at + 23, y, name, "start"))
        at += width
    return parts, y - top + 8


def _mark(x: float, y: float, bound: str | None, colour: str, note: str) -> str:
    title = f"<title>{escape(note)}</title>"
    if bound is None:
        return f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{colour}">{title}</circle>'
    away = -1 if bound == "<" else 1
    return f'<path d="M{x + 5 * away:g} {y:g}l{-8 * away} -4v8z" fill="{colour}">{title}</path>'


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="currentColor" stroke-width="0.8" opacity="{opacity}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
