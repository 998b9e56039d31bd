"""The model's answer."""

import json
from typing import NamedTuple

from inference_api.http.gateway import Response
from inference_api.shared import errors

# Lambda returns at most 6 MB of JSON, which hold the answer as a string. The rest is for status and headers.
MAX_RESPONSE_BYTES = 6_000_000


class Answer(NamedTuple):
    """The model's answer, as the container gave it."""

    body: bytes
    content_type: str

    @property
    def is_json(self) -> bool:
        return self.content_type.partition(";")[0].strip().lower() == "application/json"

    def to_response(self) -> Response:
        """Return a 200 with the answer. Raises ApiError 502 if Lambda can't return it."""
        try:
            text = self.body.decode()
        except UnicodeDecodeError:
            raise errors.answer_not_text() from None
        if len(json.dumps(text)) > MAX_RESPONSE_BYTES:
            raise errors.answer_too_large()
        # A model's text must never run in a browser, so only JSON keeps its type.
        return Response(200, text, content_type=self.content_type if self.is_json else "text/plain; charset=utf-8")
