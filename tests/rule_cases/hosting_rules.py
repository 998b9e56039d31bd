"""Of instance types, volume, count and timing."""

from rule_cases import ASYNC, KEY, Broken, Kept

NEURON = {
    "model": {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"},
    "serving": {"engine": "lmi-neuronx"},
}

BROKEN = [
    Broken(
        "known-instance-type",
        "error",
        "hosting.instance_type",
        {"hosting": {"instance_type": "ml.g6.3xlarge"}},
        "'ml.g6.3xlarge' is not in the catalog of endpoint types; use one of ml.g6.xlarge",
    ),
    Broken(
        "known-instance-type",
        "error",
        "hosting.instance_type",
        {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.gr6.4xlarge"]}},
        "'ml.gr6.4xlarge'",
    ),
    Broken(
        "types-of-a-pool-differ",
        "error",
        "hosting.instance_type",
        {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g6.4xlarge", "ml.g6.2xlarge"]}},
        "names ml.g6.2xlarge twice; remove one",
    ),
    Broken(
        "no-volume-beside-nvme",
        "error",
        "hosting.volume_size_in_gb",
        {"hosting": {"volume_size_in_gb": 9}},
        "9 is refused on ml.g6.2xlarge, which has its own NVMe disk (450 GB); remove the setting",
    ),
    Broken(
        "no-volume-beside-nvme",
        "error",
        "hosting.volume_kms_key_arn",
        {"region": "us-east-1", "hosting": {"volume_kms_key_arn": KEY}},
        "is refused on ml.g6.2xlarge",
    ),
    Broken(
        "count-is-a-range",
        "error",
        "hosting.instance_count.max",
        {"hosting": {"instance_count": {"min": 3}}},
        "1 is less than min (3); use 3 or more",
    ),
    Broken(
        "zero-can-wake",
        "error",
        "hosting.instance_count.min",
        {"hosting": {"instance_count": {"min": 0}}},
        "use 1 or more, or mode: async",
    ),
    Broken(
        "scaling-needs-a-range",
        "warning",
        "hosting.scaling.scale_in_cooldown_in_seconds",
        {"hosting": {"scaling": {"scale_in_cooldown_in_seconds": 9, "concurrent_requests_per_instance": 2}}},
        "no effect with a fixed count of 1; make max larger",
    ),
    Broken(
        "scaling-needs-a-range",
        "warning",
        "hosting.scaling.concurrent_requests_per_instance",
        {"hosting": {"scaling": {"concurrent_requests_per_instance": 2}}, "jobs": {"enabled": False}},
        "no effect",
    ),
    Broken(
        "backlog-needs-async",
        "warning",
        "hosting.scaling.backlog_per_instance",
        {"hosting": {"instance_count": {"max": 2}, "scaling": {"backlog_per_instance": 2}}},
        "use concurrent_requests_per_instance",
    ),
    Broken(
        "concurrency-fits-async",
        "error",
        "hosting.scaling.concurrent_requests_per_instance",
        {"hosting": {"mode": "async", "scaling": {"concurrent_requests_per_instance": 1001}}},
        "1001 is refused with hosting.mode: async; use at most 1000",
    ),
    Broken(
        "isolation-needs-weights",
        "error",
        "hosting.network_isolation",
        {"hosting": {"network_isolation": True}},
        "set model.weights to an S3 prefix or use false",
    ),
    Broken(
        "update-outlasts-alarms",
        "warning",
        "hosting.update_wait_in_seconds",
        {"hosting": {"update_wait_in_seconds": 239}},
        "239 is too short for the alarms, so a bad update is not rolled back; use 240 or more",
    ),
]

KEPT = [
    Kept("known-instance-type", {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g6.4xlarge"]}}),
    Kept("types-of-a-pool-differ", {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g6.4xlarge"]}}),
    Kept("no-volume-beside-nvme", NEURON | {"hosting": {"instance_type": "ml.inf2.8xlarge", "volume_size_in_gb": 9}}),
    Kept("count-is-a-range", {"hosting": {"instance_count": {"min": 3, "max": 3}}}),
    Kept("zero-can-wake", {"hosting": ASYNC}),
    Kept("scaling-needs-a-range", {"hosting": {"scaling": {"concurrent_requests_per_instance": 2}}}),
    Kept(
        "scaling-needs-a-range",
        {"hosting": {"instance_count": {"max": 2}, "scaling": {"scale_in_cooldown_in_seconds": 9}}},
    ),
    Kept("backlog-needs-async", {"hosting": {**ASYNC, "scaling": {"backlog_per_instance": 2}}}),
    Kept("concurrency-fits-async", {"hosting": {**ASYNC, "scaling": {"concurrent_requests_per_instance": 1000}}}),
    Kept("concurrency-fits-async", {"hosting": {"scaling": {"concurrent_requests_per_instance": 1001}}}),
    Kept(
        "isolation-needs-weights",
        {"model": {"weights": "s3://bucket/prefix/"}, "hosting": {"network_isolation": True}},
    ),
    Kept("update-outlasts-alarms", {"hosting": {"update_wait_in_seconds": 240}}),
]
