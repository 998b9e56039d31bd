"""What a DJL Serving container is told: its environment, with the model data's serving.properties over it.

Sources: deepjavalibrary/djl-serving wlm/ModelInfo.java (serving.properties, then OPTION_* where the file says
nothing; `option.s3url` as a deprecated name of `option.model_id`, gone from 0.28 on),
serving/docs/lmi/deployment_guide (HF_MODEL_ID and the other short names since 0.27; before, a model is what lies in
/opt/ml/model or what SERVING_LOAD_MODELS names).
"""

from collections.abc import Mapping

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.djl.properties import read_properties, variables_of
from local_cloud.model_server.weights import model_folder

SHORT_NAMES_SINCE = (0, 27)
S3URL_UNTIL = (0, 28)
_SHORT_NAMES = {
    "HF_MODEL_ID": "OPTION_MODEL_ID",
    "HF_REVISION": "OPTION_REVISION",
    "HF_MODEL_TRUST_REMOTE_CODE": "OPTION_TRUST_REMOTE_CODE",
    "TENSOR_PARALLEL_DEGREE": "OPTION_TENSOR_PARALLEL_DEGREE",
}


def version_of(environment: Mapping[str, str]) -> tuple[int, ...]:
    """DJL Serving's version, such as (0, 22, 1); the newest that there can be where nobody says."""
    given = environment.get("SLIPWAY_LOCAL_ENGINE_VERSION")
    return tuple(int(part) for part in given.split(".")) if given else (9, 9)


def effective_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that has the same effect as environment and file together, with OPTION_* and SERVING_* names.

    Raises StartError for settings that contradict each other or that the container does not see.
    """
    version = version_of(environment)
    folder = model_folder(environment)
    properties = read_properties(folder) if folder else {}
    if version < SHORT_NAMES_SINCE:
        _demand_model_data(environment, bool(properties))
        settings = dict(environment)
    else:
        long_names = {name: environment[short] for short, name in _SHORT_NAMES.items() if environment.get(short)}
        settings = {**long_names, **environment}
    settings |= variables_of(properties)
    _read_s3url(settings, version)
    return settings


def whole_number(settings: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """The setting as a number; raises StartError in Java's words for one that is none."""
    given = settings.get(name, str(default))
    if not given.strip().isdecimal():
        raise StartError(f'NumberFormatException: For input string: "{given}" ({name})')
    if int(given) < least:
        raise StartError(f"IllegalArgumentException: {name} must be at least {least}, got {given}")
    return int(given)


def tensor_parallel_degree(settings: Mapping[str, str]) -> int | None:
    """How many accelerators share a model copy; None = as many as there are."""
    name = "OPTION_TENSOR_PARALLEL_DEGREE"
    return None if settings.get(name, "max") == "max" else whole_number(settings, name, 1)


def _demand_model_data(environment: Mapping[str, str], has_file: bool) -> None:
    folder = model_folder(environment)
    has_config = folder is not None and (folder / "config.json").is_file()
    if not (has_file or has_config or environment.get("SERVING_LOAD_MODELS")):
        version = environment["SLIPWAY_LOCAL_ENGINE_VERSION"]
        raise StartError(
            f"ModelNotFoundException: no model in /opt/ml/model: DJL Serving {version} takes its settings from a "
            "serving.properties in the model data"
        )


def _read_s3url(settings: dict[str, str], version: tuple[int, ...]) -> None:
    s3url = settings.pop("OPTION_S3URL", None)
    if s3url is None:
        return
    if version >= S3URL_UNTIL:
        # The option is not read any more, so the handler looks for the model where there is none.
        if not settings.get("OPTION_MODEL_ID"):
            raise StartError(
                "OSError: /opt/ml/model does not appear to have a file named config.json. (option.s3url is not read "
                "any more: use option.model_id)"
            )
    elif settings.get("OPTION_MODEL_ID"):
        raise StartError("MalformedModelException: model_id and s3url could not both set!")
    else:
        settings["OPTION_MODEL_ID"] = s3url
