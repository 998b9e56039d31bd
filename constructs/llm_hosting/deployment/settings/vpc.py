"""The network of the model, and of the functions if they are told to be in it."""

from typing import Annotated

from pydantic import Field

from .section import Section

_ID = r"^{}-[0-9a-f]{{8,17}}$"


class Vpc(Section):
    """A VPC of the user's own, or one that the stack makes without a route to the internet."""

    vpc_id: str | None = Field(
        None,
        pattern=_ID.format("vpc"),
        description="Id of your own VPC, `vpc-...`; null = the stack makes one without a route to the internet, with "
        "two subnets and the endpoints of the AWS services that the deployment needs.",
    )
    subnet_ids: list[Annotated[str, Field(pattern=_ID.format("subnet"))]] = Field(
        [],
        max_length=16,
        description="Ids of subnets of `vpc_id`, `subnet-...`: two or more in different zones. Machines (`mode: ec2`) "
        "are placed in them in turn, and one is enough.",
    )
    security_group_ids: list[Annotated[str, Field(pattern=_ID.format("sg"))]] = Field(
        [],
        max_length=5,
        description="Ids of security groups of `vpc_id` for containers, machines and functions, `sg-...`; empty = made "
        "by the stack: TCP 443 out, nothing in.",
    )
    service_endpoints: bool = Field(
        False,
        description="The stack makes in `vpc_id` the VPC endpoints that the deployment needs. Their private DNS names "
        "hold for the whole VPC, and they let in only this deployment. `false` = the VPC has them, or another way to "
        "AWS.",
    )
    route_table_ids: list[Annotated[str, Field(pattern=_ID.format("rtb"))]] = Field(
        [],
        max_length=16,
        description="With `service_endpoints: true`: ids of the subnets' route tables, `rtb-...`, for the gateway "
        "endpoints of S3 and DynamoDB.",
    )
    other_services: list[Annotated[str, Field(pattern=r"^[a-z0-9-]{1,60}([.][a-z0-9-]{1,60})?$")]] = Field(
        [],
        max_length=20,
        description="More AWS services for which the stack makes endpoints, because a container of yours calls them, "
        "by the end of the endpoint's name, after the region: `sts`, `secretsmanager`, `bedrock-runtime`.",
    )
    functions: bool = Field(
        False,
        description="Connect the Lambda functions to the VPC, too. They then reach AWS only through it. The authorizer "
        "of `api.auth: jwt` stays outside, because it asks the issuer.",
    )

    @property
    def is_made(self) -> bool:
        """Whether the stack makes the VPC, so that nothing in it reaches the internet."""
        return self.vpc_id is None

    @property
    def makes_endpoints(self) -> bool:
        """Whether the stack makes the endpoints of services."""
        return self.is_made or self.service_endpoints
