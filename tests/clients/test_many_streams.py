"""Many streams at once, none of which is held back anywhere."""

import asyncio
from collections.abc import Mapping

import openai

from .conftest import Served
from .test_openai import ASKED

STREAMS = 50


def test_fifty_streams_at_once_have_all_begun_before_one_has_ended(served: Mapping[str, Served]) -> None:
    """2,000 tokens at four a second: SageMaker would end a stream that waits for its last token before it begins."""
    api, asked = served["sglang"], ASKED | {"max_tokens": 2000}

    async def ask_all() -> list[list[str | None]]:
        async with openai.AsyncOpenAI(base_url=api.url, api_key=api.key, max_retries=0) as client:

            async def begun() -> openai.AsyncStream[openai.types.chat.ChatCompletionChunk]:
                stream = await client.chat.completions.create(**asked, stream=True)
                await anext(stream)
                return stream

            streams = await asyncio.gather(*(begun() for _ in range(STREAMS)))
            second = [await anext(stream) for stream in streams]
            for stream in streams:
                await stream.close()
            return [[choice.finish_reason for choice in chunk.choices] for chunk in second]

    assert asyncio.run(ask_all()) == [[None]] * STREAMS, "each goes on"
