"""The instance type to use instead of a refused one: the same in all findings of a deployment."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from ...catalog.instances import KINDS, InstanceType, types_for
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Placement, Resolution, moved
from ...resolution.memory import ALL_LAYERS, GB, GPU_LAYERS, weights_in_files
from ...resolution.recurrent_state import compares_blocks, requests_at_once
from .own_rules import all_rules
from .rule import Rule

SUCH_AS = "<, such as>"  # the place of the suggested type in a fix: no rule chooses one itself
OTHER_MACHINES = "image-fits-platform"  # the rule that asks for another kind of instance type
NO_SECRET_YET = "gated-model-needs-token"  # a rule that does not depend on the type
CLOSE = 0.92  # share of the available memory above which weights barely fit
CLOSE_TO_BLOCKS = 1.4  # published numbers of blocks for recurrent states are 70 to 96 % of the estimate
SYSTEM_IN_GB = 4  # 2 for Amazon Linux, 2 for torch on CPUs and its packages
_WINDOW_IN_LLAMA_CPP = {"llama4"}  # its files do not tell the window
_CHANGES_LLAMA_CACHE = re.compile(r"CACHE_TYPE|KV_OFFLOAD|FIT|SPLIT_MODE|OVERRIDE_TENSOR|CPU_MOE|DEVICE")
_CHECKS_CONTEXT_FROM = "0.2.7"  # from here on vLLM ends when its cache can't hold one request of the whole context


def with_type(resolution: Resolution, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with the suitable type in each fix that asks for one."""
    asking = {finding.rule for finding in findings if SUCH_AS in finding.fix}
    if not asking:
        return list(findings)
    speaking = {finding.rule for finding in findings}
    found = suitable_type(resolution, speaking)
    if found is None:  # because of a problem that no type solves: such rules are left out
        found = _cheapest(resolution, speaking, [law for law in _errors() if law.id not in speaking - asking])
    words = f", such as {found.with_price}" if found else ""
    return [replace(finding, fix=finding.fix.replace(SUCH_AS, words)) for finding in findings]


def without_type(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without a suggested type in their fixes."""
    return [replace(finding, fix=finding.fix.replace(SUCH_AS, "")) for finding in findings]


def suitable_type(resolution: Resolution, speaking: Collection[str]) -> InstanceType | None:
    """Return the cheapest type that no rule refuses; None = there is none. speaking: ids of the rules with findings."""
    return _cheapest(resolution, speaking, _errors())


def is_accepted(resolution: Resolution) -> bool:
    """Whether the model fits on all types, and no rule refuses it."""
    has_room = all(holds_memory(each) and not lacks_disk(each) for each in resolution.placements)
    return has_room and not any(law.findings(resolution) for law in _errors())


def _errors() -> list[Rule[Resolution]]:
    return [rule for rule in all_rules() if rule.level == "error" and rule.id != NO_SECRET_YET]


def _kinds(resolution: Resolution, speaking: Collection[str]) -> Collection[str]:
    """Return the kinds of instance types to search."""
    if resolution.deployment.hosting.runs_on_machines:
        return {"cpu"}
    present = {placement.instance.kind for placement in resolution.placements}
    version = resolution.container.version
    if OTHER_MACHINES in speaking and version and version.platform:
        return {version.platform}
    return KINDS if OTHER_MACHINES in speaking or not present else present


def _cheapest(
    resolution: Resolution, speaking: Collection[str], laws: Sequence[Rule[Resolution]]
) -> InstanceType | None:
    """Return the cheapest type that holds the model and keeps these laws; None = there is none.

    Types of unknown price come last, the smallest first. All settings stay, except the volume, which follows the type.
    """
    kinds, laws = _kinds(resolution, speaking), sorted(laws, key=lambda law: law.id not in speaking)
    types = types_for(on_machines=resolution.deployment.hosting.runs_on_machines).values()
    judged = {placement.instance.kind for placement in resolution.placements}
    for instance in sorted((each for each in types if each.kind in kinds), key=by_price):
        # With another kind the image may change, and with it the memory that the engine needs.
        if instance.kind in judged and not holds_memory(Placement(resolution.container, instance)):
            continue
        here = moved(resolution, instance.type)
        if not all(holds_memory(each) and not lacks_disk(each) for each in here.placements):
            continue
        if not any(law.findings(here) for law in laws):
            return instance
    return None


def by_price(instance: InstanceType) -> tuple[float, float, int, str]:
    """Return a sort key: the cheapest first, then the smallest."""
    memory = (instance.accelerator_memory_in_mib or 0) * instance.accelerator_count
    return instance.likely_usd_per_hour or float("inf"), memory, instance.vcpu, instance.type


def holds_memory(placement: Placement) -> bool:
    """Whether the weights fit with room to spare, together with the context that the engine needs at its start."""
    need, tokens = placement.memory, tokens_needed_at_once(placement) or 0
    holds_cache = need.cached_tokens is None or need.cached_tokens >= tokens
    holds_weights = need.share_needed <= CLOSE and need.before_fp8 <= need.visible * CLOSE
    return holds_weights and holds_cache and not lacks_blocks(placement, with_room=True)


def lacks_blocks(placement: Placement, *, with_room: bool = False) -> bool:
    """Whether vLLM ends at its start because it has fewer blocks for recurrent states than requests may run at once.

    with_room: demand more than the estimate, unless the deployment states the number of requests.
    """
    container, need = placement.container, placement.memory
    if not need.per_running_request or need.left_for_cache is None or need.share_needed > 1:
        return False
    room = CLOSE_TO_BLOCKS if with_room and not container.max_batch_size else 1
    return compares_blocks(container) and need.most_running < room * requests_at_once(container, placement.instance)


def lacks_disk(placement: Placement) -> bool:
    """Whether the disk can't hold the files; a machine's disk also holds its system."""
    size, disk = weights_in_files(placement.container), placement.disk_in_gb
    beside = SYSTEM_IN_GB if placement.container.deployment.hosting.runs_on_machines else 0
    return size is not None and disk is not None and size > (disk - beside) * GB


def tokens_needed_at_once(placement: Placement) -> int | None:
    """Return the tokens that an engine must hold at its start; None = it takes the length that fits, as TGI does."""
    container = placement.container
    if container.server == "llama-cpp":
        return container.max_model_len if _sets_all_aside(placement) else None
    if container.engine in ("lmi-neuronx", "tgi-neuronx"):
        return container.max_model_len and container.max_model_len * (container.max_batch_size or 1)
    checks = (
        container.runs_vllm
        and not container.length_is_automatic
        and not container.runs_own_branch
        and not is_before(container.vllm, _CHECKS_CONTEXT_FROM)
    )
    return placement.memory.context if checks else None


def _sets_all_aside(placement: Placement) -> bool:
    """Whether llama.cpp keeps the whole cache in 16 bits on GPUs: layers with a window keep less."""
    container, shape = placement.container, placement.container.shape
    is_plain = shape is not None and not shape.sliding_window and shape.architecture not in _WINDOW_IN_LLAMA_CPP
    is_told = any(_CHANGES_LLAMA_CACHE.search(name) for name in container.environment)
    has_all_layers = container.number(*GPU_LAYERS) == ALL_LAYERS
    return is_plain and not is_told and placement.instance.kind == "gpu" and has_all_layers
