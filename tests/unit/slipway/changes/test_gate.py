"""Acknowledgements of changes: what a file of them may not hold."""

from pathlib import Path

import pytest

from slipway.changes.gate import AcceptedChangesError, acknowledgements


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1", "must be a list"),
        ("- {resource: A, kind: replaced}", "entry 1 needs the texts"),
        ("- {resource: A, kind: replace, reason: long enough}", "kind 'replace' is unknown; did you mean"),
        ("- {resource: A, kind: replaced, reason: short}", "the reason 'short' has fewer than 10"),
        ("- {resource: A, kind: replaced, reason: long enough, until: now}", "has the unknown key 'until'"),
        ("- {resource", "is not valid YAML"),
        ("- {resource: A, kind: replaced, kind: removed, reason: long enough}", "the key 'kind' stands twice"),
    ],
)
def test_a_faulty_acknowledgement_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "accepted.yaml").write_text(text)

    with pytest.raises(AcceptedChangesError, match=sentence):
        acknowledgements(tmp_path / "accepted.yaml")
