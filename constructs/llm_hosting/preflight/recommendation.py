"""Judges every instance type by all rules, as if the deployment file named it."""

from collections.abc import Collection
from dataclasses import dataclass

from ..catalog.instances import InstanceType, types_for
from ..deployment.finding import Finding
from ..deployment.model import Deployment
from ..resolution import moved, resolve
from ..resolution.estimates import Rate, token_rate
from .report import Figures, figures_of
from .rules.suitable_type import NO_SECRET_YET, by_price
from .validation import errors_of_type

_USUAL_BATCH = 256  # requests that one copy computes together: vLLM's max_num_seqs
REQUESTS_AT_ONCE = "requests-at-once"  # not one of the rules, because a deployment file does not state its load


@dataclass(frozen=True)
class Alternative:
    """One instance type, judged for a deployment.

    problems: why the type can't be used; empty = it holds the model and the requests.
    requests: requests with the whole context that the instance holds at once; None = not known.
    rate: speed with the requests that are asked for.
    full_rate: speed with as many requests as the memory and the engine's batch hold.
    """

    instance: InstanceType
    figures: Figures
    requests: float | None
    rate: Rate | None
    full_rate: Rate | None
    problems: tuple[Finding, ...]

    @property
    def usd_per_million_tokens(self) -> float | None:
        """The price of answers if the requests that are asked for run all the time."""
        return self._per_million(self.rate)

    @property
    def usd_per_million_tokens_when_full(self) -> float | None:
        """The price of answers with full batches."""
        return self._per_million(self.full_rate)

    def _per_million(self, rate: Rate | None) -> float | None:
        price = self.instance.likely_usd_per_hour
        return price / 3600 / rate.tokens_per_second * 1e6 if rate and price else None


def left_out(deployment: Deployment) -> list[str]:
    """Return the settings of the deployment that suit its own type only."""
    own = {
        "serving.tensor_parallel_degree": deployment.serving.tensor_parallel_degree,
        "hosting.volume_size_in_gb": deployment.hosting.volume_size_in_gb,
    }
    return [field for field, value in own.items() if value is not None]


def alternatives(
    deployment: Deployment, *, context: int | None, requests: int, types: Collection[str] = ()
) -> list[Alternative]:
    """Return all types of the deployment's mode, cheapest first, then smallest; unknown prices come last.

    context: tokens of one request; None = the deployment's, otherwise the model's.
    types: the types to judge; empty = all.
    Degree and volume are each type's own, whatever the deployment says (`left_out`).
    """
    changed = {"tensor_parallel_degree": None} | ({"max_model_len": context} if context else {})
    serving = deployment.serving.model_copy(update=changed)
    resolution = resolve(deployment.model_copy(update={"serving": serving}))
    found = []
    for instance in types_for(on_machines=deployment.hosting.runs_on_machines).values():
        if types and instance.type not in types:
            continue
        here = moved(resolution, instance.type)
        (placement,) = here.placements
        figures, tokens = figures_of(placement, here.inference_ami_version), placement.memory.context
        held = figures.requests_at_full_length
        at_once = None if held is None else held * placement.copies
        problems = [finding for finding in errors_of_type(here) if finding.rule != NO_SECRET_YET]
        if not problems and at_once is not None and at_once < requests:
            problem = f"{instance.type} holds {at_once:,.1f} requests of {tokens:,} tokens at once"
            problems = [Finding("hosting.instance_type", problem, rule=REQUESTS_AT_ONCE)]
        rate = token_rate(placement, requests, tokens) if tokens else None
        batch = (here.container.max_batch_size or _USUAL_BATCH) * placement.copies
        most = min(int(at_once or 0), batch)
        full_rate = token_rate(placement, most, tokens) if tokens and most else None
        found.append(Alternative(instance, figures, at_once, rate, full_rate, tuple(problems)))
    return sorted(found, key=lambda each: by_price(each.instance))
