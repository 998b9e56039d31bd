"""Measurements of an answer by the model: overhead of the function, streams, the generation worker."""
