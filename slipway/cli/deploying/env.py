"""`slipway env`: prints the variables with which another shell talks to the local cloud."""

from argparse import Namespace

from llm_hosting.project import project_folder
from slipway.cli.arguments import port
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    text = 'set up a second shell for `local`: eval "$(slipway env)"'
    verb = add_verb(verbs, "env", text, run, more="prints the variables that Slipway, curl and the CDK need")
    verb.add_argument("--port", type=port, help="port of the local cloud (default 4566, else the only one that runs)")


def run(given: Namespace) -> int:
    from slipway.local import env

    return env.run(project_folder(), given.port)
