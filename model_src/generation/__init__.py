"""Text generation with transformers on CPUs."""
