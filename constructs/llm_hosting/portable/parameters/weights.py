"""Parameters of staged weights: another bucket or prefix in each region."""

from collections.abc import Iterator

from ...resolution import Resolution
from ..editing.places import Place, Template, in_texts, walk, with_text
from .parameter import Parameter

_BUCKET, _PREFIX = {"Ref": "WeightsBucket"}, {"Ref": "WeightsPrefix"}


def parameters(resolution: Resolution) -> Iterator[Parameter]:
    """Return the parameters of staged weights; none for weights from the Hub."""
    weights = resolution.deployment.model.weights
    if weights is None:
        return
    bucket, _, prefix = weights.removeprefix("s3://").partition("/")
    yield Parameter(
        "WeightsBucket",
        "String",
        "Bucket with the weights, in the region of the stack; its policy must let the account of the stack read.",
        default=bucket,
        pattern="^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        places=(
            in_texts(weights, "s3://", _BUCKET, "/", _PREFIX),
            in_texts(f":s3:::{bucket}/{prefix}", ":s3:::", _BUCKET, "/", _PREFIX),
            _listing(bucket, prefix),
        ),
    )
    yield Parameter(
        "WeightsPrefix",
        "String",
        "Prefix of the weights in the bucket, with a slash at its end.",
        default=prefix,
        pattern="^([A-Za-z0-9_!.'()-]+/)+$",
    )


def _listing(bucket: str, prefix: str) -> Place:
    """Return the statement that lets the model's role list the prefix."""

    def put(template: Template) -> None:
        for each in walk(template["Resources"]):
            condition = each.get("Condition") if isinstance(each, dict) else None  # a resource's own is a name
            names = condition.get("StringLike", {}) if isinstance(condition, dict) else {}
            if names.get("s3:prefix") in (f"{prefix}*", [f"{prefix}*"]):
                each["Resource"] = with_text(each["Resource"], f":s3:::{bucket}", ":s3:::", _BUCKET)
                names["s3:prefix"] = with_text(names["s3:prefix"], prefix, _PREFIX)

    return put
