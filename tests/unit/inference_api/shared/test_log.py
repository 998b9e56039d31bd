"""What the log says of an exception."""

from botocore.exceptions import ClientError

from inference_api.shared.log import place_of


def raised(error: Exception) -> str:
    try:
        raise error
    except Exception as caught:
        return place_of(caught)


def test_an_exception_is_named_without_its_text() -> None:
    said = raised(ValueError("a prompt"))
    assert said.startswith("ValueError at ")
    assert "prompt" not in said


def test_what_aws_refused_is_named_without_its_text() -> None:
    refusal = {"Error": {"Code": "AccessDeniedException", "Message": "a prompt"}}
    said = raised(ClientError(refusal, "GetItem"))
    assert said.startswith("ClientError (AccessDeniedException of GetItem) at ")
    assert "prompt" not in said
