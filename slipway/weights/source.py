"""Where weights are read from, and the error of weights that are not whole."""

from typing import Protocol

from llm_hosting.deployment.printable import printable

_POINTER = b"version https://git-lfs."  # github.com/git-lfs/git-lfs, docs/spec.md
_PAGES = (b"<!doctype html", b"<html")


class Source(Protocol):
    """A place with the files of one model.

    place: for people. fix: what makes its files whole, in the imperative.
    """

    @property
    def place(self) -> str: ...

    @property
    def fix(self) -> str: ...

    def read(self, path: str, start: int, size: int, /) -> bytes:
        """Read these bytes of a file, fewer at its end."""


class BrokenWeightsError(Exception):
    """The files are not the whole model. The message is one sentence: the problem, and the fix in the imperative."""

    def __init__(self, problem: str, fix: str) -> None:
        self.problem, self.fix = str(printable(problem)), fix  # an index may name any file
        super().__init__(f"{self.problem}; {fix}.")


def broken(source: Source, path: str, why: str) -> BrokenWeightsError:
    """Return the error of one file. why: ends a sentence, such as `it is cut`."""
    return BrokenWeightsError(f"{path} of {source.place} is broken: {why}", source.fix)


def demand_no_disguise(source: Source, path: str, begin: bytes) -> None:
    """Raise BrokenWeightsError if the first bytes are of a git-lfs pointer or of an HTML page."""
    if begin.startswith(_POINTER):
        problem = f"{path} of {source.place} is a git-lfs pointer, not the file itself"
        raise BrokenWeightsError(problem, f"get the file by `git lfs pull`, then {source.fix}")
    if begin.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES):
        problem = f"{path} of {source.place} is an HTML page, perhaps of a login, not the file itself"
        raise BrokenWeightsError(problem, source.fix)
