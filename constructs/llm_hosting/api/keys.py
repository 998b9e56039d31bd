"""The keys of an API: an authorizer for each header, a usage plan for each named key, and the stack's own key."""

from dataclasses import replace
from functools import cached_property

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from .. import KEY_TAG
from ..deployment.settings.api import Api, NamedKey, limits_of_keys
from .authorizer_function import for_authorizers
from .handler_function import HandlerFunction, Handlers

_TIMEOUT = cdk.Duration.seconds(5)
_MEMORY_IN_MB = 128  # the function hashes one key
# A revoked key ends at once, because API Gateway looks each key up in its plans on every call. The expiry of a key, and
# the limits of a new template, take up to this long.
_ANSWER_KEPT = cdk.Duration.minutes(5)
_KEY = "[A-Za-z0-9]{20,128}"  # API Gateway makes keys of 40 characters and takes 20 to 128
_BEARER = "[Bb][Ee][Aa][Rr][Ee][Rr]"  # the case of a scheme does not matter (RFC 9110, 11.1)
_NO_RETRY = "Called synchronously by API Gateway only: it refuses the caller."


class ApiKeys(Construct):
    """`own` is the stack's key for operators. It has no name and no token limits.

    No template holds the value of a named key. `slipway keys create` makes the value and puts it into the
    usage plan with that name in its tag `slipway:key`.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, api: apigateway.RestApi, settings: Api, handlers: Handlers
    ) -> None:
        super().__init__(scope, construct_id)
        self._api, self._settings = api, settings
        function = HandlerFunction(
            self,
            "Authorize",
            handler="authorize",
            timeout=_TIMEOUT,
            failures=_NO_RETRY,
            handlers=replace(handlers, environment={"API_KEYS": limits_of_keys(settings.keys)}),
            memory_in_mb=_MEMORY_IN_MB,
        ).function
        self._function = for_authorizers(self, function, api)
        self.own, before = self._add_own_key()
        for name, key in settings.keys.items():
            plan = self._add_plan(name, key)
            plan.node.add_dependency(before)  # one after the other: API Gateway refuses many at once
            before = plan

    @cached_property
    def in_own_header(self) -> apigateway.IAuthorizer:
        """The authorizer that reads `x-api-key`.

        It is made when the first route asks for it, because the CDK refuses an unused authorizer.
        """
        return self._authorizer("KeyAuthorizer", "x-api-key", f"^{_KEY}$")

    @cached_property
    def as_bearer(self) -> apigateway.IAuthorizer:
        """The authorizer that reads `Authorization: Bearer`, as OpenAI's clients send it."""
        return self._authorizer("BearerAuthorizer", "Authorization", f"^{_BEARER} +{_KEY}$")

    def _authorizer(self, construct_id: str, header: str, pattern: str) -> apigateway.IAuthorizer:
        return apigateway.TokenAuthorizer(
            self,
            construct_id,
            handler=self._function,
            identity_source=apigateway.IdentitySource.header(header),
            validation_regex=pattern,  # any other value is a 401, and the function is not called
            results_cache_ttl=_ANSWER_KEPT,
        )

    def _add_own_key(self) -> tuple[apigateway.IApiKey, apigateway.UsagePlan]:
        quota, throttle = self._settings.quota, self._settings.throttle
        plan = self._api.add_usage_plan(
            "UsagePlan",
            api_stages=[self._stage],
            throttle=apigateway.ThrottleSettings(rate_limit=throttle.rate, burst_limit=throttle.burst),
            quota=quota and apigateway.QuotaSettings(limit=quota.limit, period=apigateway.Period(quota.period)),
        )
        key = self._api.add_api_key("ApiKey")
        plan.add_api_key(key)
        return key, plan

    def _add_plan(self, name: str, key: NamedKey) -> apigateway.UsagePlan:
        throttle = self._settings.throttle
        plan = apigateway.UsagePlan(
            self,
            f"PlanOf-{name}",
            api_stages=[self._stage],
            description=key.owner,
            throttle=apigateway.ThrottleSettings(
                rate_limit=key.rate or throttle.rate, burst_limit=key.burst or throttle.burst
            ),
            quota=key.requests_per_month
            and apigateway.QuotaSettings(limit=key.requests_per_month, period=apigateway.Period.MONTH),
        )
        cdk.Tags.of(plan).add(KEY_TAG, name)
        return plan

    @property
    def _stage(self) -> apigateway.UsagePlanPerApiStage:
        return apigateway.UsagePlanPerApiStage(api=self._api, stage=self._api.deployment_stage)
