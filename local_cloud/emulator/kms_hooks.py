"""The hooks into the emulator's KMS: whom a key's policy lets in."""

from local_cloud.emulator import hooks

_evaluator = hooks.internals("ministack.core.iam_evaluator", "EvalContext", "evaluate_resource_policy")
_kms = hooks.internals("ministack.services.kms", "_resolve_key")

_ACTIONS = ("kms:GenerateDataKey", "kms:Decrypt")


def key_lets(service: str, key: str, source_arn: str) -> bool:
    """Whether a service, say "sns.amazonaws.com", may encrypt with a key, by id, ARN or alias, for this source.

    A key that is not found is one of AWS's own, such as alias/aws/sqs, which no other service may use.
    """
    record = _kms._resolve_key(key)
    return record is not None and all(_allows(record, service, action, source_arn) for action in _ACTIONS)


def _allows(record: dict[str, str], service: str, action: str, source_arn: str) -> bool:
    context = _evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account="",
        action=action,
        resource_arn=record["Arn"],
        region=hooks.region(),
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": hooks.account_id()},
    )
    return bool(_evaluator.evaluate_resource_policy(record["Policy"], context, service=service).decision == "Allow")
