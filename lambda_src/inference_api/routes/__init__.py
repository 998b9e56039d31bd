"""The routes of OpenAI's API that ask the model: a table for calls at once, for jobs and for batches."""
