"""Errors of the model's container."""

import pytest

from inference_api.errors import container_error


@pytest.mark.parametrize(
    ("status", "code", "refused"),
    [
        (400, "rejected_by_model", True),
        (413, "rejected_by_model", True),
        (422, "rejected_by_model", True),
        (424, "model_error", False),
        (429, "model_busy", False),
        (500, "model_error", False),
        (None, "model_error", False),
    ],
)
def test_only_a_refusal_by_the_model_itself_is_final(status: int | None, code: str, refused: bool) -> None:
    error = container_error(status, "too long")
    assert (error.code, error.refused) == (code, refused)
    assert error.message.endswith(": too long")


def test_a_container_without_words_makes_a_whole_sentence() -> None:
    assert container_error(500, "").message == "The model failed."


def test_a_container_that_sagemaker_gave_up_is_a_timeout() -> None:
    error = container_error(0, "words of SageMaker")
    assert (error.status, error.code, "words" in error.message) == (504, "model_timeout", False)
