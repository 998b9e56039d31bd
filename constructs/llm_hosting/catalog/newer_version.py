"""A version of an engine that is newer than the catalog: its image, with the facts of the newest one that we know."""

import re
from collections.abc import Sequence
from dataclasses import replace

from .architectures import architectures
from .engines import BUILD, Engine, EngineVersion, Machine

_NUMBER = re.compile(r"\d+(?:\.\d+)*")


def newer_version(known: Engine, name: str, machine: Machine | None = None) -> EngineVersion | None:
    """Return the version that a label or a whole tag names, if it is newer than all versions of the same form.

    A label alone makes a tag only if the newest two tags differ in nothing but their labels. Returns None for any other
    name, and for a legacy engine, which is not built any more.
    """
    if known.legacy:
        return None
    for newest, before in _newest(known, name, machine):
        tag = newest.tag or ""
        if _form(name) == _form(tag):
            label = _label_in(name, newest)
        elif before and name != newest.label and tag.replace(newest.label, before.label) == before.tag:
            label, tag = name, tag.replace(newest.label, name)
        else:
            continue
        if label and _numbers(label) > _numbers(newest.label):
            return _at(newest, label, name if label != name else tag)
    return None


def _newest(known: Engine, name: str, machine: Machine | None) -> Sequence[tuple[EngineVersion, EngineVersion | None]]:
    """Return the newest version of each image whose label or tag has the form of the name, and the one before it."""
    alike: dict[tuple[object, ...], list[EngineVersion]] = {}
    for each in known.versions.values():
        if each.tag and _form(name) in (_form(each.label), _form(each.tag)):
            alike.setdefault((each.repository, each.platform, each.arch, _form(each.label)), []).append(each)
    ordered = [sorted(each, key=lambda version: _numbers(version.label)) for each in alike.values()]
    ordered = [each for each in ordered if not any(_is_later(other, each[-1]) for other in known.versions.values())]
    if len({(each[-1].platform, each[-1].arch) for each in ordered}) > 1:
        ordered = [each for each in ordered if (each[-1].platform, each[-1].arch) == machine]
    return [(each[-1], each[-2] if len(each) > 1 else None) for each in ordered]


def _is_later(other: EngineVersion, version: EngineVersion) -> bool:
    """Whether another form of tag took the place of this one: both begin with a version, and the other's is later."""
    ours, theirs = version.tag or "", other.tag or ""
    numbered = other.repository == version.repository and ours[:1].isdigit() and theirs[:1].isdigit()
    return numbered and _numbers(theirs)[0] > _numbers(ours)[0]


def _form(name: str) -> str:
    """Return the name with N for each run of digits, without the number of the build."""
    without = name if name.startswith("server-") else BUILD.sub("", name)
    return re.sub(r"\d+", "N", without)


def _numbers(label: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, number.split("."))) for number in _NUMBER.findall(label)]


def _label_in(tag: str, known: EngineVersion) -> str:
    """Return the label of a tag: its numbers stand where those of the known label stand in the known tag."""
    theirs, ours = _NUMBER.findall(known.tag or ""), _NUMBER.findall(tag)
    found = []
    for number in _NUMBER.findall(known.label):
        places = [place for place, each in enumerate(theirs) if f"{each}.".startswith(f"{number}.")]
        if len(places) != 1:
            return ""
        found.append(".".join(ours[places[0]].split(".")[: number.count(".") + 1]))
    return _NUMBER.sub(lambda _: found.pop(0), known.label)


def _at(known: EngineVersion, label: str, tag: str) -> EngineVersion:
    """Return the known version under another label and tag, with what the tag and the label themselves say."""

    def moved(version: str | None) -> str | None:
        return label if version == known.label else version

    cuda, library = re.search(r"cu(\d{2})(\d)\b", tag), known.architectures
    if library:  # the list of what runs is complete for a known version only
        library = replace(architectures(library.table, moved(library.version) or library.version), others=None)
    return replace(
        known,
        label=label,
        tag=tag,
        facts_from=known.label,
        cuda=float(f"{cuda[1]}.{cuda[2]}") if cuda else known.cuda,
        regions=None,
        vllm=moved(known.vllm),
        transformers=moved(known.transformers),
        architectures=library,
    )
