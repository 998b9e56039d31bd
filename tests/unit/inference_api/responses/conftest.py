"""The functions' settings and the endpoint are those of the tests of chats."""

from unit.inference_api.openai.conftest import deploy, metered, sagemaker

__all__ = ["deploy", "metered", "sagemaker"]
