"""Turns a CDK template into a portable template with the same resources."""

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..resolution import Resolution
from .code.assets import Code, without_assets
from .editing.places import Template
from .names import with_own_name
from .parameters.own_image import in_region_of_stack
from .parameters.parameters import archive_parameter, parameters_of
from .rules import region_rules
from .salt import salt

MOST_BYTES_IN_REQUEST = 51_200  # the limit of TemplateBody in CreateStack and CreateStackSet
MOST_BYTES_IN_BUCKET = 1_000_000  # the limit of TemplateURL, "1 MB", in the smaller of its two readings

_BOOTSTRAP = {"Parameters": "BootstrapVersion", "Rules": "CheckBootstrapVersion"}
_SHORT = 20
_SECTIONS = ("Description", "Metadata", "Parameters", "Rules", "Conditions", "Mappings", "Resources", "Outputs")


@dataclass(frozen=True)
class PortableTemplate:
    """A portable template.

    content: the template. parameters: the deployment's own values that the template does not have as defaults.
    archives: objects by their keys, for the buckets `<ArchiveBucketPrefix>-<region>`.
    """

    content: Template
    parameters: dict[str, str] = field(default_factory=dict)
    archives: dict[str, bytes] = field(default_factory=dict)

    def body(self) -> str:
        """Return the template as YAML, in which code and scripts stay readable."""
        sections = {name: _written({name: self.content[name]}) for name in _SECTIONS if self.content.get(name)}
        if "Mappings" in sections:
            # The code stands there in depth 8. Half of these spaces save 50 kB of the 1 MB that CloudFormation takes.
            sections["Mappings"] = re.sub("^ {2,8}", _half, sections["Mappings"], flags=re.MULTILINE)
        return "".join(sections.values())


def portable_template(
    template: Template,
    name: str,
    resolution: Resolution,
    assets: Mapping[str, Path],
    values: Mapping[str, str],
    code: Code = "inline",
) -> PortableTemplate:
    """Return the portable template of a deployment.

    template: the CDK's template of the deployment with that name. assets: files and folders by object key.
    values: the known values of parameters, because some ids hold a hash of them. code: the form of the functions' code.
    Raises InlineCodeError.
    """
    content, archives = without_assets(without_bootstrap(template), assets, code)
    content["Resources"] = with_own_name(content["Resources"], name)
    content["Outputs"] = with_own_name(content["Outputs"], name)
    in_region_of_stack(content, resolution.image)
    parameters = [*parameters_of(resolution, content), *([archive_parameter()] if archives else [])]
    for parameter in parameters:
        for put in parameter.places:
            put(content)
        content["Parameters"][parameter.name] = parameter.declaration
        for section in ("Conditions", "Mappings", "Rules"):
            content.setdefault(section, {}).update(getattr(parameter, section.lower()))
    content["Rules"] |= region_rules(content)
    own = {each.name: each.own for each in parameters if each.own is not None}
    salt(content, values, own)
    return PortableTemplate(content, own, archives)


def without_bootstrap(template: Template) -> Template:
    """Return a copy without the CDK's own parameter, rule and metadata."""
    content = copy.deepcopy(template)
    for section, name in _BOOTSTRAP.items():
        content[section].pop(name)
    for resource in content["Resources"].values():
        resource.pop("Metadata", None)
    return content


def _written(section: Template) -> str:
    text: str = yaml.dump(section, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return text


def _half(spaces: re.Match[str]) -> str:
    return " " * (len(spaces[0]) // 2)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        """Write no YAML aliases: CloudFormation does not read them."""
        return True


def _text(dumper: Any, text: str) -> Any:
    # YAML readers disagree on which of these are numbers: 012345678901 (an account), 12e5678 (an image's tag).
    style = "|" if "\n" in text else "'" if text[:1].isdigit() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: Any, items: list[Any]) -> Any:
    """Write a list of short texts, such as the values of a parameter, on one line."""
    short = all(isinstance(each, str) and len(each) <= _SHORT for each in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
