"""The simulated services fail as AWS's do, before and after the effect of a call."""

from functools import partial
from random import Random
from typing import Any

import pytest
from botocore.config import Config

from simulation.aws.client import Client
from simulation.aws.ec2 import Ec2, Instance
from simulation.aws.errors import Refusal
from simulation.aws.s3 import Bucket
from simulation.aws.sqs import Queue
from simulation.runtime.faults import CRASH_AFTER, ERROR, Faults, Rates
from simulation.runtime.functions import Functions
from simulation.runtime.scheduler import Scheduler
from simulation.world.event_source import EventSource

START = 1_000_000.0


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(START)


def faults(**rates: float) -> Faults:
    return Faults(Rates(**rates), Random(1))


def queue(scheduler: Scheduler, injected: Faults | None = None, **more: Any) -> Queue:
    return Queue("jobs", scheduler, Random(1), injected or faults(), 30, **more)


def code_of(work: Any) -> str:
    with pytest.raises(Refusal) as refused:
        work()
    return refused.value.code


# Storage


def test_missing_objects_have_the_error_codes_of_s3(scheduler: Scheduler) -> None:
    bucket = Bucket("files", scheduler, Random(1))
    bucket.put_object(Bucket="files", Key="a", Body=b"one")
    assert code_of(lambda: bucket.get_object(Bucket="files", Key="b")) == "NoSuchKey"
    assert code_of(lambda: bucket.get_object(Bucket="files", Key="a", VersionId="none")) == "NoSuchVersion"
    assert code_of(lambda: bucket.get_object(Bucket="other", Key="a")) == "NoSuchBucket"


# Queues


def test_a_message_that_is_not_deleted_comes_back_and_becomes_a_dead_letter(scheduler: Scheduler) -> None:
    dead = queue(scheduler)
    source = queue(scheduler, max_receives=2, dead_letters=dead)
    source.send("hello")
    scheduler.run(5)
    for received in (1, 2):
        ((_, message),) = source.receive(10).items()
        assert (message.body, message.receives) == ("hello", received)
        assert source.receive(10) == {}
        scheduler.run(30)
    assert source.receive(10) == {}
    assert (source.size, dead.size) == (0, 1)
    assert source.redrive(dead) == 1
    scheduler.run(5)
    ((handle, message),) = source.receive(10).items()
    assert message.receives == 1
    source.delete(handle)
    scheduler.run(100)
    assert (source.size, dead.size) == (0, 0)


def test_a_long_poll_ends_with_the_first_message_or_its_time(scheduler: Scheduler) -> None:
    polled = queue(scheduler)
    ends: list[tuple[float, int]] = []

    def poll() -> None:
        request = {"QueueUrl": polled.url, "MaxNumberOfMessages": 4, "WaitTimeSeconds": 20}
        found = polled.receive_message(**request, AttributeNames=["ApproximateReceiveCount"])
        ends.append((scheduler.now - START, len(found["Messages"])))

    scheduler.spawn(poll)
    scheduler.run(30)
    assert ends == [(20, 0)]
    scheduler.spawn(poll)
    scheduler.call_later(5, lambda: polled.send("hello"))
    scheduler.run(30)
    assert ends[1][1] == 1
    assert 35 <= ends[1][0] < 40


def test_delay_and_visibility_are_kept(scheduler: Scheduler) -> None:
    source = queue(scheduler)
    source.send_message(QueueUrl=source.url, MessageBody="hello", DelaySeconds=60)
    scheduler.run(59)
    assert source.receive(1) == {}
    scheduler.run(2)
    (handle,) = source.receive(1)
    source.change_message_visibility(QueueUrl=source.url, ReceiptHandle=handle, VisibilityTimeout=100)
    scheduler.run(99)
    assert source.receive(1) == {}
    scheduler.run(1)
    assert source.receive(1)
    wrong = {"QueueUrl": source.url, "ReceiptHandle": handle, "VisibilityTimeout": 1}
    assert code_of(lambda: source.change_message_visibility(**wrong)) == "MessageNotInflight"


def test_messages_are_doubled_lost_and_out_of_order(scheduler: Scheduler) -> None:
    source = queue(scheduler, faults(duplicate_message=0.2, lost_message=0.1, slow_message=0.2))
    for position in range(1000):
        scheduler.call_later(position, partial(source.send, str(position)))
    seen = []
    for _ in range(2000):
        scheduler.run(1)
        for handle, message in source.receive(10).items():
            seen.append(int(message.body))
            source.delete(handle)
    injected = source.faults.injected
    assert len(set(seen)) == 1000 - injected["message lost: jobs"]
    assert len(seen) == len(set(seen)) + injected["message doubled: jobs"]
    assert seen != sorted(seen)
    assert all(80 < count < 300 for count in injected.values())


# Functions


def functions(scheduler: Scheduler, injected: Faults | None = None) -> Functions:
    return Functions(scheduler, Random(1), injected or faults())


def test_a_function_dies_at_its_timeout(scheduler: Scheduler) -> None:
    seen = []

    def handler(event: Any, context: Any) -> str:
        seen.append(context.get_remaining_time_in_millis())
        scheduler.sleep(event)
        return "done"

    function = functions(scheduler).add("sleep", handler, 30)
    runs = [function.start(29), function.start(31)]
    scheduler.run()
    assert [run.outcome for run in runs] == ["returned", "timed out"]
    assert [(run.ended_at or 0) - run.started_at for run in runs] == [29, 30]
    assert seen == [30_000, 30_000]


def test_an_event_source_keeps_its_concurrency_and_failed_messages(scheduler: Scheduler) -> None:
    source, running = queue(scheduler), []

    def handler(event: Any, context: Any) -> Any:
        running.append(1)
        assert len(running) <= 3
        scheduler.sleep(10)
        running.pop()
        odd = [record for record in event["Records"] if record["body"] == "odd"]
        if any(record["attributes"]["ApproximateReceiveCount"] == "1" for record in odd):
            return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in odd]}
        return {"batchItemFailures": []}

    function = functions(scheduler).add("work", handler, 30)
    event_source = EventSource(source, function, 2, 3, scheduler)
    for position in range(20):
        source.send("odd" if position % 5 == 0 else "even")
    scheduler.run(31)
    assert source.size == 8  # 12 were received; those with an odd number wait
    scheduler.run()
    assert (source.size, event_source.most_running) == (0, 3)


@pytest.mark.parametrize("failures", [None, {"batchItemFailures": [{"itemIdentifier": "unknown"}]}])
def test_the_batch_of_a_failed_function_comes_back(scheduler: Scheduler, failures: Any) -> None:
    source = queue(scheduler, max_receives=3)

    def handler(event: Any, context: Any) -> Any:
        if failures is None:
            raise ValueError("broken")
        return failures

    EventSource(source, functions(scheduler).add("work", handler, 30), 10, 1, scheduler)
    source.send("hello")
    scheduler.run(29)
    assert source.size == 1
    scheduler.run()
    assert source.size == 0  # a dead letter after three receives


# Clients


def client(scheduler: Scheduler, injected: Faults, attempts: int = 4) -> tuple[Client, Bucket]:
    bucket = Bucket("files", scheduler, Random(1))
    config = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": attempts})
    return Client("s3", bucket, config, functions(scheduler, injected), Random(1), injected), bucket


def call(caller: Client, work: Any) -> Any:
    """The result or error of `work`, run in a function."""
    results = []

    def handler(event: Any, context: Any) -> None:
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    caller._functions.add("caller", handler, 60).start(None)
    caller._functions.scheduler.run()
    return results[0] if results else None


def test_a_client_repeats_errors_that_may_pass(scheduler: Scheduler) -> None:
    caller, bucket = client(scheduler, faults(unknown_outcome=1.0))
    error = call(caller, lambda: caller.put_object(Bucket="files", Key="a", Body=b"x"))
    assert isinstance(error, Exception)
    assert len(bucket.objects["a"]) == 4  # each attempt had its effect, all answers were lost
    once, bucket = client(scheduler, faults(error=1.0), attempts=1)
    call(once, lambda: once.put_object(Bucket="files", Key="a", Body=b"x"))
    assert (once._faults.injected[ERROR], bucket.objects) == (1, {})


@pytest.mark.parametrize("seed", range(6))
def test_a_function_dies_before_or_after_an_effect(scheduler: Scheduler, seed: int) -> None:
    injected = Faults(Rates(crash=1.0), Random(seed))
    caller, bucket = client(scheduler, injected)
    assert call(caller, lambda: caller.put_object(Bucket="files", Key="a", Body=b"x")) is None
    assert injected.injected[CRASH_AFTER] == len(bucket.objects)
    assert injected.injected.total() == 1


# Instances


def states(instance: Instance) -> list[str]:
    return [state for _, state in instance.history]


def test_an_instance_that_is_on_its_way_down_cannot_be_started_and_one_that_runs_goes_on(scheduler: Scheduler) -> None:
    ec2 = Ec2(scheduler, Random(1), faults())
    instance = ec2.launch(0)
    start = partial(ec2.start_instances, InstanceIds=[instance.id])
    scheduler.run(60)
    assert start()["StartingInstances"][0]["PreviousState"] == {"Name": "running"}
    ec2.stop_instances(InstanceIds=[instance.id])
    assert code_of(start) == "IncorrectInstanceState"
    scheduler.run(60)
    assert start()["StartingInstances"][0]["PreviousState"] == {"Name": "stopped"}
    scheduler.run(60)
    assert states(instance) == ["pending", "running", "stopping", "stopped", "pending", "running"]
    ec2.vanish(instance)
    assert code_of(start) == "IncorrectInstanceState"
    assert code_of(partial(ec2.start_instances, InstanceIds=["i-other"])) == "InvalidInstanceID.NotFound"


def test_a_start_may_find_no_capacity(scheduler: Scheduler) -> None:
    ec2 = Ec2(scheduler, Random(1), faults(no_capacity=1.0))
    instance = ec2.launch(0)
    scheduler.run(60)
    ec2.stop(instance)
    scheduler.run(60)
    assert code_of(partial(ec2.start_instances, InstanceIds=[instance.id])) == "InsufficientInstanceCapacity"
    assert states(instance)[-1] == "stopped"
