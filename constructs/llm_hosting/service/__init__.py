"""A hosted model behind its API, as one construct for any stack."""

from .llm_service import LlmService

__all__ = ["LlmService"]
