"""The encoded table: :func:`encode` makes a :class:`Relation` of a source."""

from rowlaw.relation.encode import encode
from rowlaw.relation.relation import Relation, RelationColumn

__all__ = ["Relation", "RelationColumn", "encode"]
