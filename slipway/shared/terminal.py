"""Questions to the person at the terminal."""

import sys


class NoTerminalError(Exception):
    """There is nobody to ask; the message is one sentence."""


def ask_on_terminal(prompt: str, *, to: str, done: str) -> str:
    """Show the prompt and return the answer; Ctrl-D answers nothing.

    to, done: the action in both forms, such as `remove` and `removed`. Raises NoTerminalError.
    """
    if not sys.stdin.isatty():
        raise NoTerminalError(f"Nothing was {done}: there is no terminal to ask on. Use --yes to {to} without asking.")
    try:
        return input(prompt).strip()
    except EOFError:
        print()
        return ""
