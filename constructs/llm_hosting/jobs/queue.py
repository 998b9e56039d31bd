"""An SQS queue whose messages a function handles, and its dead-letter queue."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..acknowledgement import acknowledge
from ..key_use import RECEIVE_MESSAGES, SEND_MESSAGES
from ..surroundings import Surroundings

FAILURES_GO_BACK = "Called by a queue only: a message that fails goes back there, and in the end to the dead letters."

_MOST_RECEIVES = 10
_RETENTION = Duration.days(14)  # the most that SQS takes
_END_OF_THE_LINE = "It is the dead-letter queue itself; an alarm goes off when a message arrives."
_QUEUE_HAS_ONE = "A message that keeps failing goes to the dead-letter queue of the queue it came from."


class JobQueue(Construct):
    """An encrypted queue that takes TLS only. `queue`: the queue itself. `outputs`: the stack's outputs."""

    def __init__(self, scope: Construct, construct_id: str, *, timeout: Duration, surroundings: Surroundings) -> None:
        """timeout: the timeout of the function that handles the messages."""
        super().__init__(scope, construct_id)
        self._surroundings = surroundings
        self._dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            **surroundings.queue_encryption,
            enforce_ssl=True,
            retention_period=_RETENTION,
        )
        acknowledge(self._dead_letters, {"Serverless-SQSRedrivePolicy": _END_OF_THE_LINE})
        self.queue = sqs.Queue(
            self,
            "Queue",
            **surroundings.queue_encryption,
            enforce_ssl=True,
            retention_period=_RETENTION,
            # Six times the function's timeout, as AWS advises: a throttled Lambda tries again.
            visibility_timeout=Duration.seconds(6 * timeout.to_seconds()),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self._dead_letters, max_receive_count=_MOST_RECEIVES),
        )
        self.url = self.queue.queue_url
        self.outputs = {"JobQueue": self.queue.queue_name, "JobDeadLetters": self._dead_letters.queue_name}

    def feed(self, function: lambda_.Function, *, batch_size: int, max_concurrency: int) -> None:
        """Let a function handle the messages. A message that it reports as failed comes back."""
        self._allow(function, "ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
        self._surroundings.grant_data_key(function, RECEIVE_MESSAGES)
        source = function.add_event_source_mapping(
            "Messages",
            event_source_arn=self.queue.queue_arn,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
            report_batch_item_failures=True,
        )
        acknowledge(source, {"Serverless-LambdaEventSourceMappingDestination": _QUEUE_HAS_ONE})

    def subscribe(self, topic: sns.ITopic) -> None:
        """Receive a topic's messages in their raw form."""
        topic.add_subscription(
            subscriptions.SqsSubscription(self.queue, raw_message_delivery=True, dead_letter_queue=self._dead_letters)
        )

    def grant_send(self, grantee: iam.IGrantable) -> None:
        """Let a function send messages."""
        self._allow(grantee, "SendMessage")
        self._surroundings.grant_data_key(grantee, SEND_MESSAGES)

    def grant_receive(self, grantee: iam.IGrantable) -> None:
        """Let a machine take messages, keep them hidden while it works, and delete them."""
        self._allow(grantee, "ReceiveMessage", "ChangeMessageVisibility", "DeleteMessage")
        self._surroundings.grant_data_key(grantee, RECEIVE_MESSAGES)

    def grant_count(self, grantee: iam.IGrantable) -> None:
        """Let a function read the number of messages."""
        self._allow(grantee, "GetQueueAttributes")

    def grant_postpone(self, grantee: iam.IGrantable) -> None:
        """Let the function that handles a message set when it comes back."""
        self._allow(grantee, "ChangeMessageVisibility")

    def metric_oldest_message(self) -> cloudwatch.Metric:
        """Return the age of the oldest message in seconds."""
        return self.queue.metric_approximate_age_of_oldest_message(
            statistic=cloudwatch.Stats.MAXIMUM, period=Duration.minutes(1)
        )

    def metric_waiting(self) -> cloudwatch.Metric:
        """Return the number of messages that wait, without those that are being handled."""
        return self.queue.metric_approximate_number_of_messages_visible(
            statistic=cloudwatch.Stats.MAXIMUM, period=Duration.minutes(1)
        )

    def metric_dead_letters(self) -> cloudwatch.Metric:
        """Return the number of messages in the dead-letter queue."""
        return self._dead_letters.metric_approximate_number_of_messages_visible(
            statistic=cloudwatch.Stats.MAXIMUM, period=Duration.minutes(1)
        )

    def _allow(self, grantee: iam.IGrantable, *operations: str) -> None:
        actions = [f"sqs:{operation}" for operation in operations]
        iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[self.queue.queue_arn])
