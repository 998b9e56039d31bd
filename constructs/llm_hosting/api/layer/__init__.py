"""The layer of the authorizer of tokens: PyJWT and cryptography, from wheels pinned by hash."""
