"""The time limits of a streamed request, in seconds. docs/architecture.md lists them from the outside in.

The template sets the outer ones in llm_hosting/api/inference_api.py: API Gateway 870 s, the function 860 s.
"""

from inference_api.shared.runtime import runtime
from inference_api.shared.settings import settings

# SageMaker ends a streamed answer after 8 minutes.
STREAM_READ = 480
# API Gateway ends an answer after 5 minutes without a byte; proxies and clients wait less. Until the first beat an
# error can still set the stream's status; after it an error is an event.
BEAT = 5
# An answer that is one JSON object stays silent for so long, so that an error can set its status. Then spaces keep its
# connection open.
SILENCE = 240
# The longest time that a caller waits for a job that answers a stream or a request of OpenAI's API.
LONGEST_HOLD = 840
# The longest time that a stream is held while a model that sleeps starts. Some time must be left for its answer.
LONGEST_START = 780
# The time that the function keeps for its answer after a wait for a job.
TO_ANSWER = 10
_AFTER_THE_LONGEST_WAIT = 3


def limit_whole_answer() -> None:
    """Limit POST /generate without `stream` to 28 s, or to more if `api.timeout_in_seconds` allows it."""
    end = runtime().now() + settings().longest_wait_in_seconds + _AFTER_THE_LONGEST_WAIT
    runtime().answer_before(end)
