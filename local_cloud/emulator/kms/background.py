"""Work of services on what a key encrypts: deliveries to queues, event sources, variables of functions, log groups."""

from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.kms.permission import KEY_ACTIONS, READ, READ_AND_WRITE, role_may, service_may, through
from local_cloud.emulator.lambda_.functions import function_configuration
from local_cloud.emulator.lambda_.streaming import StreamingWorker
from local_cloud.emulator.services import sqs

_lambda = ministack.internals("ministack.services.lambda_svc", "_iter_all_esms")
_runtime = ministack.internals("ministack.core.lambda_runtime", "Worker.invoke")
_sns = ministack.internals("ministack.services.sns", "_deliver_to_sqs")
_KEY = "KmsMasterKeyId"


def _demand_keys_of_deliveries() -> None:
    """Drop a message for a queue whose key SNS may not use."""
    deliver = _sns._deliver_to_sqs

    def deliver_to_sqs(queue_arn: str, *rest: Any, topic_arn: str = "", **named: Any) -> None:
        key = (sqs.find_queue(queue_arn) or {"attributes": {}})["attributes"].get(_KEY)
        if not key or service_may("sns.amazonaws.com", key, READ_AND_WRITE, {"aws:sourcearn": topic_arn}):
            deliver(queue_arn, *rest, topic_arn=topic_arn, **named)

    _sns._deliver_to_sqs = deliver_to_sqs


def _demand_keys_of_event_sources() -> None:
    """Read no queue for a function whose role may not use the queue's key."""
    all_sources = _lambda._iter_all_esms
    _lambda._iter_all_esms = lambda: (each for each in all_sources() if _reads(*each))


def _reads(account: str, region: str, source: dict[str, Any]) -> bool:
    with ministack.scope(account, region):
        queue, config = sqs.find_queue(source["EventSourceArn"]), function_configuration(source["FunctionName"])
        key = queue["attributes"].get(_KEY) if queue else None
        return not key or not config or role_may(config["Role"], key, READ, through("sqs"))


def _demand_keys_of_variables(kind: Any) -> None:
    """Fail the invocation of a function whose role may not decrypt its variables."""
    invoke = kind.invoke

    def invoke_readable(worker: Any, *args: Any, **named: Any) -> Any:
        config = worker.config
        key, context = config.get("KMSKeyArn"), {"kms:encryptioncontext:aws:lambda:functionarn": config["FunctionArn"]}
        if key and not role_may(config["Role"], key, READ, context):
            reason = "Lambda was unable to decrypt the environment variables because KMS access was denied."
            return {"status": "error", "error": reason, "log": reason, "cold_start": False}
        return invoke(worker, *args, **named)

    kind.invoke = invoke_readable


def _keep_key_of_function(name: str, properties: dict[str, Any]) -> None:
    config = function_configuration(name)
    assert config
    config["KMSKeyArn"] = properties.get("KmsKeyArn", "")


def _refuse_unusable_key(properties: dict[str, Any]) -> None:
    """Refuse a log group with a key that CloudWatch Logs may not use."""
    key, name = properties.get("KmsKeyId"), properties.get("LogGroupName", "")
    group = f"arn:aws:logs:{ministack.region()}:{ministack.account_id()}:log-group:{name}"
    context = {"kms:encryptioncontext:aws:logs:arn": group}
    if key and not service_may(f"logs.{ministack.region()}.amazonaws.com", key, KEY_ACTIONS, context):
        raise ValueError(f"The specified KMS key does not exist or is not allowed to be used with Arn '{group}'.")


def install() -> None:
    _demand_keys_of_deliveries()
    _demand_keys_of_event_sources()
    for kind in (_runtime.Worker, StreamingWorker):
        _demand_keys_of_variables(kind)
    extend_resource_type("AWS::Lambda::Function", complete=_keep_key_of_function)
    extend_resource_type("AWS::Logs::LogGroup", check=_refuse_unusable_key)
