"""Metrics that tell how long instances of a hosting ran."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Metric(NamedTuple):
    """One metric of CloudWatch."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]


@dataclass(frozen=True)
class Meter:
    """A metric that has data only while instances run.

    types: their instance types. samples_per_hour: the samples of one instance in an hour; None = the metric is that of
    one instance, and a period with any data is one in which it ran. by_type: metrics whose samples are shared by the
    types as the hours are; empty = there is one type.
    """

    metric: Metric
    types: tuple[str, ...]
    samples_per_hour: int | None = None
    by_type: Mapping[str, Metric] = field(default_factory=dict)
