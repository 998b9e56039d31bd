"""The user's project: the folder with `deployments/`, `fleets/`, `model_src/`, `app.py` and `cdk.json`."""

from pathlib import Path


def project_folder() -> Path:
    """Return the nearest folder, from the current one upwards, that is a project; the current one if none is."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if is_project(each)), here)


def is_project(folder: Path) -> bool:
    """Return whether the folder holds what makes it a project: `cdk.json` and `deployments/`."""
    return (folder / "cdk.json").is_file() and (folder / "deployments").is_dir()
