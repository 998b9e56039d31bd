"""The settings by which a company limits roles and tells whose resources they are, of deployments and endpoints."""

from typing import Annotated

from pydantic import Field

from .section import Section

# ASCII without the signs that IAM refuses in tags, and letters of all languages.
_SIGN = r"[^\x00-\x1f\x7f!\"#$%&'()*,;<>?\[\\\]^`{|}~]"

BoundaryArn = Annotated[
    str,
    Field(
        pattern=r"^arn:([a-z-]+|\$\{AWS::Partition\}):iam::([0-9]{12}|aws|\$\{AWS::AccountId\}):policy/"
        r"[A-Za-z0-9_+=,.@/-]+$",
        max_length=2048,
    ),
]
# SageMaker and Lambda take no other signs in a role's ARN, although IAM does.
RolePath = Annotated[str, Field(pattern=r"^/([A-Za-z0-9_+=,.@-]+/)+$", max_length=512)]
TagKey = Annotated[str, Field(pattern=f"^{_SIGN}+$", max_length=128)]
TagValue = Annotated[
    str,
    Field(
        pattern=f"^{_SIGN}*$", max_length=256, description="letters, digits, spaces and _ . : / = + - @, at most 256"
    ),
]


class Governance(Section):
    """What a company demands of every role and every resource."""

    permissions_boundary_arn: BoundaryArn | None = Field(
        None,
        description="Managed policy that limits every role of the stack (permissions boundary), "
        "`arn:aws:iam::<account>:policy/<policy>`. `${AWS::Partition}` and `${AWS::AccountId}` stand for "
        "those of the stack, for a policy of the same name in many accounts; null = none.",
    )
    role_path: RolePath | None = Field(
        None,
        description="IAM path of every role and instance profile, such as `/slipway/`; null = `/`. A change of it "
        "replaces the roles and, with them, model and instances.",
    )
    tags: dict[TagKey, TagValue] = Field(
        default_factory=dict,
        max_length=40,
        description="Tags of every resource that takes tags. AWS takes 50 of each resource, some of which are ours.",
    )

    @property
    def governs(self) -> bool:
        """Whether any of these settings is set."""
        return bool(self.permissions_boundary_arn or self.role_path or self.tags)
