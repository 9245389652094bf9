"""The predicates that rules are made of: :func:`predicate_space`."""

from rowlaw.predicates.space import SpaceOptions, predicate_space

__all__ = ["SpaceOptions", "predicate_space"]
