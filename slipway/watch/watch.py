"""Shows a service live in the terminal, or prints an object for each look, until Ctrl-C."""

import json
import signal
import sys
import time
from typing import NoReturn

from rich.console import Console
from rich.live import Live

from slipway.shared.aws_clients import clients_in
from slipway.stack.deployed_stack import asking_aws, find_stack
from slipway.watch.gauges import price_per_hour
from slipway.watch.page import Page
from slipway.watch.snapshot import Service, Snapshot


def run(name: str, region: str | None, interval_in_seconds: int, *, as_json: bool) -> int:
    """Look until Ctrl-C or SIGTERM.

    Returns exit status 0; 2 for an unknown name, no answer at first, or no terminal.
    """
    if not as_json and (not sys.stdout.isatty() or Console().is_dumb_terminal):
        print("--watch needs a terminal: add --json for an object in each line, or leave --watch out.", file=sys.stderr)
        return 2

    def look() -> int:
        find_stack(name, clients_in(region))  # a wrong name ends here
        service = Service(name, region)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the terminal is as before
        try:
            (_print if as_json else _draw)(service, name, interval_in_seconds)
        except KeyboardInterrupt:
            return 0

    return asking_aws(look)


def _print(service: Service, _: str, interval: int) -> NoReturn:
    while True:
        print(json.dumps(service.ask()), flush=True)
        time.sleep(interval)


def _draw(service: Service, name: str, interval: int) -> NoReturn:
    # It draws once a second, so that the page follows the size of the terminal.
    with Live(Page([f"{name}: asking AWS"], None, ""), screen=True, refresh_per_second=1) as live:
        shown: Snapshot | None = None
        while True:
            found = service.ask()
            problem = found["not_asked"]
            shown = shown if problem else found
            live.update(_page(name, shown, problem and f"{found['at'][11:19]}: {problem}", service, interval))
            live.refresh()
            time.sleep(interval)


def _page(name: str, shown: Snapshot | None, problem: str | None, service: Service, interval: int) -> Page:
    again = f"{problem} Asks again in {interval} s." if problem else ""
    if shown is None:
        return Page([name], None, again)
    usd = price_per_hour(service.gauges, interval)
    price = f"{service.gauges} metrics: {usd:.3f} USD an hour{' on AWS' * bool(shown['local_cloud'])}"
    head = [f"{name}: {shown['serves']}", f"{shown['at'][11:19]} UTC, every {interval} s; {price}; Ctrl-C ends it"]
    return Page(head, shown, again)
