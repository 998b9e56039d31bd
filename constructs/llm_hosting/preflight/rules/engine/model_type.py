"""The rule over model_type in config.json, which transformers looks up before an engine sees the architecture."""

from collections.abc import Iterator

from ....catalog.model_types import first_transformers
from ....catalog.versions import is_before
from ....deployment.finding import Finding
from ....resolution import Container, Resolution
from ..model import reason_against
from ..rule import error

_MISTRALS_OWN = "params.json"  # vLLM reads it in place of config.json
_OVERRIDES = ("HF_OVERRIDES", "CONFIG_FORMAT", "HF_CONFIG_PATH")  # other settings, or another file


@error
def model_type_is_known(resolution: Resolution) -> Iterator[Finding]:
    """transformers refuses a config.json whose model_type is newer than it, so the engine ends (transformers#36709).

    vLLM, SGLang and TGI have classes of their own for some types. A model that brings its own class is read by that.
    """
    container = resolution.container
    shape, transformers = container.shape, container.version.transformers if container.version else None
    if shape is None or transformers is None or reason_against(container) or not reads_config(container):
        return
    if container.lock and container.lock.has_own_code:
        return
    for name, since in first_transformers(shape, "vllm" if container.runs_vllm else container.server):
        if is_before(transformers, since):
            yield Finding(
                "serving.version",
                f"{container.engine} {container.label} has transformers {transformers}, which does not know the "
                f"model_type {name!r} of {container.model_id}: it comes with {since}",
                "use a newer version",
            )
            return


def reads_config(container: Container) -> bool:
    """Whether transformers, with its own class or the model's, reads the model's config.json as it lies there."""
    lock = container.lock
    reads_another = lock is not None and container.runs_vllm and _MISTRALS_OWN in lock.files
    is_overridden = any(name.endswith(_OVERRIDES) for name in container.environment)
    is_left_alone = not (container.may_have_own_code or reads_another or is_overridden)
    return is_left_alone and container.stored_quantization != "gguf"
