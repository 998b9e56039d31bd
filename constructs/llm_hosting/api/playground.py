"""The playground: a page to try the model, served by the API itself."""

from dataclasses import replace
from importlib.resources import files
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .handler_function import HandlerFunction, Handlers
from .inference_api import InferenceApi

_TIMEOUT = cdk.Duration.seconds(10)
_NO_RETRY = "Called synchronously by API Gateway only: a browser loads the page again."
_OPEN = (
    "Serves the files of a page that holds no secret: it has to load before anybody can sign in, and its function has "
    "no permission but to write its own log. Every route that reaches the model stays closed; the stage's throttle "
    "bounds this one, too."
)


class Playground(Construct):
    """The function that answers GET / and GET /playground/{file}."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        api: InferenceApi,
        auth: Literal["iam", "api-key", "jwt", "none"],
        handlers: Handlers,
    ) -> None:
        super().__init__(scope, construct_id)
        variables = handlers.environment | {"AUTH": auth, "DEPLOYMENT_NAME": handlers.surroundings.name}
        code = lambda_.Code.from_asset(str(files("llm_hosting") / "playground"), exclude=["**/__pycache__"])
        function = HandlerFunction(
            self,
            "Serve",
            handler="serve",
            timeout=_TIMEOUT,
            failures=_NO_RETRY,
            handlers=replace(handlers, code=code, environment=variables, package=""),
        ).function
        for path in ("/", "/playground/{file}"):
            api.add_open_route(path, function, reason=_OPEN)
