"""The graph of keys and functional dependencies: columns as nodes, placed so that what belongs together lies together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rowlaw.discovery.together import most_specific
from rowlaw.rules import Denial, FunctionalDependency, Key, NamedRule, Rule

MOST = 40  # dependencies and keys drawn: more is a ball of wool
STEPS = 300
STATUSES = ["broken", "warning", "tolerated", "unchecked", "holds"]  # of rules in a report, the worst first


def dependency_graph(rules: Sequence[tuple[NamedRule, str]]) -> dict[str, Any] | None:
    """Nodes, edges and their places between 0 and 1; None where no rule is a key or a functional dependency.

    A left side of several columns is a joint of its own; a key is a joint that nothing leaves.
    """
    drawn = [(named, status, found) for named, status in rules if (found := as_dependency(named.rule)) is not None]
    if not drawn:
        return None
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[dict[str, Any]] = []

    def node(id: str, **facts: Any) -> str:
        nodes.setdefault(id, {"id": id, **facts})
        return id

    for named, status, found in drawn[:MOST]:
        left = [node(f"c:{name}", type="column", label=name) for name in found.columns if name != getattr(found, "right", None)]
        facts = {"rule": named.id, "status": status}
        if isinstance(found, Key):
            joint = node(f"k:{named.id}", type="key", label=f"key {named.id}", **facts)
            edges += [{"from": one, "to": joint, "arrow": False, "dashed": True, **facts} for one in left]
            continue
        right = node(f"c:{found.right}", type="column", label=found.right)
        start = left[0] if len(left) == 1 else node("+".join(sorted(left)) or "c:", type="joint", label="" if left else "any row")
        if len(left) > 1:
            edges += [{"from": one, "to": start, "arrow": False, "dashed": False, **facts} for one in left]
        edges.append({"from": start, "to": right, "arrow": True, "dashed": False, **facts})
    _place(nodes, edges)
    return {"nodes": list(nodes.values()), "edges": _unique(edges), "left_out": max(0, len(drawn) - MOST)}


def as_dependency(rule: Rule) -> Key | FunctionalDependency | None:
    """A key or a functional dependency, also where it is written as a denial constraint.

    >>> from rowlaw.rules import parse
    >>> str(as_dependency(parse("not (s.zip = t.zip and s.city != t.city)")))
    'fd (zip) -> city'
    """
    if isinstance(rule, Key | FunctionalDependency):
        return rule
    found = most_specific(rule) if isinstance(rule, Denial) else None
    return found if isinstance(found, Key | FunctionalDependency) else None


def _unique(edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Edges into a joint that several rules share are drawn once, with the status of the worst."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for edge in edges:
        key = (edge["from"], edge["to"])
        if key not in found or STATUSES.index(edge["status"]) < STATUSES.index(found[key]["status"]):
            found[key] = edge
    return list(found.values())


def _place(nodes: dict[str, dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    """Fruchterman and Reingold's springs, from a circle, so that the same rules always give the same picture."""
    index = {id: i for i, id in enumerate(nodes)}
    n = len(index)
    angles = 2 * np.pi * np.arange(n) / max(1, n)
    at = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1 + 0.05 * np.sin(7 * angles))[:, None]
    ends = np.array([[index[e["from"]], index[e["to"]]] for e in edges]).reshape(-1, 2)
    ideal = 1.6 / np.sqrt(max(1, n))
    for step in range(STEPS):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.sqrt((apart**2).sum(2)), 1e-3)
        push = (apart / distance[..., None] * (ideal**2 / distance)[..., None]).sum(1)
        along = at[ends[:, 0]] - at[ends[:, 1]]
        pull = along * (np.sqrt((along**2).sum(1)) / ideal)[:, None]
        np.add.at(push, ends[:, 0], -pull)
        np.add.at(push, ends[:, 1], pull)
        push -= 0.05 * at  # what hangs on nothing stays near
        size = np.maximum(np.sqrt((push**2).sum(1)), 1e-9)[:, None]
        at += push / size * np.minimum(size, 0.15 * (1 - step / STEPS))
    low, high = at.min(0), at.max(0)
    at = (at - low) / np.maximum(high - low, 1e-9) if n > 1 else at * 0 + 0.5
    for id, i in index.items():
        nodes[id] |= {"x": round(float(at[i, 0]), 3), "y": round(float(at[i, 1]), 3)}
