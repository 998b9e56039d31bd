"""Of the API, and of ARNs."""

from rule_cases import KEY, TOPIC, Broken, Kept

WEIGHTS = {"weights": "s3://bucket/prefix/", "weights_kms_key_arn": KEY}

BROKEN = [
    Broken("quota-needs-api-key", "error", "api.quota", {"api": {"quota": {"limit": 5}}}, "needs api.auth: api-key"),
    Broken("shared-secret", "warning", "api.auth", {"api": {"auth": "api-key"}}, "prefer iam"),
    Broken(
        "open-to-the-internet",
        "warning",
        "api.auth",
        {"api": {"auth": "none"}, "jobs": {"enabled": False}},
        "only the throttle limits what they spend",
    ),
    Broken(
        "arns-are-in-region",
        "error",
        "alarms.topic_arn",
        {"region": "eu-west-1", "alarms": {"topic_arn": TOPIC}},
        "is in us-east-1, the deployment in eu-west-1",
    ),
    Broken(
        "arns-are-in-region",
        "error",
        "model.weights_kms_key_arn",
        {"region": "eu-west-1", "model": WEIGHTS},
        "use one of that region",
    ),
    Broken(
        "arns-are-in-region",
        "error",
        "hosting.volume_kms_key_arn",
        {
            "region": "eu-west-1",
            "model": {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"},
            "serving": {"engine": "lmi-neuronx"},
            "hosting": {"instance_type": "ml.inf2.8xlarge", "volume_kms_key_arn": KEY},
        },
        "is in us-east-1",
    ),
    Broken(
        "arns-pin-the-region", "warning", "alarms.topic_arn", {"alarms": {"topic_arn": TOPIC}}, "set region: us-east-1"
    ),
]

KEPT = [
    Kept("quota-needs-api-key", {"api": {"quota": {"limit": 5}, "auth": "api-key"}}),
    Kept("arns-are-in-region", {"region": "us-east-1", "alarms": {"topic_arn": TOPIC}, "model": WEIGHTS}),
    Kept("arns-pin-the-region", {"region": "us-east-1", "alarms": {"topic_arn": TOPIC}}),
    Kept("open-to-the-internet", {"api": {"auth": "api-key"}}),
]
