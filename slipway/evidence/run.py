"""Writes the evidence of a deployment: Markdown or JSON, to standard output or to a file."""

import dataclasses
import json
import sys
from pathlib import Path

from llm_hosting.file_errors import why
from slipway.changes.template.reading import NoTemplateError
from slipway.evidence.gather import of_deployment, of_file
from slipway.evidence.page import page


def run(deployment: str, project: Path, *, template: Path | None, as_json: bool, output: Path | None) -> int:
    """Write the evidence, and return the exit status: 1 if there is none, 2 if it can't be written.

    template: a file to read instead of a synth.
    """
    try:
        evidence = of_file(template) if template else of_deployment(deployment, project)
    except NoTemplateError as error:
        print(error, file=sys.stderr)
        return 1
    text = json.dumps(dataclasses.asdict(evidence), indent=2) + "\n" if as_json else page(evidence)
    if output is None:
        print(text, end="")
        return 0
    try:
        output.write_text(text)
    except OSError as error:
        print(f"--output: {output} can't be written: {why(error)}; name another file.", file=sys.stderr)
        return 2
    return 0
