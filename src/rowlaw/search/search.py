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

from dataclasses import replace

import numpy as np

from rowlaw.search import edges as edge_kernels
from rowlaw.search import extend
from rowlaw.search import run as runs
from rowlaw.search.bitsets import bits_of, distinct, members, mirrored, one_of_each, smallest, without_repeats
from rowlaw.search.hypergraph import Branch, Found, Hypergraph, Limit, Stop, never
from rowlaw.search.run import Run, in_threads, together

ALONE_WORDS = 1 << 22  # of work that one thread does before others are called: some 3 ms
_REFINED_PARTS = 4  # of the sets that are broken, for each thread
# Sets broken by new edges, and made on the way, up to which they are always refined; beyond, as many as can be refined
# in the time that a new search takes for the sets there are.
REFINED = 1 << 16
# CPU seconds of a search for each set that it finds: 5e-6 on uce, 1.4e-5 on adult, 7e-5 on adult across columns
# (460,000 edges, 430,000 sets), 1.4e-4 on Tax
SEARCH_SET = 1e-5
_REFINE_EDGE = 1e-10  # CPU seconds of refining a set for each edge: 47,000 sets on adult across columns in 2.2 s
_COMPARISONS = 20_000_000  # of edges with each other before a search in lists: some 20 ms


def minimal_hitting_sets(graph: Hypergraph, stop: Stop = never, threads: int = 1) -> Found:
    """Return all minimal hitting sets, each once, in no particular order. ``stop`` is asked now and then.

    Time is that of the search tree (see :mod:`rowlaw.search.lists`), space that of the edges and the result. A search
    that is stopped, or finds too much, is not complete, and the smallest sets found are kept.
    """
    limit = Limit(stop)
    if graph.vertices <= 64:
        result = _search(graph, graph.whole, limit, threads)
    else:
        result = _search_wide(graph if limit() else _lean(graph), limit, threads)
    return _one_of_each(graph, _kept(result))


def _search(graph: Hypergraph, branch: Branch, limit: Limit, threads: int = 1) -> Found:
    """Return the sets of a branch of at most 64 candidates. Both of two sets that mirror each other may be among
    them."""
    if limit():
        return _nothing(graph, complete=False)
    run = Run.start(graph, branch)
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
        run.advance(ALONE_WORDS)
        if not run.done:
            if run.in_boxes:
                return run.in_parts(opened, limit, threads)
            todo = _grown_branches(graph, branch, runs.PARTS * threads, limit)
            return _search_all(graph, todo, limit, threads)
    return run.found(complete=run.finish(limit))


def branches(graph: Hypergraph, many: int) -> list[Branch]:
    """Cut the search into about ``many`` branches (small, to be pickled) that have every set between them exactly
    once.

    For threads of one process :func:`minimal_hitting_sets` is better: it does not read the edges again for each branch.
    """
    return _grown_branches(graph, graph.whole, many)


def search_branch(graph: Hypergraph, branch: Branch, stop: Stop = never) -> Found:
    """Return the sets of any branch; of mirrored ones maybe both (see :func:`one_of_each`)."""
    return _kept(_search_any(graph, branch, Limit(stop)))


def _search_any(graph: Hypergraph, branch: Branch, limit: Limit) -> Found:
    if bits_of(branch.candidates).bit_count() <= 64:
        return _search(graph, branch, limit)
    return _search_wide(graph, limit, 1, branch)


def minimal_edges(edges: np.ndarray) -> np.ndarray:
    """Return the edges without repeats and without those that hold another one (as far as some 20 ms of comparing
    go)."""
    if len(edges) < 2:
        return edges
    edges = without_repeats(edges)
    sizes = np.bitwise_count(edges).sum(axis=1, dtype=np.int64)
    if sizes.min() == sizes.max():
        return edges
    order = np.argsort(sizes, kind="stable")
    edges, sizes = edges[order], sizes[order]
    return edges[: edge_kernels.drop_supersets(edges, sizes, _COMPARISONS)]


def refine(graph: Hypergraph, sets: np.ndarray, known: int, stop: Stop = never, threads: int = 1) -> Found:
    """Turn all minimal hitting sets of the first ``known`` edges of a graph into those of all its edges.

    Costs nothing for sets that hit the new edges, and for the others what :mod:`rowlaw.search.extend` says. If they are
    too many, the search starts anew. (With ``exchange``: the new edges need not come in both directions, and the result
    has both of them in mind.)
    """
    new = graph.edges[known:]
    if graph.exchange is not None:
        new = np.concatenate([new, mirrored(new, graph.exchange)])
    graph = replace(graph, edges=np.concatenate([graph.edges[:known], distinct(new)]))
    limit, most = Limit(stop), _refined_limit(len(graph.edges), len(sets))
    missing = extend.missing(graph.edges, known, sets, most, limit.flag)
    kept, broken = sets[~missing], sets[missing]
    if stop():
        return _nothing(graph, complete=False)
    if not len(broken):
        return Found(sets, complete=True, nodes=0)
    if graph.exchange is not None:
        broken = distinct(np.concatenate([broken, mirrored(broken, graph.exchange)]))
    if len(broken) > most:
        return minimal_hitting_sets(graph, stop, threads)
    hits = extend.bitmaps(graph.edges[: len(graph.edges) if len(broken) > graph.vertices else 0], graph.vertices)
    order, broken = _alike(broken, graph.vertices)
    refined: list[int] = []  # sets, by each part that is done

    def work(part: np.ndarray) -> np.ndarray:
        left = most - sum(refined)
        result, nodes = extend.extended(hits, order, graph.edges, known, part, graph.forbidden, left, limit.flag)
        refined.append(nodes)
        return result  # type: ignore[no-any-return]

    parts = in_threads(work, np.array_split(broken, _REFINED_PARTS * threads if threads > 1 else 1), limit, threads)
    if stop():
        return _nothing(graph, complete=False)
    if sum(refined) > most:  # some part has ended early
        return minimal_hitting_sets(graph, stop, threads)
    result = _one_of_each(graph, Found(np.concatenate(parts), complete=True, nodes=sum(refined)))
    return replace(result, sets=without_repeats(np.concatenate([kept, result.sets])))


def _refined_limit(edges: int, sets: int) -> int:
    """Return how many sets are refined before a new search, given the counts of edges and sets."""
    return max(REFINED, int(sets * SEARCH_SET / (max(1, edges) * _REFINE_EDGE)))


def _alike(sets: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices, those of most sets first, and the sets in an order in which neighbours have the first of
    these in common."""
    has = members(sets, vertices)
    order = np.argsort(-np.count_nonzero(has, axis=0), kind="stable")
    return order, sets[np.lexsort(np.packbits(has[:, order], axis=1).T[::-1])] if vertices else sets


def _kept(found: Found) -> Found:
    """Return all sets of a search that was done, the smallest of one that was not."""
    return found if found.complete else replace(found, sets=smallest(found.sets, runs.KEPT_SETS))


def _one_of_each(graph: Hypergraph, found: Found) -> Found:
    return found if graph.exchange is None else replace(found, sets=one_of_each(found.sets, graph.exchange))


def _nothing(graph: Hypergraph, *, complete: bool = True) -> Found:
    return Found(np.zeros((0, graph.edges.shape[1]), np.uint64), complete, nodes=0)


def _lean(graph: Hypergraph) -> Hypergraph:
    return replace(graph, edges=minimal_edges(graph.edges), lean=True)


def _children(graph: Hypergraph, branch: Branch) -> list[Branch]:
    """Return a branch in smaller ones; itself if it is nearly nothing."""
    words = graph.edges.shape[1]
    if bits_of(branch.candidates).bit_count() > 64:
        children = np.empty((64 * words, 2, words), np.uint64)
        n = edge_kernels.split(graph.edges, branch.chosen, branch.candidates, graph.forbidden, children)
        return (
            [Branch(branch.chosen, np.zeros(words, np.uint64))] if n < 0 else [Branch(*child) for child in children[:n]]
        )
    run = Run.start(graph, branch)
    if run is None:
        return []
    run.advance(0)
    if run.done:
        return [branch]
    return list(run.children())


def _grown_branches(graph: Hypergraph, branch: Branch, many: int, stop: Stop = never) -> list[Branch]:
    """Return at least ``many`` branches if there are, the one with most candidates being cut first; fewer when it is
    time to stop."""
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


def _search_all(graph: Hypergraph, todo: list[Branch], limit: Limit, threads: int) -> Found:
    return together(
        [_nothing(graph), *in_threads(lambda branch: _search_any(graph, branch, limit), todo, limit, threads)]
    )


def _search_wide(graph: Hypergraph, limit: Limit, threads: int, branch: Branch | None = None) -> Found:
    """Split branches until they have 64 candidates or fewer, and searches those, many at a time."""
    stack, narrow = [branch or graph.whole], []
    finds = [_nothing(graph)]
    while stack:
        if limit():
            return replace(together(finds), complete=False)
        top = stack.pop()
        if bits_of(top.candidates).bit_count() > 64:
            stack += _children(graph, top)
        else:
            narrow.append(top)
        if narrow and (len(narrow) >= runs.PARTS * threads or not stack):
            finds.append(_search_all(graph, narrow, limit, threads))
            narrow = []
    return together(finds)
