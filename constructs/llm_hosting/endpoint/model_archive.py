"""Model data as a CDK asset: a handler, or settings that the container reads from a file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..archive import pack


class ModelArchive(Construct):
    """An archive for an S3DataSource of type S3Object with compression Gzip. Raises ArchiveError.

    handler: the folder of a handler; None = settings alone.
    properties: the lines of serving.properties.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, handler: Path | None, properties: Mapping[str, str]
    ) -> None:
        super().__init__(scope, construct_id)
        content = pack(handler, properties)
        digest = hashlib.sha256(content).hexdigest()
        name = f"asset.{digest}.tar.gz"
        (Path(cdk.Stage.of(self).outdir) / name).write_bytes(content)
        # An s3_assets.Asset would name the object <hash>.gz, but SageMaker requires the suffix .tar.gz.
        self._location = cdk.Stack.of(self).synthesizer.add_file_asset(
            source_hash=f"{digest}.tar", file_name=name, packaging=cdk.FileAssetPackaging.FILE
        )

    @property
    def uri(self) -> str:
        """The archive's address, `s3://bucket/key`."""
        url: str = self._location.s3_object_url
        return url

    def read_statement(self) -> iam.PolicyStatement:
        """Return the permission to read this archive and nothing else in the bucket."""
        arn = f"arn:{cdk.Aws.PARTITION}:s3:::{self._location.bucket_name}/{self._location.object_key}"
        return iam.PolicyStatement(actions=["s3:GetObject"], resources=[arn])
