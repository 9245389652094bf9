"""One branch of the search: the arrays of its kernels, which cannot lengthen them themselves, and its parts for several
threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TypeVar

import numpy as np

from rowlaw.search import lists
from rowlaw.search.bitsets import bits_of, smallest, words_of
from rowlaw.search.hypergraph import Branch, Found, Hypergraph, Limit
from rowlaw.search.state import (
    ATOMS,
    CHOICE,
    COUNTERS,
    DIGITS,
    DONE,
    FRAME,
    GROW_BITMAPS,
    GROW_EDGES,
    GROW_FOUND,
    LEVEL,
    PATTERNS,
    SEGMENT,
    BranchState,
)

SLICE = 1 << 24  # words of work between two looks at the clock: some 10 ms
PARTS = 16  # parts of the work for each thread
SHORT_WORDS = 64  # bitmaps this short are always used
_QUARTER_WORDS = 4  # quarters of a word for each listed edge: longer bitmaps cost more than they save
KEPT_SETS = 1 << 16  # of a search that gave up, the smallest: more are not listed

T = TypeVar("T")
R = TypeVar("R")


class Run:
    """A branch being searched."""

    def __init__(self, state: BranchState, branch: Branch) -> None:
        self.state = state
        self.branch = branch
        self.done = False

    @staticmethod
    def start(graph: Hypergraph, branch: Branch) -> Run | None:
        """Load a branch; ``None`` if what is chosen is forbidden."""
        chosen, candidates = bits_of(branch.chosen), bits_of(branch.candidates)
        vertices = [v for v in range(graph.vertices) if candidates >> v & 1]
        position = {v: i for i, v in enumerate(vertices)}
        forbidden = []
        for line in graph.forbidden:
            missing = bits_of(line) & ~chosen
            if not missing:
                return None
            if not missing & ~candidates:
                forbidden.append(sum(1 << i for v, i in position.items() if missing >> v & 1))
        exchange = _symmetry(graph, chosen, position)
        state = _new_state(
            len(graph.edges), len(vertices), chosen.bit_count(), np.array(forbidden, np.uint64), exchange
        )
        lists.load(graph.edges, branch.chosen, branch.candidates, state)
        return Run(state, branch)

    @property
    def in_boxes(self) -> bool:
        """Whether the whole branch is searched in boxes."""
        return int(self.state.counters[0].depth) < 0

    @property
    def count(self) -> int:
        """How many sets are found so far."""
        return int(self.state.counters[0].found)

    def advance(self, work: int) -> None:
        """Continue for some words of work."""
        while self._step(work):
            pass

    def _step(self, work: int) -> bool:
        """Continue for some words of work, or until an array is too short; whether it was."""
        state = self.state
        status = lists.advance(state, work)
        needed = int(state.counters[0].needed)
        if status == GROW_EDGES:
            self.state = state._replace(edges=_longer(state.edges, needed))
        elif status == GROW_BITMAPS:
            self.state = state._replace(
                bitmaps=_longer(state.bitmaps, 2 * needed), undecided=_longer(state.undecided, needed)
            )
        elif status == GROW_FOUND:
            self.state = state._replace(found=_longer(state.found))
        else:
            self.done = status == DONE
            return False
        return True

    def finish(self, limit: Limit) -> bool:
        """Continue to the end, or until it is time to stop; whether the end was reached."""
        while not self.done:
            if limit():
                return False
            before = self.count
            self._step(SLICE)
            limit.found(self.count - before)
        return True

    def found(self, complete: bool) -> Found:
        """Give the sets found so far as sets of all vertices."""
        local = self.state.found[: self.count]
        if not complete and len(local) > KEPT_SETS:  # before they are renamed, which takes as long as finding them
            local = smallest(local[:, None], KEPT_SETS)[:, 0]
        sets = np.empty((len(local), len(self.branch.chosen)), np.uint64)
        lists.rename(local, self.branch.chosen, self.branch.candidates, sets)
        return Found(sets, complete, int(self.state.counters[0].nodes))

    def in_parts(self, opened: int, limit: Limit, threads: int) -> Found:
        """Search the boxes again from the start in threads, a part for each choice of the first columns.

        ``opened`` is how many sets had been found when the search was opened: those stay.
        """
        self.state.counters[0].found = opened
        levels = self.state.levels[: self.state.counters[0].levels]
        sizes: list[range] = []
        parts = 1
        while parts < PARTS * threads and len(sizes) < len(levels):
            sizes.append(range(int(levels[len(sizes)].choices)))
            parts *= len(sizes[-1])
        todo = iter(list(product(*sizes)))

        def work(run: Run) -> bool:
            # the iterator is shared: each thread takes the next part
            return all(run._part(path, limit) for path in todo)

        runs = [self, *(self._copy() for _ in range(threads - 1))]
        complete = all(in_threads(work, runs, limit, threads))
        return together([run.found(complete) for run in runs])

    def _copy(self) -> Run:
        copy = Run(BranchState._make(array.copy() for array in self.state), self.branch)
        copy.state.counters[0].found = 0
        return copy

    def _part(self, path: tuple[int, ...], limit: Limit) -> bool:
        levels = self.state.levels
        for level, choice in enumerate(path):
            levels[level].only_choice = choice
            # what is found before the path ends belongs to the path that chooses nothing more (choice 0)
            levels[level].is_silent = any(path[level + 1 :])
        levels[0].next_choice, self.state.counters[0].level = 0, 0
        self.done = False
        return self.finish(limit)

    def children(self) -> Iterator[Branch]:
        """Give the branches that a search just opened would go through: by choices of the first column, or by vertices
        of an edge."""
        state, branch = self.state, self.branch
        chosen, words = bits_of(branch.chosen), len(branch.chosen)
        vertices = [v for v in range(64 * words) if bits_of(branch.candidates) >> v & 1]

        def named(local: int) -> int:
            return sum(1 << v for i, v in enumerate(vertices) if local >> i & 1)

        def make(local: int, candidates: int) -> Branch:
            return Branch(*words_of([chosen | named(local), named(candidates)], words))

        if self.in_boxes:
            columns = range(1, int(state.counters[0].columns))
            free = sum(1 << int(v) for c in columns for v in state.column_vertices[c, : state.column_sizes[c]])
            for choice in state.choices[0, : state.levels[0].choices]:
                if not (state.levels[0].is_symmetric and choice.is_skipped):
                    yield make(int(choice.chosen), free)
            return
        untried, free = int(state.frames[0].untried), int(state.frames[0].others)
        for v in state.order.tolist():
            if untried >> v & 1:
                yield make(1 << v, free)
                free |= 1 << v


def _new_state(edges: int, vertices: int, chosen: int, forbidden: np.ndarray, exchange: np.ndarray) -> BranchState:
    columns, bitmaps = vertices + 1, vertices + chosen + 2
    counters = np.zeros(1, COUNTERS)
    counters[0].short_words, counters[0].quarter_words = SHORT_WORDS, _QUARTER_WORDS
    return BranchState(
        counters=counters,
        edges=np.empty(edges + 64, np.uint64),
        frames=np.empty(vertices + 2, FRAME),
        segments=np.empty((vertices + 2) * (bitmaps + 1), SEGMENT),
        order=np.arange(vertices),
        forbidden=forbidden,
        exchange=exchange,
        column_vertices=np.empty((columns, ATOMS), np.int64),
        column_sizes=np.empty(columns, np.int64),
        levels=np.empty(columns, LEVEL),
        choices=np.empty((columns, PATTERNS), CHOICE),
        digits=np.empty((columns, PATTERNS), np.int64),
        bitmap_starts=np.empty((columns, bitmaps), np.int64),
        unions=np.empty((columns, bitmaps, 1 << DIGITS), np.uint64),
        inner_sets=np.empty(64, np.uint64),
        bitmaps=np.empty(256, np.uint64),
        undecided=np.empty(256, np.uint64),
        found=np.empty(256, np.uint64),
    )


def _longer(array: np.ndarray, needed: int = 0) -> np.ndarray:
    longer = np.empty(max(2 * len(array), needed), array.dtype)
    longer[: len(array)] = array
    return longer


def _symmetry(graph: Hypergraph, chosen: int, position: dict[int, int]) -> np.ndarray:
    """Give ``exchange`` for the candidates, by their positions, or nothing if it does not map the branch to itself."""
    if graph.exchange is None:
        return np.empty(0, np.int64)
    image = graph.exchange.tolist()
    closed = all(image[v] in position for v in position) and all(
        chosen >> image[v] & 1 for v in range(graph.vertices) if chosen >> v & 1
    )
    return np.array([position[image[v]] for v in position], np.int64) if closed else np.empty(0, np.int64)


def in_threads(work: Callable[[T], R], items: list[T], limit: Limit, threads: int) -> list[R]:
    """Give ``[work(item) for item in items]``, computed in threads; an exception here, such as Ctrl-C, stops all."""
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            limit.halt()
            raise


def together(results: list[Found]) -> Found:
    """Put the results of different branches together."""
    return Found(
        np.concatenate([result.sets for result in results]),
        all(result.complete for result in results),
        sum(result.nodes for result in results),
    )
