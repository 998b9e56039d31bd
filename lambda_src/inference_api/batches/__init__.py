"""OpenAI's Files and Batch API over the job engine: each line of a batch is a job of its owner."""
