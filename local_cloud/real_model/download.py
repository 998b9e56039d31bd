"""Prints the folder of a model of the Hub: `python download.py <id>`, in a Python with huggingface_hub.

A model in the Hub's own cache is used as it is, without the network. If there is no folder, it ends with status 1 and
the reason as its last line.
"""

import sys
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
SUBFOLDERS = ["*/*"]  # they hold weights of other libraries


def main(model: str) -> None:
    """Download the model unless the cache has all of it."""
    wanted: dict[str, Any] = {"repo_id": model, "allow_patterns": FILES, "ignore_patterns": SUBFOLDERS}
    try:
        try:
            folder = snapshot_download(**wanted, local_files_only=True)
        except LocalEntryNotFoundError:
            folder = snapshot_download(**wanted)
    except HfHubHTTPError as error:
        sys.exit(f"the Hub answers {error.response.status_code}")
    except LocalEntryNotFoundError:
        sys.exit("it is not in the Hub's cache, and the Hub can't be reached")
    except Exception as error:  # a broken connection, a full disk
        sys.exit(f"the download failed ({type(error).__name__}: {' '.join(str(error).split())})")
    print(folder)


if __name__ == "__main__":
    main(sys.argv[1])
