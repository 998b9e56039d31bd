"""Looks for a text in all that a deployment on the local cloud leaves behind: logs, metrics, messages, tags, rows."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.stacks.traces import everything

# Where docs/security.md says that texts of callers are. A row's body is a short answer or the words of a refusal. Its
# data is what a caller calls a file or a batch.
KEPT = {f"file {folder}" for folder in ("batch", "capture", "failure", "file", "input", "output")}
KEPT |= {"row body", "row data"}
# API Gateway tells X-Ray path and client of each request; no path of the API has room for a text.
KEPT |= {"segment of API Gateway"}


class Canary:
    """Finds the places in a region that hold a text. It listens to events of Slipway and to all topics from the start.

    heard: the sources of what `places` has read: "events", "topics".
    """

    def __init__(self, cloud: LocalCloud, region: str, *texts: str) -> None:
        self._cloud, self._region, self._texts = cloud, region, texts
        self._queue, self.heard = self._listen(), set[str]()

    def places(self) -> set[str]:
        """Return each place that holds a text, in words."""
        kept = [*self._logs(), *self._metrics(), *self._tags(), *self._rows(), *self._files(), *self._segments()]
        found = [*kept, *self._messages()]
        contents = ((place, json.dumps(content, default=str)) for place, content in found)
        return {place for place, content in contents if any(text in content for text in self._texts)}

    def lines_of_requests(self) -> list[dict[str, Any]]:
        """Return the lines that functions and API Gateway write for a request."""
        lines = [event["message"] for _, event in self._log_events() if event["message"].startswith("{")]
        return [line for line in map(json.loads, lines) if {"latency_ms", "sourceIp"} & line.keys()]

    def _client(self, service: str) -> Any:
        return self._cloud.client(service, region=self._region)

    def _listen(self) -> str:
        sqs, events, sns = self._client("sqs"), self._client("events"), self._client("sns")
        name = f"listener-{secrets.token_hex(4)}"
        url: str = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = f"arn:aws:sqs:{self._region}:{ACCOUNT}:{name}"
        allow = {
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sns.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": arn,
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
        events.put_rule(Name=name, EventPattern=json.dumps({"source": ["slipway"]}))
        events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
        for topic in sns.list_topics()["Topics"]:
            sns.subscribe(TopicArn=topic["TopicArn"], Protocol="sqs", Endpoint=arn)
        return url

    def _messages(self) -> Iterator[tuple[str, Any]]:
        sqs = self._client("sqs")
        while found := sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages"):
            for each in found:
                source = "topics" if "TopicArn" in json.loads(each["Body"]) else "events"
                self.heard.add(source)
                yield source, each["Body"]

    def _log_events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        logs = self._client("logs")
        for page in logs.get_paginator("describe_log_groups").paginate():
            for group in page["logGroups"]:
                for events in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
                    yield from ((group["logGroupName"], event) for event in events["events"])

    def _logs(self) -> Iterator[tuple[str, Any]]:
        yield from ((f"log {group}", event["message"]) for group, event in self._log_events())

    def _metrics(self) -> Iterator[tuple[str, Any]]:
        cloudwatch = self._client("cloudwatch")
        for page in cloudwatch.get_paginator("list_metrics").paginate():
            yield "metrics", page["Metrics"]
        for page in cloudwatch.get_paginator("describe_alarms").paginate():
            yield "alarms", page["MetricAlarms"]

    def _tags(self) -> Iterator[tuple[str, Any]]:
        for page in self._client("resourcegroupstaggingapi").get_paginator("get_resources").paginate():
            yield "tags", page["ResourceTagMappingList"]

    def _segments(self) -> Iterator[tuple[str, Any]]:
        for each in everything(self._cloud)["kept"]:
            is_gateway = each.get("origin") == "AWS::ApiGateway::Stage"
            yield "segment of API Gateway" if is_gateway else "segment", each

    def _rows(self) -> Iterator[tuple[str, Any]]:
        dynamodb = self._client("dynamodb")
        for name in dynamodb.list_tables()["TableNames"]:
            for page in dynamodb.get_paginator("scan").paginate(TableName=name):
                yield from ((f"row {attribute}", value) for row in page["Items"] for attribute, value in row.items())

    def _files(self) -> Iterator[tuple[str, Any]]:
        s3 = self._client("s3")
        for bucket in s3.list_buckets()["Buckets"]:
            for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket["Name"]):
                for each in page.get("Contents", []):
                    key, found = each["Key"], s3.get_object(Bucket=bucket["Name"], Key=each["Key"])
                    yield "name of an object", key
                    yield f"metadata of {key.partition('/')[0]}", found["Metadata"]
                    yield f"file {key.partition('/')[0]}", found["Body"].read().decode(errors="replace")
