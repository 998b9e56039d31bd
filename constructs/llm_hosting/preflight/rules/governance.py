"""Rules over `security.role_path` and `security.tags`: names that AWS or Slipway keep."""

from collections.abc import Iterator

from ...deployment.finding import Finding
from ...deployment.settings.governance import Governance
from ...resolution import Resolution
from .rule import error

_PATHS_OF_AWS = ("/aws-reserved/", "/aws-service-role/")
_TAGS_OF_OTHERS = {"aws:": "AWS", "slipway:": "Slipway"}


@error
def names_of_roles_and_tags_are_free(resolution: Resolution) -> Iterator[Finding]:
    """AWS keeps some paths of roles and names of tags, and Slipway some tags; IAM compares tags without their case."""
    yield from taken_names(resolution.deployment.security)


def taken_names(governance: Governance) -> Iterator[Finding]:
    """Yield a finding for each name that is taken."""
    path, tags = governance.role_path, governance.tags
    if path and path.startswith(_PATHS_OF_AWS):
        yield Finding("security.role_path", f"{path!r} is a path of AWS's own roles", "use another, such as /slipway/")
    for key in tags:
        for prefix, owner in _TAGS_OF_OTHERS.items():
            if key.lower().startswith(prefix):
                yield Finding(f"security.tags.{key}", f"{owner} keeps tags that begin with {prefix}", "rename it")
    first: dict[str, str] = {}
    for key in tags:
        if first.setdefault(key.lower(), key) != key:
            problem = f"differs from {first[key.lower()]} in its case alone, and IAM takes the two for one"
            yield Finding(f"security.tags.{key}", problem, "remove one of the two")
