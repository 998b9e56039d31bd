"""Each change to the transitions, or to the order of steps, dies or is covered by a defence that is named."""

import pytest

from life_cycle.mutants import COVERED_ORDERS, DYING_ORDERS, TWO_ATTEMPTS, Mutant
from life_cycle.mutated_transitions import COVERED_TRANSITIONS, DYING_TRANSITIONS


@pytest.mark.parametrize("mutant", DYING_ORDERS + DYING_TRANSITIONS, ids=str)
def test_a_mutant_dies(mutant: Mutant) -> None:
    found = mutant.explore()
    assert (found.broken or "every promise holds").startswith(mutant.told), str(found)


@pytest.mark.parametrize("mutant", COVERED_ORDERS + COVERED_TRANSITIONS, ids=str)
def test_a_mutant_is_covered_by_a_defence(mutant: Mutant) -> None:
    found = mutant.explore(TWO_ATTEMPTS)
    assert found.broken is None, f"{mutant.told} does not help: {found}"
