"""Permissions that an update widens."""

import hypothesis.strategies as st
from hypothesis import given

from slipway.changes import classify
from support.templates.known_changes import allow, of, role

actions = st.sampled_from(["s3:*", "s3:Get*", "s3:GetObject", "s3:GetObjectTagging", "sqs:*", "sqs:SendMessage", "*"])
resources = st.sampled_from(["*", "arn:aws:s3:::b/*", "arn:aws:s3:::b/a/*", "arn:aws:s3:::b/a/?", "arn:aws:sqs:::q"])


def test_grants_that_differ_by_their_conditions_are_told_apart() -> None:
    reads = allow("s3:GetObject")
    puts = [
        allow("events:PutEvents", Condition={"StringEquals": {"events:detail-type": each}}) for each in ("End", "Wait")
    ]

    (told,) = (each for each in classify(of(R=role(reads)), of(R=role(reads, *puts))) if each.gated)
    assert told.sentence.endswith(
        "events:PutEvents on * if events:detail-type StringEquals End; "
        "events:PutEvents on * if events:detail-type StringEquals Wait"
    )


@given(st.lists(st.tuples(actions, resources), min_size=1), st.data())
def test_a_statement_that_is_covered_widens_nothing(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    statements = [allow(*pair) for pair in pairs]
    again = data.draw(st.permutations([*statements, data.draw(st.sampled_from(statements))]))

    changes = classify(of(R=role(*statements)), of(R=role(*again)))

    assert {each.kind for each in changes} <= {"nothing"}


@given(actions, resources)
def test_an_action_that_was_not_allowed_widens(action: str, resource: str) -> None:
    changes = classify(
        of(R=role(allow("dynamodb:GetItem"))), of(R=role(allow("dynamodb:GetItem"), allow(action, resource)))
    )

    assert "permission-widened" in {each.kind for each in changes}
