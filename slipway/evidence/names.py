"""Names and texts of a template without hashes, which differ between stacks and mean nothing to readers."""

import re
from collections.abc import Iterable

_HASH = re.compile(r"([0-9a-f]{8})?[0-9A-F]{8}([0-9a-f]{32})?$")
_REFERENCE = re.compile(r"\$\{([A-Za-z0-9]+)(\.[A-Za-z.]+)?\}")
_PSEUDO = re.compile(r"\$\{AWS::(\w+)\}")
_WORDS = {
    "AccountId": "<account>",
    "Region": "<region>",
    "StackName": "<stack>",
    "Partition": "aws",
    "URLSuffix": "amazonaws.com",
}
_ID_OF_STACK = re.compile(
    r'\{"Fn::Select": \["0", \{"Fn::Split": \["-", [^}]*\{[^}]*\{"Ref": "AWS::StackId"\}\]\}\]\}\]\}\]\}'
)
_IN_FINDING = re.compile(r"<([A-Za-z0-9]+)(\.[A-Za-z.]+)?>")
_LOOKED_UP = re.compile(r'\{"Fn::FindInMap": \["\w*ImageAccounts[^]]*\]\}')


def short(logical_id: str) -> str:
    """Return a logical id without the hash at its end."""
    return _HASH.sub("", logical_id) or logical_id


def plain(text: str) -> str:
    """Return the text of a value with names for references: `${Bucket12345678.Arn}/input/*` -> `Bucket/input/*`."""
    text = _ID_OF_STACK.sub("<id>", text)
    text = _LOOKED_UP.sub("<AWS's account of images>", text)
    text = _PSEUDO.sub(lambda found: _WORDS.get(found[1], found[0]), text)
    return _REFERENCE.sub(lambda found: short(found[1]), text)


def plain_rule(rule: str) -> str:
    """Return the name of a rule of cdk-nag, in which references stand in angle brackets, without hashes."""
    return _IN_FINDING.sub(lambda found: short(found[1]), rule)


def listed(items: Iterable[str]) -> str:
    """Return the items in words: `a`, `a and b`, `a, b and c`."""
    *most, last = list(items)
    return f"{', '.join(most)} and {last}" if most else last
