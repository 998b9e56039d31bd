"""Which refusals a job answers, and how a whole generation of a sleeping model becomes one."""

import pytest

from inference_api.http.gateway import Request, Response
from inference_api.model.not_ready import or_by_job
from inference_api.shared import errors
from inference_api.shared.errors import InvocationError

REQUEST = Request(b"", None, "a" * 32)
ACCEPTED = Response(202, {"id": "6f1c"})


def whole(error: InvocationError, monkeypatch: pytest.MonkeyPatch, *, sleeps: bool = True) -> object:
    """Return the answer to a generation whose call raises this error."""
    monkeypatch.setenv("JOB_TABLE", "jobs")
    if sleeps:
        monkeypatch.setenv("WAKES_PER_DAY", "5")

    def route(request: Request) -> Response:
        raise error

    return or_by_job(REQUEST, route, lambda _: ACCEPTED)


@pytest.mark.parametrize("error", [errors.copy_starting(300), errors.endpoint_not_ready("503", ran=False)])
def test_a_generation_that_meets_the_model_asleep_becomes_a_job(
    error: InvocationError, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert whole(error, monkeypatch) is ACCEPTED


@pytest.mark.parametrize(
    ("error", "sleeps"),
    [
        (errors.endpoint_not_ready("503", ran=False), False),
        (errors.endpoint_not_ready("500", ran=True), True),
        (errors.model_not_started("no quota"), True),
        (errors.container_exited("0"), True),
    ],
)
def test_other_errors_stay(error: InvocationError, sleeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvocationError) as kept:
        whole(error, monkeypatch, sleeps=sleeps)
    assert kept.value is error
