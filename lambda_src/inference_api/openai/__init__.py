"""OpenAI's chat completions and completions, in front of any engine."""
