"""DJL's Python contract, as handlers use it.

Shapes and defaults: deepjavalibrary/djl-serving, djl_python/inputs.py and outputs.py.
"""

from .inputs import Input
from .outputs import Output

__all__ = ["Input", "Output"]
