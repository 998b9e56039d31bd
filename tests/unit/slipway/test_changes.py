"""What an update means, by the resource schemas and CloudFormation's documentation."""

import pytest

from slipway.changes import classify
from support.known_changes import KNOWN, Known


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_an_update_means_what_is_known_of_it(known: Known) -> None:
    changes = classify(known.before, known.after)

    told = {f"{each.logical_id} {each.kind}" for each in changes}
    quiet = {each for each in told if each.endswith(" nothing")}
    assert (told if quiet & known.meaning else told - quiet) == known.meaning or told - quiet == known.meaning - quiet
