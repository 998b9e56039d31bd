"""The store of jobs: a table for rows, quotas and small answers, a bucket for inputs, outputs and failures."""

from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import CONTENT_TAG, DEPLOYMENT_TAG
from ..acknowledgement import acknowledge
from ..api.key_usage import KeyUsageTable
from ..deployment.settings.jobs import Jobs
from ..key_use import KEY_OF_SAGEMAKER, READ_OBJECTS, READ_ROWS, WRITE_OBJECTS, WRITE_ROWS
from ..private_bucket import PrivateBucket
from ..surroundings import Surroundings

Folder = Literal["input", "output", "failure", "file", "batch"]

_TEXT, _NUMBER = dynamodb.AttributeType.STRING, dynamodb.AttributeType.NUMBER
_READS = frozenset(("GetItem", "BatchGetItem"))
_NO_ACCESS_LOG = (
    "The stack lets only its own functions and its model read and write it; an access log would need another bucket "
    "that outlives the stack."
)


class JobStore(Construct):
    """The table and the bucket of jobs. They outlive the stack unless `jobs.on_destroy` says otherwise.

    Both carry the stack's name as a tag. Each `grant_*` allows the actions of one kind of handler, in the folders that
    it uses. `outputs`: the stack's outputs. `table`, `bucket`: the two themselves.
    usage: the table that counts the tokens of jobs; None = tokens are not counted.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Jobs,
        surroundings: Surroundings,
        usage: KeyUsageTable | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._usage, self._surroundings = usage, surroundings
        self.usage_environment = usage.environment if usage else {}
        self.table = self._create_table(settings)
        self.bucket = PrivateBucket(
            self,
            "Bucket",
            surroundings=surroundings,
            expires_in_days=settings.files_kept_in_days,
            no_access_log=_NO_ACCESS_LOG,
            versioned=True,
        )
        self.table_name, self.bucket_name = self.table.table_name, self.bucket.bucket_name
        self.environment = {"JOB_TABLE": self.table_name, "JOB_BUCKET": self.bucket_name}
        self.outputs = {"JobTable": self.table_name, "JobBucket": self.bucket_name}
        cdk.Tags.of(self).add(DEPLOYMENT_TAG, surroundings.name)
        cdk.Tags.of(self.table).add(CONTENT_TAG, "jobs")

    def location(self, folder: Folder) -> str:
        """Return the folder's address, `s3://bucket/folder`."""
        return f"s3://{self.bucket_name}/{folder}"

    def grant_submit(self, grantee: iam.IGrantable) -> None:
        """Let a function accept jobs and wait until they end."""
        self.grant_end(grantee)
        self._allow_files(grantee, "s3:PutObject", "input")
        self.grant_read_results(grantee)

    def grant_wait(self, grantee: iam.IGrantable) -> None:
        """Let a function read jobs and count waiting callers."""
        self._allow_rows(grantee, "GetItem", "UpdateItem")
        self.grant_read_results(grantee)

    def grant_read_rows(self, grantee: iam.IGrantable) -> None:
        """Let a function read rows by their key."""
        self._allow_rows(grantee, "GetItem")

    def grant_list(self, grantee: iam.IGrantable) -> None:
        """Let a function find the jobs of an owner."""
        self._allow_index(grantee, "by_owner")
        self._allow_rows(grantee, "BatchGetItem")

    def grant_change(self, grantee: iam.IGrantable) -> None:
        """Let a function change rows and quota slots. IAM authorizes each part of a transaction."""
        self._allow_rows(grantee, "GetItem", "PutItem", "UpdateItem")

    def grant_end(self, grantee: iam.IGrantable) -> None:
        """Let a function end jobs, and count their tokens."""
        self.grant_change(grantee)
        if self._usage:
            self._usage.grant_count(grantee)

    def grant_collect(self, grantee: iam.IGrantable) -> None:
        """Let a function end jobs by the outputs and failures in the bucket."""
        self.grant_end(grantee)
        self._allow_files(grantee, "s3:GetObject", "output", "failure")
        self._allow_listing(grantee)

    def grant_work(self, grantee: iam.IGrantable) -> None:
        """Let a function run attempts itself: read inputs, write outputs, end jobs."""
        self.grant_end(grantee)
        self._allow_files(grantee, "s3:GetObject", "input")
        self._allow_files(grantee, "s3:PutObject", "output")

    def grant_find_due(self, grantee: iam.IGrantable) -> None:
        """Let the sweeper find due jobs."""
        self._allow_index(grantee, "by_due")

    def grant_read_inputs(self, grantee: iam.IGrantable) -> None:
        """Let a function invoke an asynchronous endpoint with an input."""
        self._allow_files(grantee, "s3:GetObject", "input")

    def grant_read_results(self, grantee: iam.IGrantable) -> None:
        """Let a function read the version of an output that its job names."""
        self._allow_files(grantee, "s3:GetObjectVersion", "output")

    def grant_keep_files(self, grantee: iam.IGrantable) -> None:
        """Let a function store, list and read files of callers. The bucket's rules delete them."""
        self.grant_keep_batches(grantee)
        for action in ("s3:PutObject", "s3:GetObjectVersion"):
            self._allow_files(grantee, action, "file")

    def grant_keep_batches(self, grantee: iam.IGrantable) -> None:
        """Let a function write, read and list rows of batches."""
        self.grant_list(grantee)
        self._allow_rows(grantee, "GetItem", "PutItem")

    def grant_advance(self, grantee: iam.IGrantable) -> None:
        """Let the driver of batches find them, submit their lines, read the answers, and join them to files."""
        self.grant_find_due(grantee)
        self.grant_submit(grantee)
        self._allow_rows(grantee, "BatchGetItem")
        self._allow_files(grantee, "s3:PutObject", "file", "batch")
        self._allow_files(grantee, "s3:GetObject", "file", "batch")
        self._allow_files(grantee, "s3:GetObjectVersion", "file")
        self._allow_files(grantee, "s3:ListMultipartUploadParts", "file")
        self._allow_listing(grantee)

    def grant_serve(self, role: iam.IGrantable) -> None:
        """Let an asynchronous endpoint read inputs and write outputs and failures, large ones in parts."""
        self._name_files(role, "s3:GetObject", "input")
        for action in ("s3:PutObject", "s3:AbortMultipartUpload"):
            self._name_files(role, action, "output", "failure")
        self._surroundings.grant_data_key(role, KEY_OF_SAGEMAKER)

    def _create_table(self, settings: Jobs) -> dynamodb.Table:
        kept = settings.on_destroy == "retain"
        table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=_TEXT),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            **self._surroundings.table_encryption,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute="expires_at",
            deletion_protection=settings.deletion_protection,
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if kept else cdk.RemovalPolicy.DESTROY,
        )
        # Sparse indexes: only jobs have the first pair of attributes, and only due jobs the second.
        for name, partition, (sort, kind) in (
            ("by_owner", "owner", ("listed_at", _TEXT)),
            ("by_due", "due_shard", ("due_at", _NUMBER)),
        ):
            table.add_global_secondary_index(
                index_name=name,
                partition_key=dynamodb.Attribute(name=partition, type=_TEXT),
                sort_key=dynamodb.Attribute(name=sort, type=kind),
                projection_type=dynamodb.ProjectionType.KEYS_ONLY,
            )
        return table

    def _allow_rows(self, grantee: iam.IGrantable, *operations: str) -> None:
        actions = [f"dynamodb:{operation}" for operation in operations]
        iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[self.table.table_arn])
        self._surroundings.grant_data_key(grantee, READ_ROWS if _READS.issuperset(operations) else WRITE_ROWS)

    def _allow_index(self, grantee: iam.IGrantable, index: str) -> None:
        arn = f"{self.table.table_arn}/index/{index}"
        iam.Grant.add_to_principal(grantee=grantee, actions=["dynamodb:Query"], resource_arns=[arn])
        self._surroundings.grant_data_key(grantee, READ_ROWS)

    def _allow_listing(self, grantee: iam.IGrantable) -> None:
        # Without it, or with a condition on the prefix, S3 answers 403 for a missing object.
        arn = self.bucket.bucket_arn
        iam.Grant.add_to_principal(grantee=grantee, actions=["s3:ListBucket"], resource_arns=[arn])

    def _allow_files(self, grantee: iam.IGrantable, action: str, *folders: Folder) -> None:
        self._name_files(grantee, action, *folders)
        self._surroundings.grant_data_key(grantee, WRITE_OBJECTS if action == "s3:PutObject" else READ_OBJECTS)

    def _name_files(self, grantee: iam.IGrantable, action: str, *folders: Folder) -> None:
        arns = [self.bucket.arn_for_objects(f"{folder}/*") for folder in folders]
        iam.Grant.add_to_principal(grantee=grantee, actions=[action], resource_arns=arns)
        bucket_id = cdk.Stack.of(self).get_logical_id(self.bucket.node.default_child)
        for folder in folders:
            finding = f"AwsSolutions-IAM5[Resource::<{bucket_id}.Arn>/{folder}/*]"
            reason = f"Each job, file or batch has objects of its own below {folder}/, with names unknown before."
            acknowledge(grantee.grant_principal, {finding: reason})
