"""The settings that a security review asks for."""

from pydantic import Field

from .governance import Governance
from .section import KmsKeyArn
from .vpc import Vpc


class Security(Governance):
    """Limits of the roles, tags, the keys that encrypt what is stored, and the network."""

    customer_keys: bool = Field(
        False,
        description="true = the stack makes two KMS keys, one for data and one for logs, which rotate each year and "
        "outlive the stack; they cost 1 USD a month each. false = keys of AWS, or those named below.",
    )
    kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="Your own KMS key for data, `arn:aws:kms:<region>:<account>:key/<id>`: tables, bucket, queues, "
        "topics, the functions' variables, results, and volumes that take a key; null = AWS's keys, unless "
        "`customer_keys` is on.",
    )
    log_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="Your own KMS key for all log groups, in the same form; its policy must let CloudWatch Logs "
        "use it; null = AWS's keys, unless `customer_keys` is on.",
    )
    vpc: Vpc | None = Field(
        None,
        description="Network of the endpoint's containers, or of the machines; null = SageMaker's own network, or with "
        "`hosting.mode: ec2` a VPC of the stack that lets nothing in and only TCP 443 out.",
    )

    @property
    def has_data_key(self) -> bool:
        """Whether data has a key of the customer."""
        return self.customer_keys or self.kms_key_arn is not None
