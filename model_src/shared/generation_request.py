"""Reads the request and builds the answer of every handler.

`{"inputs": "a prompt" or ["a batch", "of prompts"], "parameters": {...}}` -> `{"outputs": ["a text for each prompt"]}`.
Other keys are ignored.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List

from djl_python import Input, Output

Generate = Callable[[List[str], Dict[str, Any]], List[str]]


class RequestError(ValueError):
    """An invalid request; the message is for the caller."""


def answer(inputs: Input, generate: Generate) -> Output:
    """Run `generate(prompts, parameters)` on the request.

    An invalid request is answered with status 400, which the API returns to the caller. A failure is answered with
    DJL's own error, 424.
    """
    try:
        prompts, parameters = read(inputs)
        outputs = generate(prompts, parameters)
    except RequestError as error:
        return Output().error(str(error), code=400, message="request refused")
    except Exception as error:
        # Only the type: messages of the libraries quote prompts, which must not be logged.
        logging.error("prediction failed: %s", type(error).__name__)
        return Output().error(str(error))
    return Output().add_property("content-type", "application/json").add_as_json({"outputs": outputs})


def read(inputs: Input) -> tuple[list[str], dict[str, Any]]:
    """Prompts and parameters. Raises RequestError."""
    try:
        body = inputs.get_as_json()
    except ValueError:
        raise RequestError("the body is not JSON") from None
    if not isinstance(body, dict) or "inputs" not in body:
        raise RequestError('the body must be an object with "inputs"')
    prompts = [body["inputs"]] if isinstance(body["inputs"], str) else body["inputs"]
    if not isinstance(prompts, list) or not prompts or not all(isinstance(prompt, str) for prompt in prompts):
        raise RequestError('"inputs" must be a text or a list of texts')
    parameters = body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise RequestError('"parameters" must be an object')
    return prompts, parameters
