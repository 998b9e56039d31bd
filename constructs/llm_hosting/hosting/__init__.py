"""The hosting modes: each composes the model with what brings requests and jobs to it."""
