"""How long the parts of a streamed request may take, in seconds; from the outside in, in docs/architecture.md.

Around them are those of the template, in llm_hosting/api/inference_api.py: API Gateway 870 s, the function 860 s.
"""

from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings

# SageMaker ends a streamed answer after 8 minutes.
STREAM_READ = 480
# API Gateway ends an answer whose next byte takes 5 minutes; proxies and clients are less patient. A stream's status is
# open until then: an error after it is an event.
BEAT = 5
# An answer that is one JSON object keeps its status open as long as that allows, and is then kept alive by spaces.
SILENCE = 240
# Of a caller who waits for a job that answers an OpenAI request, or a stream.
LONGEST_HOLD = 840
# Left of the function's time when a wait for a job ends.
TO_ANSWER = 10
_AFTER_THE_LONGEST_WAIT = 3


def limit_whole_answer() -> None:
    """POST /generate without `stream` answers in 28 s, unless `api.timeout_in_seconds` gives it more."""
    end = runtime().now() + settings().longest_wait_in_seconds + _AFTER_THE_LONGEST_WAIT
    runtime().answer_before(end)
