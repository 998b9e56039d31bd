"""The layer of the authorizer of tokens: PyJWT and cryptography, from wheels pinned by hash."""

from .archive import layer_archive, layer_hash

__all__ = ["layer_archive", "layer_hash"]
