"""A deployment resolved once: image, host image, container settings, request schema, placements."""

from .container import Container
from .memory import Memory
from .placement import Placement
from .resolution import Resolution, moved, resolve

__all__ = ["Container", "Memory", "Placement", "Resolution", "moved", "resolve"]
