"""An argument parser that suggests the nearest verb or option for a misspelt one, and the overview of all verbs."""

import argparse
import difflib
import textwrap
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

_WIDTH = 80  # a terminal's default
_TEXT_COLUMN = 14

Verbs = Any  # the result of argparse's add_subparsers, whose class is private
Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser of this command line; the parsers of its verbs have this class, too.

    summary: a verb's line in the overview. elsewhere: verbs of other commands -> a function that
    returns the command to use instead.
    """

    summary = ""
    elsewhere: Mapping[str, Callable[[], str]] = MappingProxyType({})

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but let the verb's own parser refuse a word that the verb does not take."""
        given, rest = self.parse_known_args(args, namespace)
        if rest:
            verb: Parser = getattr(given, "parser", self)
            verb.error(verb._unknown(rest[0].partition("=")[0], verb._option_string_actions))
        return given

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that must be one of a few; argparse calls this for each of them."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, self._unknown(value, action.choices))

    def _unknown(self, word: str, known: Iterable[str]) -> str:
        if word in self.elsewhere:
            return f"{word!r} is another command; use {self.elsewhere[word]()}"
        near = difflib.get_close_matches(word.lower(), list(known), n=1)
        return f"{word!r} is not known; {f'did you mean {near[0]}?' if near else f'see {self.prog} -h'}"


def add_verb(verbs: Verbs, name: str, text: str, run: Run, example: str = "", *, more: str = "") -> Parser:
    """Add a verb. The caller adds its arguments to the returned parser.

    text: its line in the overview. example: the words after `slipway <name>`. more: a remark that only the
    verb's own help shows.
    """
    epilog = f"for example: slipway {name} {example}" if example else None
    verb: Parser = verbs.add_parser(name, help=text, description=f"{text} ({more})" if more else text, epilog=epilog)
    verb.summary = text
    verb.set_defaults(run=run, parser=verb)
    return verb


def overview(groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return one line for each verb, below the heading of its group. groups: heading -> verb -> its summary."""
    lines = []
    for heading, verbs in groups.items():
        lines += ["", heading]
        for verb, text in verbs.items():
            name = f"  {verb}".ljust(_TEXT_COLUMN)
            lines += textwrap.wrap(text, _WIDTH, initial_indent=name, subsequent_indent=" " * _TEXT_COLUMN)
    return "\n".join(lines).strip("\n")
