"""POST /embeddings and POST /rerank, in front of any engine that makes vectors or scores."""
