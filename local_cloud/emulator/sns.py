"""SNS: deliveries to queues on the cloud's clock."""

from local_cloud.emulator import ministack, sqs

_sns = ministack.internals("ministack.services.sns", "_deliver_to_sqs", "time")


def install() -> None:
    ministack.follow_clock(_sns)
    _sns._deliver_to_sqs = sqs.one_at_a_time(_sns._deliver_to_sqs)
