"""The tokens that a model makes of an image of a size."""

import math
from collections.abc import Mapping

# Names of transformers' image processors: scaled = Qwen2-VL, fitted = Pixtral, tiles = InternVL.
_LONGEST_RATIO = 200  # smart_resize of Qwen2-VL refuses longer images


def tokens_of_image(width: int, height: int, law: Mapping[str, object]) -> int | None:
    """Return the tokens; None = the law is not known. law: the values of the catalog's VisionShape.

    Raises ValueError for a shape that the model refuses; its text ends a sentence.
    """
    numbers = {name: value for name, value in law.items() if isinstance(value, int)}
    match law.get("law"):
        case "scaled":
            return _scaled(width, height, numbers)
        case "fitted":
            ratio = max(width, height) / numbers["longest_side"]
            across, down = (max(1, math.floor(side / max(1, ratio))) for side in (width, height))
            columns, rows = (-(-side // numbers["patch"]) for side in (across, down))
            return rows * (columns + 1)  # each row ends with a token of its own
        case "tiles":
            tiles = _tiles(width, height, numbers)
            return (tiles + (tiles > 1)) * numbers["tokens"]  # and a small picture of the whole
        case "fixed":
            return numbers["tokens"]
    return None


def _scaled(width: int, height: int, law: Mapping[str, int]) -> int:
    """Round the sides to squares, and scale the picture into its limits, as Qwen2-VL's smart_resize."""
    if max(width, height) > _LONGEST_RATIO * min(width, height):
        raise ValueError(f"is more than {_LONGEST_RATIO} times as long as wide, which the model refuses; crop it")
    side, least, most = law["patch"], law["least_pixels"], law["most_pixels"]
    columns, rows = (max(1, round(each / side)) for each in (width, height))
    if columns * rows * side**2 > most:
        scale = math.sqrt(width * height / most)
        columns, rows = (max(1, math.floor(each / scale / side)) for each in (width, height))
    elif columns * rows * side**2 < least:
        scale = math.sqrt(least / (width * height))
        columns, rows = (math.ceil(each * scale / side) for each in (width, height))
    return columns * rows


def _tiles(width: int, height: int, law: Mapping[str, int]) -> int:
    """Return the tiles of the grid whose shape is nearest to the picture's; of equal ones, a large picture the most."""
    most, ratio, best, distance = law["most_tiles"], width / height, 1, math.inf
    sides = range(1, most + 1)
    grids = sorted(((a, b) for a in sides for b in sides if a * b <= most), key=math.prod)
    for columns, rows in grids:
        off = abs(ratio - columns / rows)
        fills = width * height > 0.5 * law["patch"] ** 2 * columns * rows
        if off < distance or (off == distance and fills):
            best, distance = columns * rows, off
    return best
