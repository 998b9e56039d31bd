"""OpenAI's own SDK, unmodified, with a token of an identity provider as its API key."""

from collections.abc import Mapping

import openai
import pytest

from .conftest import Served
from .test_openai import ASKED, sdk


@pytest.fixture
def tokens(served: Mapping[str, Served]) -> Served:
    return served["tokens"]


def test_a_token_is_a_key_on_every_route_of_openai(tokens: Served) -> None:
    client = sdk(tokens)
    assert client.chat.completions.create(**ASKED).choices[0].message.content
    assert list(client.chat.completions.create(**ASKED | {"stream": True}))
    assert client.models.list().data
    file = client.files.create(file=("lines.jsonl", b"{}\n"), purpose="batch")
    assert client.files.retrieve(file.id).id == file.id


def test_a_changed_token_is_an_authentication_error(tokens: Served) -> None:
    with pytest.raises(openai.AuthenticationError) as raised:
        sdk(tokens, api_key=tokens.key[:-6] + "AAAAAA").models.list()
    assert raised.value.code == "invalid_token"
