"""All minimal hitting sets of a hypergraph, in threads, until done or told to stop; and how they change with new edges.

>>> from rowlaw.search.bitsets import pack, unpack
>>> graph = Hypergraph(pack([[0, 1], [1, 2]], 3), 3)
>>> found = minimal_hitting_sets(graph)
>>> sorted(unpack(found.sets)), found.complete
([[0, 2], [1]], True)
>>> sorted(unpack(refine(Hypergraph(pack([[0, 1], [1, 2], [0, 2]], 3), 3), found.sets, known=2).sets))
[[0, 1], [0, 2], [1, 2]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import TypeVar

import numpy as np

from rowlaw.search import edges as edge_kernels
from rowlaw.search import extend, lists, state
from rowlaw.search.bitsets import bits_of, distinct, members, mirrored, one_of_each, smallest, without_repeats, words_of
from rowlaw.search.hypergraph import Branch, Found, Hypergraph, Limit, Stop, never
from rowlaw.search.state import Task

SLICE = 1 << 24  # words of work between two looks at the clock: some 10 ms
ALONE = 1 << 22  # words of work that one thread does before others are called: some 3 ms
PARTS = 16  # parts of the work for each thread
FEW_WORDS = 64  # bitmaps this short are always worth it
QUARTERS = 4  # quarters of a word for each listed edge: longer bitmaps are not worth it
REFINED_PARTS = 4  # of the sets that are broken, for each thread
RESTART = 1 << 16  # sets broken by new edges, and made on the way, beyond which refining costs more than searching anew
KEPT_SETS = 1 << 16  # of a search that gave up, the smallest: nobody lists more
COMPARISONS = 20_000_000  # of edges with each other before a search in lists: some 20 ms

T = TypeVar("T")
R = TypeVar("R")


def minimal_hitting_sets(graph: Hypergraph, stop: Stop = never, threads: int = 1) -> Found:
    """All minimal hitting sets, each once, in no particular order. ``stop`` is asked now and then.

    Time is that of the search tree (see :mod:`rowlaw.search.lists`), space that of the edges and the result. A search that is stopped,
    or finds too much, is not complete, and the smallest sets found are kept.
    """
    limit = Limit(stop)
    if graph.vertices <= 64:
        found = _search(graph, graph.whole, limit, threads)
    else:
        found = _search_wide(graph if limit() else _lean(graph), limit, threads)
    return _one_of_each(graph, _kept(found))


def _search(graph: Hypergraph, branch: Branch, limit: Limit, threads: int = 1) -> Found:
    """The sets of a branch of at most 64 candidates. Both of two sets that mirror each other may be among them."""
    if limit():
        return _nothing(graph, complete=False)
    run = _Run.start(graph, branch)
    if run is None:
        return _nothing(graph)
    run.advance(0)  # decides how to search
    if run.done:
        return run.found(complete=True)
    if not run.in_boxes and not graph.lean:
        before, graph = len(graph.edges), _lean(graph)
        if len(graph.edges) < before:
            return _search(graph, branch, limit, threads)
    opened = run.count
    if threads > 1:
        run.advance(ALONE)
        if not run.done:
            if run.in_boxes:
                return run.in_parts(opened, limit, threads)
            todo = _grown_branches(graph, branch, PARTS * threads, limit)
            return _search_all(graph, todo, limit, threads)
    return run.found(complete=run.finish(limit))


def branches(graph: Hypergraph, many: int) -> list[Branch]:
    """Cuts the search into about ``many`` branches (small, to be pickled) that have every set between them exactly once.

    For threads of one process :func:`minimal_hitting_sets` is better: it does not read the edges again for each branch.
    """
    return _grown_branches(graph, graph.whole, many)


def search_branch(graph: Hypergraph, branch: Branch, stop: Stop = never) -> Found:
    """The sets of any branch; of mirrored ones maybe both (see :func:`one_of_each`)."""
    return _kept(_search_any(graph, branch, Limit(stop)))


def _search_any(graph: Hypergraph, branch: Branch, limit: Limit) -> Found:
    if bits_of(branch.candidates).bit_count() <= 64:
        return _search(graph, branch, limit)
    return _search_wide(graph, limit, 1, branch)


def minimal_edges(edges: np.ndarray) -> np.ndarray:
    """The edges without repeats and without those that hold another one (as far as some 20 ms of comparing go)."""
    if len(edges) < 2:
        return edges
    edges = without_repeats(edges)
    sizes = np.bitwise_count(edges).sum(axis=1, dtype=np.int64)
    if sizes.min() == sizes.max():
        return edges
    order = np.argsort(sizes, kind="stable")
    edges, sizes = edges[order], sizes[order]
    return edges[: edge_kernels.drop_supersets(edges, sizes, COMPARISONS)]


def refine(graph: Hypergraph, sets: np.ndarray, known: int, stop: Stop = never, threads: int = 1) -> Found:
    """From all minimal hitting sets of the first ``known`` edges of a graph to those of all its edges.

    Costs nothing for sets that hit the new edges, and for the others what :mod:`rowlaw.search.extend` says. If they are too many,
    the search starts anew. (With ``exchange``: the new edges need not come in both directions, and the result has both of them in mind.)
    """
    new = graph.edges[known:]
    if graph.exchange is not None:
        new = np.concatenate([new, mirrored(new, graph.exchange)])
    graph = replace(graph, edges=np.concatenate([graph.edges[:known], distinct(new)]))
    limit = Limit(stop)
    missing = extend.missing(graph.edges, known, sets, RESTART, limit.flag)
    kept, broken = sets[~missing], sets[missing]
    if stop():
        return _nothing(graph, complete=False)
    if not len(broken):
        return Found(sets, complete=True, nodes=0)
    if graph.exchange is not None:
        broken = distinct(np.concatenate([broken, mirrored(broken, graph.exchange)]))
    hits = extend.bitmaps(graph.edges[: len(graph.edges) if len(broken) > graph.vertices else 0], graph.vertices)
    order, broken = _alike(broken, graph.vertices)
    most = RESTART // threads

    def work(part: np.ndarray) -> tuple[np.ndarray, int]:
        return extend.extended(hits, order, graph.edges, known, part, graph.forbidden, most, limit.flag)  # type: ignore[no-any-return]

    parts = _in_threads(work, np.array_split(broken, REFINED_PARTS * threads if threads > 1 else 1), limit, threads)
    if stop():
        return _nothing(graph, complete=False)
    nodes = [nodes for _, nodes in parts]
    if max(nodes) > most:
        return minimal_hitting_sets(graph, stop, threads)
    found = _one_of_each(graph, Found(np.concatenate([part for part, _ in parts]), complete=True, nodes=sum(nodes)))
    return replace(found, sets=without_repeats(np.concatenate([kept, found.sets])))


def _alike(sets: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertices, those of most sets first, and the sets in an order in which neighbours have the first of these in common."""
    has = members(sets, vertices)
    order = np.argsort(-np.count_nonzero(has, axis=0), kind="stable")
    return order, sets[np.lexsort(np.packbits(has[:, order], axis=1).T[::-1])] if vertices else sets


def _kept(found: Found) -> Found:
    """All sets of a search that was done, the smallest of one that was not."""
    return found if found.complete else replace(found, sets=smallest(found.sets, KEPT_SETS))


def _one_of_each(graph: Hypergraph, found: Found) -> Found:
    return found if graph.exchange is None else replace(found, sets=one_of_each(found.sets, graph.exchange))


def _nothing(graph: Hypergraph, *, complete: bool = True) -> Found:
    return Found(np.zeros((0, graph.edges.shape[1]), np.uint64), complete, nodes=0)


def _lean(graph: Hypergraph) -> Hypergraph:
    return replace(graph, edges=minimal_edges(graph.edges), lean=True)


class _Run:
    """A branch being searched: the arrays of the kernels, which they cannot lengthen themselves."""

    def __init__(self, task: Task, branch: Branch) -> None:
        self.task = task
        self.branch = branch
        self.done = False

    @staticmethod
    def start(graph: Hypergraph, branch: Branch) -> _Run | None:
        """``None`` if what is chosen is forbidden."""
        chosen, candidates = bits_of(branch.chosen), bits_of(branch.candidates)
        vertices = [v for v in range(graph.vertices) if candidates >> v & 1]
        place = {v: i for i, v in enumerate(vertices)}
        forbidden = []
        for line in graph.forbidden:
            missing = bits_of(line) & ~chosen
            if not missing:
                return None
            if not missing & ~candidates:
                forbidden.append(sum(1 << i for v, i in place.items() if missing >> v & 1))
        task = _task(len(graph.edges), len(vertices), chosen.bit_count(), np.array(forbidden, np.uint64), _symmetry(graph, chosen, place))
        lists.load(graph.edges, branch.chosen, branch.candidates, task)
        return _Run(task, branch)

    @property
    def in_boxes(self) -> bool:
        """Whether the whole branch is searched in boxes."""
        return int(self.task.numbers[state.DEPTH]) < 0

    @property
    def count(self) -> int:
        return int(self.task.numbers[state.FOUND])

    def advance(self, work: int) -> None:
        """Goes on for some words of work."""
        while self._step(work):
            pass

    def _step(self, work: int) -> bool:
        """Goes on for some words of work, or until an array is too short; whether it was."""
        status = lists.advance(self.task, work)
        need = int(self.task.numbers[state.NEED])
        if status == state.GROW_LISTS:
            self.task = self.task._replace(lists=_longer(self.task.lists, need))
        elif status == state.GROW_BOXES:
            self.task = self.task._replace(boxes=_longer(self.task.boxes, 2 * need), unless=_longer(self.task.unless, need))
        elif status == state.GROW_FOUND:
            self.task = self.task._replace(found=_longer(self.task.found))
        else:
            self.done = status == state.DONE
            return False
        return True

    def finish(self, limit: Limit) -> bool:
        """Goes on to the end, or until it is time to stop; whether the end was reached."""
        while not self.done:
            if limit():
                return False
            before = self.count
            self._step(SLICE)
            limit.found(self.count - before)
        return True

    def found(self, complete: bool, first: int = 0) -> Found:
        found = self.task.found[first : self.count]
        if not complete and len(found) > KEPT_SETS:  # before they are given their names, which takes as long as finding them
            found = smallest(found[:, None], KEPT_SETS)[:, 0]
        sets = np.empty((len(found), len(self.branch.chosen)), np.uint64)
        lists.name(found, self.branch.chosen, self.branch.candidates, sets)
        return Found(sets, complete, int(self.task.numbers[state.NODES]))

    def in_parts(self, opened: int, limit: Limit, threads: int) -> Found:
        """Searches the boxes again from the start in threads, a part for each choice of the first columns.

        ``opened`` is how many sets had been found when the search was opened: those stay.
        """
        self.task.numbers[state.FOUND] = opened
        levels = self.task.levels[: self.task.numbers[state.LEVELS]]
        sizes: list[range] = []
        parts = 1
        while parts < PARTS * threads and len(sizes) < len(levels):
            sizes.append(range(int(levels[len(sizes), state.L_CHOICES])))
            parts *= len(sizes[-1])
        todo = iter(list(product(*sizes)))

        def work(run: _Run) -> bool:
            return all(run._part(path, limit) for path in todo)  # the iterator is shared: each thread takes the next part

        runs = [self, *(self._copy() for _ in range(threads - 1))]
        complete = all(_in_threads(work, runs, limit, threads))
        return _together([run.found(complete) for run in runs])

    def _copy(self) -> _Run:
        copy = _Run(Task(*(array.copy() for array in self.task)), self.branch)
        copy.task.numbers[state.FOUND] = 0
        return copy

    def _part(self, path: tuple[int, ...], limit: Limit) -> bool:
        levels = self.task.levels
        for level, choice in enumerate(path):
            levels[level, state.L_ONLY] = choice
            # what is found before the path ends belongs to the path that chooses nothing more (choice 0)
            levels[level, state.L_SILENT] = any(path[level + 1 :])
        levels[0, state.L_CHOICE], self.task.numbers[state.LEVEL] = 0, 0
        self.done = False
        return self.finish(limit)


def _task(edges: int, vertices: int, chosen: int, forbidden: np.ndarray, exchange: np.ndarray) -> Task:
    columns, arrays = vertices + 1, vertices + chosen + 2
    numbers = np.zeros(11, np.int64)
    numbers[state.FEW], numbers[state.PER_EDGE] = FEW_WORDS, QUARTERS
    return Task(
        numbers=numbers,
        lists=np.empty(edges + 64, np.uint64),
        frames=np.empty((6, vertices + 2), np.int64),
        frame_sets=np.empty((5, vertices + 2), np.uint64),
        segments=np.empty((2, (vertices + 2) * (arrays + 1)), np.int64),
        order=np.arange(vertices),
        forbidden=forbidden,
        exchange=exchange,
        columns=np.empty((columns, 4), np.int64),
        levels=np.empty((columns, 9), np.int64),
        level_sets=np.empty((columns, 2), np.uint64),
        choices=np.empty((columns, state.PATTERNS, 7), np.int64),
        choice_sets=np.empty((columns, state.PATTERNS), np.uint64),
        digit=np.empty((columns, state.PATTERNS), np.int64),
        arrays=np.empty((columns, arrays), np.int64),
        some=np.empty((columns, arrays, 1 << state.DIGITS), np.uint64),
        inside=np.empty(64, np.uint64),
        boxes=np.empty(256, np.uint64),
        unless=np.empty(256, np.uint64),
        found=np.empty(256, np.uint64),
    )


def _longer(array: np.ndarray, need: int = 0) -> np.ndarray:
    longer = np.empty(max(2 * len(array), need), array.dtype)
    longer[: len(array)] = array
    return longer


def _symmetry(graph: Hypergraph, chosen: int, place: dict[int, int]) -> np.ndarray:
    """``exchange`` for the candidates (``place`` numbers them), or nothing if it does not map the branch to itself."""
    if graph.exchange is None:
        return np.empty(0, np.int64)
    image = graph.exchange.tolist()
    closed = all(image[v] in place for v in place) and all(chosen >> image[v] & 1 for v in range(graph.vertices) if chosen >> v & 1)
    return np.array([place[image[v]] for v in place], np.int64) if closed else np.empty(0, np.int64)


def _children(graph: Hypergraph, branch: Branch) -> list[Branch]:
    """A branch in smaller ones; itself if it is nearly nothing."""
    words = graph.edges.shape[1]
    if bits_of(branch.candidates).bit_count() > 64:
        children = np.empty((64 * words, 2, words), np.uint64)
        n = edge_kernels.split(graph.edges, branch.chosen, branch.candidates, graph.forbidden, children)
        return [Branch(branch.chosen, np.zeros(words, np.uint64))] if n < 0 else [Branch(*child) for child in children[:n]]
    run = _Run.start(graph, branch)
    if run is None:
        return []
    run.advance(0)
    if run.done:
        return [branch]
    vertices = [v for v in range(graph.vertices) if bits_of(branch.candidates) >> v & 1]
    return list(_opened_children(run.task, branch, vertices, run.in_boxes))


def _opened_children(task: Task, branch: Branch, vertices: list[int], in_boxes: bool) -> Iterator[Branch]:
    """The branches that a search just opened would go through: by choices of the first column, or by vertices of an edge."""
    chosen, words = bits_of(branch.chosen), len(branch.chosen)

    def named(local: int) -> int:
        return sum(1 << v for i, v in enumerate(vertices) if local >> i & 1)

    def make(local: int, candidates: int) -> Branch:
        return Branch(*words_of([chosen | named(local), named(candidates)], words))

    if in_boxes:
        free = sum(1 << int(v) for column in task.columns[1 : task.numbers[state.COLUMNS]] for v in column[: column[state.K_ATOMS]])
        for c in range(int(task.levels[0, state.L_CHOICES])):
            if not (task.levels[0, state.L_SAME] and task.choices[0, c, state.C_SKIP]):
                yield make(int(task.choice_sets[0, c]), free)
        return
    todo, free = int(task.frame_sets[state.F_TODO, 0]), int(task.frame_sets[state.F_REST, 0])
    for v in task.order.tolist():
        if todo >> v & 1:
            yield make(1 << v, free)
            free |= 1 << v


def _grown_branches(graph: Hypergraph, branch: Branch, many: int, stop: Stop = never) -> list[Branch]:
    """At least ``many`` branches if there are, the one with most candidates being cut first; fewer when it is time to stop."""
    small: list[Branch] = []
    large = [branch]
    while large and len(small) + len(large) < many and not stop():
        large.sort(key=lambda b: bits_of(b.candidates).bit_count())
        parent = large.pop()
        children = _children(graph, parent)
        if len(children) == 1 and bits_of(children[0].candidates) == bits_of(parent.candidates):
            small += children
        else:
            large += children
    return large[::-1] + small


def _in_threads(work: Callable[[T], R], items: list[T], limit: Limit, threads: int) -> list[R]:
    """``[work(item) for item in items]``; an exception here, such as Ctrl-C, stops all."""
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            limit.halt()
            raise


def _together(finds: list[Found]) -> Found:
    return Found(np.concatenate([f.sets for f in finds]), all(f.complete for f in finds), sum(f.nodes for f in finds))


def _search_all(graph: Hypergraph, todo: list[Branch], limit: Limit, threads: int) -> Found:
    return _together([_nothing(graph), *_in_threads(lambda branch: _search_any(graph, branch, limit), todo, limit, threads)])


def _search_wide(graph: Hypergraph, limit: Limit, threads: int, branch: Branch | None = None) -> Found:
    """Splits branches until they have 64 candidates or fewer, and searches those, many at a time."""
    stack, narrow = [branch or graph.whole], []
    finds = [_nothing(graph)]
    while stack:
        if limit():
            return replace(_together(finds), complete=False)
        top = stack.pop()
        if bits_of(top.candidates).bit_count() > 64:
            stack += _children(graph, top)
        else:
            narrow.append(top)
        if narrow and (len(narrow) >= PARTS * threads or not stack):
            finds.append(_search_all(graph, narrow, limit, threads))
            narrow = []
    return _together(finds)
