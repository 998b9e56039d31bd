"""For the tests of a project: the template of each deployment is the accepted one.

    @pytest.mark.parametrize("name", deployments())
    def test_the_template_is_the_accepted_one(name: str) -> None:
        assert_template_is_accepted(name)

Accepted templates are in `tests/snapshots/`; `slipway snapshot` writes them. Hashes of code are masked, so that a
template changes only if resources do.
"""

from llm_hosting.deployment.paths import names
from llm_hosting.project import project_folder
from slipway.changes.template.reading import NoTemplateError
from slipway.templates.snapshot import Snapshot

__all__ = ["assert_template_is_accepted", "deployments"]


def deployments() -> list[str]:
    """Return the names of the project's deployments: `<base>/<overlay>` for an overlay."""
    return names(project_folder() / "deployments")


def assert_template_is_accepted(name: str) -> None:
    """Synthesize a deployment with the project's app, and compare its template with the accepted one.

    name: of a deployment, or of another stack that the app makes. Raises AssertionError that says what the change
    means for the deployed stack, or with the app's words if it can't be synthesized.
    """
    __tracebackhide__ = True  # pytest shows the message alone
    snapshot, accept = Snapshot(name, project_folder()), f"run `slipway snapshot {name}`, and commit what it writes"
    if snapshot.accepted is None:
        raise AssertionError(f"{name} has no accepted template in {snapshot.file}: {accept}.")
    try:
        if not snapshot.is_accepted:
            raise AssertionError(f"{snapshot.meaning}\n\nIf this is intended, {accept}.")
    except NoTemplateError as error:
        raise AssertionError(str(error)) from None
