"""Variables of a container that its entry point turns into flags of the server it starts.

Source: aws/deep-learning-containers scripts/docker/vllm/sagemaker_args.py, sglang/sagemaker_entrypoint.sh and
llama_cpp/sagemaker_entrypoint.sh: SM_VLLM_MAX_MODEL_LEN=8192 becomes --max-model-len 8192; "true" stands for the flag
alone, "false" for no flag.
"""

import re
from collections.abc import Mapping

from local_cloud.model_server.answer import StartError

_UNITS = {"k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2, "g": 1000**3, "G": 1024**3}


class ServerFlags:
    """The flags that an environment makes, by the name they have behind the prefix."""

    def __init__(self, environment: Mapping[str, str], prefix: str, program: str) -> None:
        self._program = program
        self._values = {
            name.removeprefix(prefix): value
            for name, value in environment.items()
            if name.startswith(prefix) and value.strip().lower() != "false"
        }

    def text(self, *names: str) -> str | None:
        """The value of the first of these flags that is given; None without any, and for an empty one."""
        return next((self._values[name] for name in names if self._values.get(name)), None)

    def number(self, *names: str, default: int, least: int = 1) -> int:
        """The flag as a number; raises StartError as argparse does."""
        given = self.text(*names)
        if given is None:
            return default
        if not re.fullmatch(r"-?\d+", given.strip()) or int(given) < least:
            raise self._invalid(names[0], "int", given)
        return int(given)

    def human_number(self, name: str, default: int) -> int:
        """Like `number`, but 8k is 8000 and 8K is 8192."""
        given = self.text(name)
        if given is None:
            return default
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", given.strip())
        if match is None or (length := int(float(match[1]) * _UNITS.get(match[2], 1))) < 1:
            raise self._invalid(name, "human_readable_int", given)
        return length

    def _invalid(self, name: str, kind: str, given: str) -> StartError:
        flag = "--" + name.lower().replace("_", "-")
        return StartError(f"{self._program}: error: argument {flag}: invalid {kind} value: '{given}'")
