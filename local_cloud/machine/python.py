"""The Python of a machine: the cloud's interpreter, on the cloud's clock, with stand-ins for packages.

Run it with an interpreter's arguments; `-m venv` and `-m pip` are imitated.
"""

import os
import runpy
import shlex
import sys
from pathlib import Path

from local_cloud.interpreters.start import command

COMMAND = command("local_cloud.machine.python")
STAND_INS = Path(__file__).with_name("stand_ins")
# The folder of a Hugging Face model, and an interpreter with torch and transformers, which runs the real server.
WEIGHTS, MODEL_PYTHON = "SLIPWAY_LOCAL_WEIGHTS", "SLIPWAY_LOCAL_MODEL_PYTHON"
_WITH_VALUE = ("-W", "-X")


def main() -> None:
    options, program = _split(sys.argv[1:])
    module = program[1] if program[:1] == ["-m"] else ""
    if module == "venv":
        _make_environment(Path(program[-1]))
    elif module == "pip":
        print("recorded, not run: pip", shlex.join(program[2:]))
    elif module == "generation" and WEIGHTS in os.environ and not _runs_on(os.environ[MODEL_PYTHON]):
        python = os.environ[MODEL_PYTHON]
        os.execv(python, command("local_cloud.machine.python", *options, *program, python=python))
    else:
        _run(options, program, module)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split into the interpreter's options and the program with its arguments."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-") and arguments[place] not in ("-m", "-c", "-"):
        place += 2 if arguments[place] in _WITH_VALUE else 1
    return arguments[:place], arguments[place:]


def _make_environment(folder: Path) -> None:
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, module in {"python": "", "python3": "", "python3.11": "", "pip": "-m pip "}.items():
        write_program(programs / name, f'exec {shlex.join(COMMAND)} {module}"$@"')


def write_program(path: Path, line: str) -> None:
    """Write an executable with one line of shell."""
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _runs_on(python: str) -> bool:
    return Path(sys.prefix) == Path(python).parent.parent


def _run(options: list[str], program: list[str], module: str) -> None:
    own = sys.path[:]
    if "-P" not in options and "PYTHONSAFEPATH" not in os.environ:
        own.insert(0, "" if module else str(Path(program[0]).parent) if program else "")
    is_real_server = module == "generation" and WEIGHTS in os.environ
    sys.path[:] = [*([] if is_real_server else [str(STAND_INS)]), *own]
    from local_cloud.machine import clock

    clock.install()
    if module:
        sys.argv = program[1:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif program[:1] == ["-c"]:
        sys.argv = ["-c", *program[2:]]
        exec(compile(program[1], "<string>", "exec"), {"__name__": "__main__"})
    elif program[:1] in ([], ["-"]):
        sys.argv = program or ["-"]
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = program
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main()
