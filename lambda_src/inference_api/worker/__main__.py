"""The process on a machine: `python -m inference_api.worker`."""

import os
import signal
import sys
from collections.abc import Callable
from threading import Event, Thread

from inference_api.jobs.service import job_service
from inference_api.machines.parts import machine_rows
from inference_api.shared.log import log
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings, machine_settings
from inference_api.worker.instance_metadata import instance_id
from inference_api.worker.model_server import PORT, ModelServer
from inference_api.worker.resident_worker import INTERRUPTED, LONG_POLL, ResidentWorker

_PAUSE_IN_SECONDS = 2


def main() -> int:
    """Run the worker. Return its exit status."""
    # Until the worker sets its own handler. The default end is a clean one for systemd, which would power the machine
    # off.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    # Lambda sets both; botocore reads the second.
    os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])
    jobs, machines = job_settings(), machine_settings()
    worker = ResidentWorker(
        number=int(os.environ["MACHINE_NUMBER"]),
        instance_id=_own_id(),
        service=job_service(),
        rows=machine_rows(),
        queue=runtime().client("sqs", LONG_POLL),
        queue_url=jobs.queue_url,
        server=ModelServer(jobs.times.invocation_timeout, int(os.environ.get("MODEL_PORT") or PORT)),
        runtime=runtime(),
        alongside=_alongside,
        idle_in_seconds=machines.idle_in_seconds,
        batch=machines.batch,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.interrupt())
    return worker.run()


def _own_id() -> str:
    while True:
        try:
            return instance_id()
        except OSError as error:
            log({"cause": f"{type(error).__name__} at the metadata service"})
            runtime().sleep(_PAUSE_IN_SECONDS)


def _alongside(work: Callable[[], None], beat: Callable[[], None], seconds: float) -> None:
    done = Event()

    def run() -> None:
        while not done.wait(seconds):
            beat()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        work()
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
