"""One sentence for each rule, from its docstring."""

from llm_hosting.preflight import validation  # noqa: F401  (registers the rules)
from llm_hosting.preflight.report import NOT_CHECKED
from llm_hosting.preflight.rules.own_rules import all_rules


def rule_sentences() -> dict[str, str]:
    """One sentence for each rule, by its id. The rules that need the account come last."""
    sentences = {rule.id: rule.sentence for rule in all_rules()}
    for line in NOT_CHECKED:
        rule, _, sentence = line.partition(": ")
        sentences[rule] = f"{sentence[:1].upper()}{sentence[1:]}."
    return sentences
