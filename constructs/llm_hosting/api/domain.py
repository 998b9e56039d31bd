"""The API's own domain: its certificate, its TLS policy, its record in Route 53."""

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from ..deployment.settings.api_edge import ApiDomain
from .inference_api import SECURITY_POLICY


class Domain(Construct):
    """A domain name of API Gateway in the stack's region. outputs: the stack's outputs.

    The API's own name stays open beside it: both lead through the same policy, web ACL and authorization, callers who
    sign keep their URLs, and a stack can be tried before the record of the name exists.
    """

    def __init__(self, scope: Construct, construct_id: str, *, settings: ApiDomain) -> None:
        super().__init__(scope, construct_id)
        self.name = apigateway.DomainName(
            self,
            "Name",
            domain_name=settings.name,
            certificate=acm.Certificate.from_certificate_arn(self, "Certificate", settings.certificate_arn),
            endpoint_type=apigateway.EndpointType.REGIONAL,
        )
        resource = self.name.node.default_child  # the L2 construct has neither value
        resource.security_policy = SECURITY_POLICY
        resource.endpoint_access_mode = "STRICT"
        self.outputs = {"DomainTarget": self.name.domain_name_alias_domain_name}
        if zone := settings.zone:
            route53.ARecord(
                self,
                "Record",
                zone=route53.HostedZone.from_hosted_zone_attributes(
                    self, "Zone", hosted_zone_id=zone.id, zone_name=zone.name
                ),
                record_name=f"{settings.name}.",
                target=route53.RecordTarget.from_alias(targets.ApiGatewayDomain(self.name)),
            )
