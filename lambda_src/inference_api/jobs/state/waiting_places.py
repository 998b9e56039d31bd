"""The places of held callers: one item of the table lists the callers who are held at this moment."""

from math import ceil
from typing import Any

from botocore.exceptions import ClientError

from inference_api.jobs.state import items
from inference_api.shared.attributes import number
from inference_api.shared.runtime import Runtime

# Clocks of functions differ.
_SPARE_IN_SECONDS = 5
_MOST_REMOVED = 100  # sets in one expression

_FREE = (
    "attribute_not_exists(places) OR size(places) < :most AND attribute_not_exists(#owner)"
    " OR size(places) < :most AND size(#owner) < :share"
)

Sets = dict[str, list[str]]


class WaitingPlaces:
    """At most `most` callers are held at once, and one caller has at most half of the places.

    A place is a text that begins with the second in which it expires, because a function that is killed gives none
    back. The item holds all places in the set `places`, and each caller's places in a set under the caller's hash. A
    repeated write changes nothing.
    """

    def __init__(self, client: Any, table: str, runtime: Runtime, most: int) -> None:
        self._client, self._table, self._runtime, self._most = client, table, runtime, most

    def take(self, owner: str, until: float) -> str | None:
        """Take a place for a caller until `until`. Return None if none is free. Raises botocore's errors."""
        place = f"{ceil(until) + _SPARE_IN_SECONDS}.{self._runtime.random.getrandbits(32):08x}"
        if not self._most:
            return None
        taken, found = self._add(owner, place)
        if not taken and (expired := self._expired(found)):
            # An expression has at most 4 kB.
            names = sorted(expired, key=lambda name: name not in ("places", owner))[:_MOST_REMOVED]
            self._remove({name: expired[name] for name in names})
            taken, _ = self._add(owner, place)
        return place if taken else None

    def give_back(self, owner: str, place: str) -> None:
        """Free a place before it expires. Raises botocore's errors."""
        self._remove({"places": [place], owner: [place]})

    def _add(self, owner: str, place: str) -> tuple[bool, dict[str, Any]]:
        """Add a place. Return whether it was added; if not, also the sets that were found."""
        numbers = {":most": self._most, ":share": ceil(self._most / 2)}
        try:
            self._client.update_item(
                TableName=self._table,
                Key=items.WAITING_KEY,
                UpdateExpression="ADD places :place, #owner :place",
                ConditionExpression=_FREE,
                ExpressionAttributeNames={"#owner": owner},
                ExpressionAttributeValues={":place": {"SS": [place]}}
                | {name: number(value) for name, value in numbers.items()},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False, error.response.get("Item", {})
        return True, {}

    def _expired(self, found: dict[str, Any]) -> Sets:
        now = self._runtime.now()
        sets = {name: value["SS"] for name, value in found.items() if "SS" in value}
        expired = {name: [place for place in places if float(place[:10]) < now] for name, places in sets.items()}
        return {name: places for name, places in expired.items() if places}

    def _remove(self, sets: Sets) -> None:
        names = {f"#{number}": name for number, name in enumerate(sets)}
        values = {f":{number}": {"SS": places} for number, places in enumerate(sets.values())}
        removals = ", ".join(f"#{number} :{number}" for number in range(len(sets)))
        self._client.update_item(
            TableName=self._table,
            Key=items.WAITING_KEY,
            UpdateExpression=f"DELETE {removals}",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )
