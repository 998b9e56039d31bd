"""LiteLLM's calls, in its own environment: `litellm_calls.py <body> <tools>` prints its answers as JSON."""

import json
import os
import sys

import litellm

litellm.suppress_debug_info = True  # LiteLLM prints it before an error
asked, tools = map(json.loads, sys.argv[1:])
asked |= {"model": f"openai/{asked['model']}", "api_base": os.environ["API_URL"], "api_key": os.environ["API_KEY"]}
whole = litellm.completion(**asked)
pieces = list(litellm.completion(**asked, stream=True, stream_options={"include_usage": True}))
texts = [choice.delta.content for piece in pieces for choice in piece.choices if choice.delta.content]
called = []
for tool in tools:
    chosen = {"type": "function", "function": {"name": tool["function"]["name"]}}
    tooled = litellm.completion(**asked | {"max_tokens": 100, "tools": [tool], "tool_choice": chosen})
    called += [call.function.name for call in tooled.choices[0].message.tool_calls]
try:
    litellm.completion(**asked | {"api_key": "b" * 50})
    refused = None
except litellm.AuthenticationError as error:
    refused = error.status_code
answers = {"whole": whole.choices[0].message.content, "streamed": texts, "usage": pieces[-1].usage.total_tokens}
print(json.dumps(answers | {"called": called, "refused": refused}))
