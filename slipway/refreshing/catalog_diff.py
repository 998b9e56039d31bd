"""`slipway catalog diff`: what AWS publishes that the catalog does not know."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from slipway.refreshing import botocore_lists, image_list, price_list
from slipway.refreshing.difference import Difference
from slipway.refreshing.source import SourceError


def run(images: Sequence[str], prices: Sequence[str], *, as_json: bool) -> int:
    """Print the differences to botocore and to these sources, files or URLs.

    Returns the exit status: 0 if nothing differs, 1 if something does, 2 if a source can't be read.
    """
    try:
        named = [image_list.difference(source) for source in images]  # first: a wrong one is known at once
        named += [price_list.difference(source) for source in prices]
        found = [*botocore_lists.differences(), *named]
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps([asdict(each) for each in found], indent=2) if as_json else "\n".join(_lines(found)))
    return 0 if all(each.is_empty for each in found) else 1


def _lines(found: Sequence[Difference]) -> Iterator[str]:
    for each in found:
        counts = [(len(items), word) for word, items in _items(each)]
        said = ", ".join(f"{count} {word}" for count, word in counts if count)
        yield f"{each.source}: {each.subject}, {each.compared} compared: {said or 'nothing differs'}"
        for word, items in _items(each):
            yield from (f"  {word:<8} {item}" for item in items)


def _items(found: Difference) -> tuple[tuple[str, Sequence[object]], ...]:
    return ("new", found.new), ("gone", found.gone), ("changed", found.changed)
