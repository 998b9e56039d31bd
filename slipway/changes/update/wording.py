"""Puts a difference into words, without values that may be secret."""

from typing import Any

from slipway.changes.template.values import shown
from slipway.changes.update.comparison import ABSENT, Difference
from slipway.changes.update.replacement import Update, causes, unmarked

# What another key of KMS means for data that is there, by type and property (source: the services' guides to
# encryption at rest).
_KEYS = {
    ("AWS::DynamoDB::Table", "SSESpecification"): "the items get the new key, and stay readable meanwhile",
    (
        "AWS::Logs::LogGroup",
        "KmsKeyId",
    ): "new lines get the new key, and older lines need the old one until they expire",
    ("AWS::S3::Bucket", "BucketEncryption"): "new objects get the new key, and older ones need the old one until they "
    "expire",
    ("AWS::SQS::Queue", "KmsMasterKeyId"): "new messages get the new key, and waiting ones need the old one",
}
_LONGEST, _CONTEXT = 60, 15  # characters of a value, and of its part that both share


def quiet(difference: Difference, update: Update) -> str:
    """The words for a difference that has no effect beside itself."""
    top = difference.path[0]
    if (update.resource.type, top) == ("AWS::Lambda::Function", "Code"):
        return "code"
    if update.schema and difference.path[: len(update.schema.tags)] == update.schema.tags:
        return "tags"
    said = f"{said_of(difference, update)}, in place"
    return f"{said}: {kept}" if (kept := _KEYS.get((update.resource.type, top))) else said


def said_of(difference: Difference, update: Update) -> str:
    """The words for a difference: old -> new, or the changed resource that it refers to."""
    if names := causes(difference):
        return f"{difference.name} refers to {', '.join(names)}, which changes"
    if difference.path and _is_secret(difference, update):
        return f"{difference.name} changes"
    return f"{difference.name} {_two(_text(difference.before), _text(unmarked(difference.after)))}"


def _is_secret(difference: Difference, update: Update) -> bool:
    if difference.path[:2] == ("Environment", "Variables"):
        return True  # any of them may hold a key
    words = ("password", "secret", "token", "credential")
    hidden = update.schema.content.get("writeOnlyProperties", []) if update.schema else []
    pointer = "/properties/" + "/".join(difference.path)
    return any(word in difference.path[-1].lower() for word in words) or any(
        pointer.startswith(each) for each in hidden
    )


def _text(value: Any) -> str:
    return " ".join((shown(value) if value != ABSENT else ABSENT).split())


def _two(before: str, after: str) -> str:
    """Both values; long ones are cut to the part that differs, with a little of what they share."""
    if max(len(before), len(after)) > _LONGEST:
        shared = _shared(before, after)
        if shared > _CONTEXT:
            before, after = (f"...{each[shared - _CONTEXT :]}" for each in (before, after))
        shared = _shared(before[::-1], after[::-1])
        if shared > _CONTEXT:
            before, after = (f"{each[: len(each) - shared + _CONTEXT]}..." for each in (before, after))
    return " -> ".join(each if len(each) <= _LONGEST else f"{each[: _LONGEST - 3]}..." for each in (before, after))


def _shared(one: str, other: str) -> int:
    """The length of the common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (first, second) in pairs if first != second), min(len(one), len(other)))
