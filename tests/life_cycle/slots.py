"""What the shipped table adds to its owner's counter of open jobs together with a row."""

import random
from functools import cache
from typing import Any

from inference_api.jobs.table import Charge, JobTable
from inference_api.runtime import Runtime
from life_cycle.rows import Row

ONE_AT_ONCE = Charge(open_jobs=1, tokens_per_day=None, tokens=0, day="")


class Recorder:
    """A DynamoDB client on which every write succeeds."""

    def __init__(self) -> None:
        self.added = 0

    def put_item(self, **request: Any) -> None:
        """A row alone moves no slot."""

    def transact_write_items(self, *, TransactItems: list[dict[str, Any]], **token: str) -> None:
        """Sums what is added to the counter named `open`."""
        for update in (item["Update"] for item in TransactItems if "Update" in item):
            assert update["ExpressionAttributeNames"] == {"#counter": "open"}
            self.added += int(update["ExpressionAttributeValues"][":amount"]["N"])


@cache
def moved(old: Row | None, new: Row) -> int:
    """By how much the counter changes when the row `old`, None for no row, becomes `new`."""
    recorder = Recorder()
    table = JobTable(recorder, "jobs", Runtime(random=random.Random(0)))
    if old is None:
        table.add(new, ONE_AT_ONCE, None)
    else:
        table.change(old, lambda _: new)
    return recorder.added
