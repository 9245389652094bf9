"""Trivial sets of atoms are those whose rules are trivial."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.trivial import trivial_sets
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.relation import encode
from rowlaw.rules.implication import is_trivial
from rowlaw.source import open_source
from tests.strategies import tables, to_arrow


@given(
    table=tables(min_rows=1, max_rows=4, max_columns=3, types=("integer", "text")),
    single_row=st.booleans(),
    constants=st.sampled_from([None, 0.4]),
    data=st.data(),
)
def test_trivial_sets(table, single_row, constants, data):
    with encode(open_source(to_arrow(table))) as relation:
        options = SpaceOptions(overlap=0.0, single_row=single_row, constants=constants)
        atoms = Atoms.of(relation, predicate_space(RelationStatistics(relation), options), "unknown")
        if not atoms.weak or not atoms.predicates:
            return
        # one slot is never chosen as a whole: that would be a contradiction which the search forbids
        chosen = data.draw(
            st.lists(
                st.lists(st.integers(0, len(atoms.predicates) - 1), min_size=1, max_size=6), min_size=1, max_size=8
            )
        )
        sets = atoms.pack(chosen)
        sets = sets[(atoms.accepted(sets) != 0).all(axis=1)]
        assert trivial_sets(atoms, sets).tolist() == [is_trivial(d) for d in atoms.denials(sets)] if len(sets) else True
        assert trivial_sets(atoms, sets[:0]).dtype == np.bool_
