"""The settings of what stands in front of the API: VPC endpoints, a policy, a domain."""

from typing import Annotated

from pydantic import Field

from .section import Section

DomainName = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$", max_length=64)
]
VpcEndpointId = Annotated[str, Field(pattern=r"^vpce-[0-9a-f]{8,17}$")]
WebAclArn = Annotated[
    str, Field(pattern=r"^arn:[a-z-]+:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[A-Za-z0-9_-]+/[0-9a-f-]{36}$")
]


class PrivateApi(Section):
    """VPC endpoints through which the API is reached; it then has no address on the internet."""

    vpc_endpoint_ids: list[VpcEndpointId] = Field(
        min_length=1,
        max_length=20,
        description="Interface endpoints of the service `execute-api`, `vpce-...`, in the account and region of the "
        "stack.",
    )


class Allow(Section):
    """Callers whom a resource policy of the API lets in. An empty section keeps a policy that restricts nothing."""

    accounts: list[Annotated[str, Field(pattern=r"^[0-9]{12}$")]] = Field(
        [],
        max_length=100,
        description="Other accounts, 12 digits in quotes, whose principals may call the API if a policy of their own "
        "allows it, too; needs `auth: iam`. The stack's own account needs no entry.",
    )
    organization: Annotated[str, Field(pattern=r"^o-[a-z0-9]{10,32}$")] | None = Field(
        None, description="Organization, `o-...`, whose accounts may call it in the same way; needs `auth: iam`."
    )
    cidrs: list[Annotated[str, Field(max_length=43)]] = Field(
        [],
        max_length=100,
        description="Networks, such as `203.0.113.0/24`, from which callers must come, on every route. Public "
        "addresses; with `api.private` addresses in the VPC. Empty = any.",
    )


class Zone(Section):
    """Public hosted zone of Route 53, in the stack's account."""

    id: str = Field(pattern=r"^Z[A-Z0-9]{1,31}$", description="Id of the zone, `Z...`.")
    name: DomainName = Field(description="Name of the zone, such as `example.com`.")


class ApiDomain(Section):
    """Domain of the API, whose URL becomes `https://<name>/`."""

    name: DomainName = Field(description="Domain name, such as `chat.example.com`, for this deployment alone.")
    certificate_arn: str = Field(
        pattern=r"^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+$",
        description="Certificate of AWS Certificate Manager that covers the name, in the region of the stack: "
        "`arn:aws:acm:<region>:<account>:certificate/<id>`.",
    )
    zone: Zone | None = Field(
        None,
        description="Zone in which the stack makes the record of the name; null = you make a CNAME record to the "
        "output `DomainTarget`.",
    )
