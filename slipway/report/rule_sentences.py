"""What each rule of a check watches, in the words of its own docstring."""

from llm_hosting.preflight import check  # noqa: F401  (registers the rules)
from llm_hosting.preflight.finding import RULES
from llm_hosting.preflight.report import NOT_CHECKED


def rule_sentences() -> dict[str, str]:
    """One sentence by rule id; those that need the account come last."""
    sentences = {rule.id: " ".join((rule.check.__doc__ or "").split()) for rule in RULES}
    for line in NOT_CHECKED:
        rule, _, sentence = line.partition(": ")
        sentences[rule] = f"{sentence[:1].upper()}{sentence[1:]}."
    return sentences
