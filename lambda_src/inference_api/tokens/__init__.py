"""Callers with tokens of an OpenID Connect issuer. Only the authorizer imports this folder: PyJWT is in its layer."""
