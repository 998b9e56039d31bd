"""The settings that a security review asks for."""

from typing import Annotated

from pydantic import Field

from .section import Section


class Vpc(Section):
    """The user's own VPC, whose subnets must reach the internet through NAT or a transit gateway."""

    vpc_id: str = Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="Id of the VPC, `vpc-...`.")
    subnet_ids: list[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]] = Field(
        min_length=1,
        max_length=16,
        description="Ids of subnets of the VPC, `subnet-...`; the machines are placed in them in turn.",
    )


class Security(Section):
    """The network of the machines."""

    vpc: Vpc | None = Field(
        None,
        description="`hosting.mode: ec2` only: VPC of the machines, which get no public address there; null = the "
        "stack makes a VPC that lets nothing in and only TCP 443 out.",
    )
