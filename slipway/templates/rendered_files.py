"""The files that `render` writes: template, values of its parameters, archives; and how to deploy them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llm_hosting.fleets.parameter_values import problems_of
from llm_hosting.portable.template import MOST_BYTES_IN_BUCKET, MOST_BYTES_IN_REQUEST, PortableTemplate

_SWITCH, _OF_SWITCH = "DeployEndpoint", ["true", "false"]


class ParametersFileError(Exception):
    """A file of parameters can't be read; the message is one sentence."""


class TooLargeError(ValueError):
    """CloudFormation refuses templates of this size; the message is one sentence."""


class RenderedFiles:
    """The files of one deployment. name: the deployment's, with which the files begin."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._template = folder / f"{name}.template.yaml"
        self._parameters = folder / f"{name}.parameters.json"
        self._archives = folder / "archives"

    def values(self) -> dict[str, str]:
        """Values of the parameters that an earlier run or a person has written. Raises ParametersFileError."""
        if not self._parameters.is_file():
            return {}
        try:
            rows = json.loads(self._parameters.read_text())
            return {row["ParameterKey"]: _text(row["ParameterValue"]) for row in rows}
        except (ValueError, TypeError, KeyError):
            form = '[{"ParameterKey": "...", "ParameterValue": "..."}, ...]'
            raise ParametersFileError(f"{self._parameters} is not {form}; mend or remove it.") from None

    def write(self, template: PortableTemplate, values: Mapping[str, str]) -> None:
        """Write the files. values: are kept in the file of parameters.

        Raises ParametersFileError for values that the template does not take, TooLargeError.
        """
        self._check(template.content.get("Parameters", {}), values)
        body = template.body()
        if (size := len(body.encode())) > MOST_BYTES_IN_BUCKET:
            fix = "; render it with --code archive" if "Code" in template.content.get("Mappings", {}) else ""
            most = f"{MOST_BYTES_IN_BUCKET:,} bytes"
            raise TooLargeError(f"{self.name}: its template has {size:,} bytes; CloudFormation takes {most}{fix}.")
        self._template.parent.mkdir(parents=True, exist_ok=True)
        self._template.write_text(body)
        if template.content.get("Parameters"):
            given = dict.fromkeys(_without_default(template), "") | template.parameters | {_SWITCH: "false"}
            given |= values
            rows = [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()]
            self._parameters.write_text(json.dumps(rows, indent=2) + "\n")
        for key, content in template.archives.items():
            self._archives.mkdir(exist_ok=True)
            (self._archives / key).write_bytes(content)

    def _check(self, declared: Mapping[str, Any], values: Mapping[str, str]) -> None:
        found = [
            f"{self._parameters}: {name}: {problem}; {fix}."
            for name, value in values.items()
            if value or name not in declared or "Default" in declared[name]  # empty: still to be filled in
            for problem, fix in problems_of(name, value, declared)
        ]
        if found:
            raise ParametersFileError("\n".join(found))

    def advice(self, template: PortableTemplate) -> Iterator[str]:
        """The lines to print: the files, the parameters to fill in, and the commands that deploy them."""
        size = self._template.stat().st_size
        fits = size <= MOST_BYTES_IN_REQUEST
        limit = f"upload it to a bucket, because a request takes at most {MOST_BYTES_IN_REQUEST:,}"
        way = "fits into a request" if fits else limit
        yield f"{self._template}: {size:,} bytes of at most {MOST_BYTES_IN_BUCKET:,}; {way}"
        if template.content.get("Parameters"):
            yield f"{self._parameters}: values of parameters; a later run keeps them"
            yield from self._to_fill_in(template)
        for key, content in template.archives.items():
            to = f"s3://<ArchiveBucketPrefix>-<region>/{key}"
            yield f"{self._archives / key}: {len(content):,} bytes; upload it to {to} in each region"
        yield from ("", *self._commands(fits=fits, parameters=bool(template.content.get("Parameters"))))

    def _to_fill_in(self, template: PortableTemplate) -> Iterator[str]:
        declared, values = template.content["Parameters"], self.values()
        for name in [name for name, value in values.items() if not value and "Default" not in declared[name]]:
            yield f"  fill in {name}: {declared[name]['Description']}"
        if own := [name for name in template.parameters if values[name] == template.parameters[name]]:
            yield f"  {', '.join(own)}: the deployment's own; another account or region may need another"
        for name, value in values.items():
            own = template.parameters.get(name, declared[name].get("Default"))
            if own and value != own and declared[name].get("AllowedValues") != _OF_SWITCH:
                yield f"  keeps {value!r} for {name}; the deployment file says {own!r}"
        if values[_SWITCH] == "false":
            yield f"  {_SWITCH} is false: no endpoint or machine, and nothing that bills by the hour, until it is true"

    def _commands(self, *, fits: bool, parameters: bool) -> Iterator[str]:
        template, file = shlex.quote(str(self._template)), shlex.quote(f"file://{self._parameters}")
        body = f"--template-body {shlex.quote(f'file://{self._template}')}"
        url = f"--template-url https://<bucket>.s3.<region>.amazonaws.com/{self._template.name}"
        one = [f"--stack-name {self.name} --template-file {template}", "--capabilities CAPABILITY_IAM"]
        many = [f"--stack-set-name {self.name} {body if fits else url}", "--permission-model SERVICE_MANAGED"]
        many.append("--auto-deployment Enabled=true,RetainStacksOnAccountRemoval=false")
        if not fits:
            one.append("--s3-bucket <bucket>")
        if parameters:
            one.append(f"--parameter-overrides {file}")
            many.append(f"--parameters {file}")
        yield "In one account and region:"
        yield f"  aws cloudformation deploy {' '.join(one)}"
        yield "In many, as a stack set" + ("" if fits else ", once the template lies in a bucket of yours") + ":"
        yield f"  aws cloudformation create-stack-set {' '.join(many)} --capabilities CAPABILITY_IAM"
        targets = "--deployment-targets OrganizationalUnitIds=<ou> --regions <region> <region>"
        yield f"  aws cloudformation create-stack-instances --stack-set-name {self.name} {targets}"
        yield "  (a delegated administrator adds --call-as DELEGATED_ADMIN to both)"


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise TypeError(value)
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _without_default(template: PortableTemplate) -> list[str]:
    return [name for name, each in template.content["Parameters"].items() if "Default" not in each]
