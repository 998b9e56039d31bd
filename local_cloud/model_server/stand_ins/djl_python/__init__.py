"""DJL's Python contract, as handlers use it.

Source of shapes and defaults: deepjavalibrary/djl-serving, djl_python/inputs.py and outputs.py.
"""

from .inputs import Input
from .outputs import Output

__all__ = ["Input", "Output"]
