"""LiteLLM's calls, in its own environment: `litellm_calls.py <body> <tools>` prints its answers as JSON."""

import json
import os
import sys

import litellm

litellm.suppress_debug_info = True  # printed in front of an error
asked, tools = map(json.loads, sys.argv[1:])
asked |= {"model": f"openai/{asked['model']}", "api_base": os.environ["API_URL"], "api_key": os.environ["API_KEY"]}
whole = litellm.completion(**asked)
pieces = list(litellm.completion(**asked, stream=True, stream_options={"include_usage": True}))
texts = [choice.delta.content for piece in pieces for choice in piece.choices if choice.delta.content]
chosen = {"type": "function", "function": {"name": tools[0]["function"]["name"]}}
tooled = litellm.completion(**asked | {"max_tokens": 100, "tools": tools, "tool_choice": chosen})
(call,) = tooled.choices[0].message.tool_calls
try:
    litellm.completion(**asked | {"api_key": "b" * 50})
    refused = None
except litellm.AuthenticationError as error:
    refused = error.status_code
answers = {"whole": whole.choices[0].message.content, "streamed": texts, "usage": pieces[-1].usage.total_tokens}
print(json.dumps(answers | {"tool": call.function.name, "refused": refused}))
