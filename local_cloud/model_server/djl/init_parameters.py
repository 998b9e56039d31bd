"""The properties that a handler gets with the warm-up call: the archive's, and those of the environment."""

from collections.abc import Mapping
from pathlib import Path

from local_cloud.model_server.djl.properties import read_properties

# Names that the server reads beside OPTION_*, from djl-serving's LmiUtils and PyEnv.
SHORT_NAMES = {
    "HF_MODEL_ID": "model_id",
    "HF_REVISION": "revision",
    "HF_MODEL_TRUST_REMOTE_CODE": "trust_remote_code",
    "TENSOR_PARALLEL_DEGREE": "tensor_parallel_degree",
}
_MIXED_CASE = {"entrypoint": "entryPoint"}  # option names are lower case but for this one


def init_parameters(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Without `option.`, as ModelInfo and PyModel of djl-serving hand them on; the file wins over the environment."""
    given = {SHORT_NAMES[name]: value for name, value in environment.items() if name in SHORT_NAMES}
    for prefix in ("SERVING_", "OPTION_"):
        for name, value in environment.items():
            if name.startswith(prefix):
                option = name.removeprefix(prefix).lower()
                given[_MIXED_CASE.get(option, option)] = value
    return given | {name.removeprefix("option."): value for name, value in read_properties(folder).items()}
