"""Parses the command line and hands over to the command's module."""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "constructs"))  # a source root, like `src/`

try:
    from llm_hosting import ACCOUNT_SETTINGS
    from llm_hosting.catalog.models import CatalogError
except ModuleNotFoundError as error:
    sys.exit(f"This Python has no {error.name}: run `make setup`, then `source .venv/bin/activate`.")


def main() -> None:
    """Run one command; each module is imported only when it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m slipway", description="Launch language models on AWS, or here.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    local = commands.add_parser("local", help="deploy on this machine, answer a request, stay until Ctrl-C")
    local.add_argument("deployment", type=_one_name, help="name or path of a deployment file")
    local.add_argument("--port", type=_port, default=4566, help="port on 127.0.0.1 (default 4566)")
    local.add_argument("--clock-speed", type=_speed, default=1, help="the cloud's clock runs so many times as fast")
    purge = commands.add_parser("purge", help="remove what a destroyed deployment, or its updates, have left on AWS")
    purge.add_argument("deployment", type=_stack_name, help="name of the deployment")
    purge.add_argument("--region", help="where it was deployed (default AWS_REGION, or your profile's)")
    purge.add_argument("--yes", action="store_true", help="remove without asking")
    stage = commands.add_parser(
        "stage", help="copy a model's weights from the Hub to S3, where a deployment reads them"
    )
    stage.add_argument("deployment", type=_one_name, help="name or path of a deployment file")
    stage.add_argument("--folder", type=Path, help="for files on their way (default ~/.cache/slipway/staging)")
    stage.add_argument("--abandon", action="store_true", help="give up an unfinished staging, and remove its parts")
    check = commands.add_parser(
        "check", help="will it fit, start in time and be accepted by AWS? asked before the deploy"
    )
    check.add_argument("deployments", nargs="+", metavar="deployment", help="name or path of a deployment file")
    check.add_argument("--account", action="store_true", help="also ask AWS, with your credentials; changes nothing")
    check.add_argument("--region", help="where, for a deployment that names no region")
    check.add_argument("--json", action="store_true", help="one JSON object, or a list of them for several names")
    check.add_argument("--strict", action="store_true", help="exit with 1 also for warnings and unknowns")
    check.add_argument("--verbose", action="store_true", help="list all rules, also those that have nothing to say")
    commands.add_parser("reference", help="write deployments/schema.json and the generated parts of docs/")
    arguments = parser.parse_args()
    if arguments.command == "local":
        from slipway import local as command

        sys.exit(command.run(arguments.deployment, arguments.port, arguments.clock_speed))
    if arguments.command == "check":
        from slipway import check as judging

        options = judging.Options(
            account=arguments.account,
            region=arguments.region,
            as_json=arguments.json,
            strict=arguments.strict,
            verbose=arguments.verbose,
        )
        sys.exit(judging.run(arguments.deployments, ROOT, options))
    if arguments.command == "purge":
        from slipway import purge as removal

        sys.exit(removal.run(arguments.deployment, arguments.region, sure=arguments.yes))
    if arguments.command == "stage":
        from slipway import stage as staging

        sys.exit(staging.run(arguments.deployment, ROOT, arguments.folder, give_up=arguments.abandon))
    from slipway import reference

    reference.run(ROOT)


def _one_name(text: str) -> str:
    if "," in text or text == ACCOUNT_SETTINGS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one deployment; name one, such as gpt2")
    return text


def _stack_name(text: str) -> str:
    if not re.fullmatch("[A-Za-z][A-Za-z0-9-]{0,127}", text) or text == ACCOUNT_SETTINGS:
        raise argparse.ArgumentTypeError(f"{text!r} is no deployment's name; name one, such as gpt2")
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; use 1 to 65535")
    return int(text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not 1 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed; use 1 to 1000")
    return speed


if __name__ == "__main__":
    try:
        main()
    except CatalogError as error:
        sys.exit(str(error))
