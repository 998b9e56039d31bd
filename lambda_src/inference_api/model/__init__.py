"""The model behind the API: its endpoint, its state, and the body of a request."""
