"""OpenAI's Responses API, translated to chats and back: POST /responses."""
