"""Compares the catalog's images with AWS's lists: a page of Markdown, or the folder from which AWS makes its pages."""

import os.path
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from llm_hosting.catalog.engines import ENGINES, EngineVersion, engine, find_image
from llm_hosting.catalog.left_out import why_image_is_left_out
from slipway.refreshing.difference import Change, Difference
from slipway.refreshing.source import other_form, read

_URL = re.compile(r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?/([a-z0-9-]+):([\w.-]+)")
_CUDA = re.compile(r"cu(\d{2})(\d)")


@dataclass(frozen=True)
class ListedImage:
    """An image in a list. tags: its names, the full one first. cuda: None = the list does not say."""

    repository: str
    tags: tuple[str, ...]
    cuda: float | None

    @property
    def name(self) -> str:
        """`repository:tag`."""
        return f"{self.repository}:{self.tags[0]}"


def difference(source: str) -> Difference:
    """Return the differences to a page (available_images.md), or to a folder (docs/src/data of the repository).

    No image is gone: the lists leave out old images, which the registry keeps. Raises SourceError.
    """
    listed = list(_of_folder(Path(source)) if os.path.isdir(source) else _of_page(read(source), source))
    ours = {version.repository for name in ENGINES for version in engine(name).versions.values() if version.tag}
    compared = [image for image in listed if image.repository in ours and not why_image_is_left_out(image.name)]
    if not compared:
        raise other_form(source, "it has no image of an engine in the catalog")
    new, changed = [], []
    for image in compared:
        known = _known(image)
        if known is None:
            new.append(image.name)
        elif image.cuda is not None and image.cuda != known.cuda:
            changed.append(Change(image.name, "CUDA", str(known.cuda), str(image.cuda)))
    return Difference(source, "images", len(compared), new=sorted(set(new)), changed=changed)


def _known(image: ListedImage) -> EngineVersion | None:
    for tag in image.tags:
        if found := find_image(f"/{image.repository}:{tag}"):
            return found
    if len(image.tags) > 1:
        return None
    versions = (version for name in ENGINES for version in engine(name).versions.values())
    alike = (version for version in versions if version.repository == image.repository)
    return next((version for version in alike if _shortens(image.tags[0], version.tag or "")), None)


def _shortens(tag: str, known: str) -> bool:
    """Whether a tag stands for a known one in short, as pages write it: 0.31-gpu-py312 for 0.31.0-gpu-py312-cu130."""
    version, _, rest = tag.partition("-")
    known_version, _, known_rest = known.partition("-")
    return known_version.startswith(f"{version}.") and f"{known_rest}-".startswith(f"{rest}-")


def _of_page(text: str, source: str) -> Iterator[ListedImage]:
    """Yield the images of all tables with a column of URLs."""
    column, found = None, False
    for line in text.splitlines():
        cells = [cell.strip().strip("`").strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            column = None
        elif column is None:
            column = cells.index("Example URL") if "Example URL" in cells else -1
        elif column < 0 and any(map(_URL.fullmatch, cells)):
            raise other_form(source, "a table has URLs of images in another column than `Example URL`")
        elif column >= 0 and not set("".join(cells)) <= set("-: "):
            url = cells[column] if column < len(cells) else ""
            if "repository-name>" in url:  # the table of regions
                continue
            named = _URL.fullmatch(url)
            if not named:
                raise other_form(source, f"{url!r} below Example URL is not the URL of an image")
            found = True
            if not named[2].endswith("-ec2"):  # which does not answer SageMaker
                yield ListedImage(named[1], (named[2],), None)
    if not found:
        raise other_form(source, "it has no table with images in a column `Example URL`")


def _of_folder(folder: Path) -> Iterator[ListedImage]:
    """Yield the images of all files `<repository>/<name>.yml`."""
    paths = sorted(path for path in folder.glob("*/*.yml") if path.parent.name != "template")
    if not paths:
        raise other_form(str(folder), "it has no files <repository>/<name>.yml")
    for path in paths:
        try:
            data = yaml.safe_load(read(str(path)))
        except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that no calendar has
            raise other_form(str(path), "it is not valid YAML") from error
        yield from _of_file(data, path)


def _of_file(data: Any, path: Path) -> Iterator[ListedImage]:
    tags, platform = (data.get("tags"), data.get("platform")) if isinstance(data, dict) else (None, None)
    if not tags or not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise other_form(str(path), "`tags` is not a list of tags")
    if not isinstance(platform, str):
        raise other_form(str(path), "`platform` is missing")
    cuda = _CUDA.fullmatch(str(data.get("cuda", "")))
    if data.get("cuda") and not cuda:
        raise other_form(str(path), f"cuda {data['cuda']!r} is not a version such as cu130")
    if platform != "ec2":
        repository = str(data.get("ecr_repository", path.parent.name))
        yield ListedImage(repository, tuple(tags), float(f"{cuda[1]}.{cuda[2]}") if cuda else None)
