"""The rule over what others reported as failing."""

import re
from collections.abc import Iterator

from ..catalog.known_failures import known_failures
from ..deployment import Deployment
from .finding import warning
from .plan import plans

_TEXT_EMBEDDINGS_INFERENCE = re.compile(r"[:-]tei(\d+\.\d+\.\d+)")


@warning
def published_failure(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Combinations that people reported as failing."""
    said = set()
    for plan in plans(deployment):
        versions = {plan.engine: plan.version.label if plan.version else None}
        versions |= {"vllm": plan.vllm} if plan.vllm else {}
        if embeds := _TEXT_EMBEDDINGS_INFERENCE.search(deployment.serving.image_uri or ""):
            versions["tei"] = embeds[1]
        like = (plan.instance.family, plan.model_id, plan.quantization, plan.degree)
        for failure in known_failures(versions, *like):
            if plan.environment.keys() & set(failure.unless):
                continue
            where = f"{plan.instance.type} with " if failure.families else ""
            field = "serving.version" if failure.first or failure.last else "model.id"
            said.add(
                (
                    "hosting.instance_type" if failure.families else field,
                    f"{where}{failure.engine} {versions[failure.engine] or 'of an own image'} {failure.what} "
                    f"({failure.source}); {failure.fix}.",
                )
            )
    yield from sorted(said)
