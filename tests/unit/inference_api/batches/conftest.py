"""The functions' settings are those of the tests of chats."""

from unit.inference_api.openai.conftest import deploy

__all__ = ["deploy"]
