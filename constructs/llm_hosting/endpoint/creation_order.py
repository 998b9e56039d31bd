"""The endpoint comes last: it costs most, and it can't be deleted while it starts."""

from collections.abc import Iterator, Sequence

from aws_cdk import CfnResource
from constructs import Construct


def create_last(endpoint: CfnResource, service: Construct, *, later: Sequence[Construct]) -> None:
    """Create an endpoint after everything else of the service but `later`, and delete it before that.

    later: what waits for the endpoint, and goes before it. Otherwise a failure elsewhere could roll the stack back
    while the endpoint is `Creating`. SageMaker then refuses to delete it, the stack ends as ROLLBACK_FAILED, and the
    instances go on billing.
    """
    endpoint.node.add_dependency(*_all_but([endpoint, *later], service))


def _all_but(left_out: Sequence[Construct], scope: Construct) -> Iterator[Construct]:
    for child in scope.node.children:
        if any(each.node.path.startswith(f"{child.node.path}/") for each in left_out):
            yield from _all_but(left_out, child)
        elif child not in left_out:
            yield child
