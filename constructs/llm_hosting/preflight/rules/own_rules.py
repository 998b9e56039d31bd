"""Rules of the user's project: its rules.py, which runs beside our rules."""

import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from ...deployment.finding import Finding
from ...project import ProjectError, kept_for_project, project_in_use
from ...resolution import Resolution
from .rule import RULES, Law, Rule, Rules

FILE = "rules.py"  # in the user's project
# The decorators that rules.py imports from slipway.rules add to it.
OWN = Rules[Resolution]()


class RulesError(ProjectError):
    """rules.py of the project can't be used; the message names the line."""


@kept_for_project
def own_rules() -> tuple[Rule[Resolution], ...]:
    """Return the rules of the project in use. Raises RulesError if its rules.py can't be used."""
    project = project_in_use()
    if project is None or not (project / FILE).is_file():
        return ()
    OWN.clear()
    _run(project / FILE)
    others = {rule.id: "a rule of Slipway" for rule in RULES}
    for rule in OWN:
        if rule.id in others:
            line = rule.law.__code__.co_firstlineno
            raise _error(line, f"{rule.id} is {others[rule.id]} already; rename the function")
        others[rule.id] = "a rule of this file"
    return tuple(replace(rule, law=_guarded(rule.law)) for rule in OWN)


def all_rules() -> list[Rule[Resolution]]:
    """Return our rules, and those of the project after them."""
    return [*RULES, *own_rules()]


def _run(path: Path) -> None:
    spec = spec_from_file_location("rules_of_project", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise _error(error.lineno, error.msg) from error
    except (Exception, SystemExit) as error:
        raise _error(_line(error, path), _said(error)) from error


def _guarded(law: Law[Resolution]) -> Law[Resolution]:
    """Return the law with its own failures as RulesError."""
    place = Path(law.__code__.co_filename)

    @wraps(law)
    def guarded(resolution: Resolution) -> Iterator[Finding]:
        first = law.__code__.co_firstlineno
        try:
            findings = list(law(resolution))
        except (Exception, SystemExit) as error:
            line = _line(error, place) or first
            raise _error(line, f"the rule {law.__name__} failed: {_said(error)}") from error
        for each in findings:
            if not isinstance(each, Finding):
                raise _error(first, f"the rule {law.__name__} yields {each!r}; yield Finding(field, problem, fix)")
            if wrong := [name for name, value in vars(each).items() if not isinstance(value, str)]:
                problem = f"{wrong[0]} {getattr(each, wrong[0])!r}; use a text"
                raise _error(first, f"the rule {law.__name__} yields a finding with the {problem}")
            yield each

    return guarded


def _error(line: int | None, problem: str) -> RulesError:
    """Return the error with its place; the problem may have several lines."""
    place = f"{FILE}, line {line}" if line else FILE
    return RulesError(f"{place}: {' '.join(problem.split())}.")


def _line(error: BaseException, path: Path) -> int | None:
    """Return the last line of the file that led to the error; None = the file is not part of it."""
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if Path(each.filename) == path]
    return lines[-1] if lines else None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".: ")
