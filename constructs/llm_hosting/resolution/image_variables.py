"""The variables that hold an engine to the images that a deployment takes."""

from ..catalog.versions import is_before
from ..deployment.model import Deployment

_LIMITS = {"djl": "OPTION_LIMIT_MM_PER_PROMPT", "vllm": "SM_VLLM_LIMIT_MM_PER_PROMPT"}
_HOSTS = {"djl": "OPTION_ALLOWED_MEDIA_DOMAINS", "vllm": "SM_VLLM_ALLOWED_MEDIA_DOMAINS"}
# Source: vllm_rb_properties.py and vision_language_models.md in djl-serving, branches 0.29.0-dlc to 0.34.0-dlc.
_LMI_LIMITS_FROM, _LMI_JSON_FROM = "0.30", "0.34"


def image_variables(deployment: Deployment, server: str, version: str) -> dict[str, str]:
    """Return the variables for `serving.images_per_prompt` and `api.fetch_urls`; none if the engine has no such."""
    most, hosts, variables = deployment.serving.images_per_prompt, deployment.api.fetch_urls, dict[str, str]()
    if server not in _LIMITS or deployment.serving.handler:
        return variables
    if most is not None and not (server == "djl" and is_before(version, _LMI_LIMITS_FROM)):
        is_json = server == "vllm" or not is_before(version, _LMI_JSON_FROM)
        variables[_LIMITS[server]] = f'{{"image": {most}, "video": 0}}' if is_json else f"image={most},video=0"
    if hosts:
        variables["VLLM_MEDIA_URL_ALLOW_REDIRECTS"] = "0"
    if len(hosts) == 1:  # a variable is one argument of vLLM, and holds one host
        variables[_HOSTS[server]] = hosts[0]
    return variables
