"""`slipway dashboard`: the console's page by partition, and where no browser is opened."""

from types import SimpleNamespace

import pytest

from slipway.operations import dashboard
from slipway.operations.dashboard import NoDashboardError, has_screen, page_of
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack

PAGE = "/cloudwatch/home?region={region}#dashboards/dashboard/chat-1a2b3c4d"


@pytest.mark.parametrize(
    ("partition", "region", "host"),
    [
        ("aws", "eu-west-1", "eu-west-1.console.aws.amazon.com"),
        ("aws-cn", "cn-north-1", "cn-north-1.console.amazonaws.cn"),
        ("aws-us-gov", "us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
    ],
)
def test_the_page_is_in_the_console_of_the_stacks_partition(partition: str, region: str, host: str) -> None:
    stack_id = f"arn:{partition}:cloudformation:{region}:111122223333:stack/chat/1a2b3c4d"
    assert page_of("chat-1a2b3c4d", stack_id) == f"https://{host}{PAGE.format(region=region)}"


def test_a_partition_whose_console_is_not_known_is_no_guess() -> None:
    with pytest.raises(NoDashboardError, match="The console of the partition aws-iso is not known: open the dashboard"):
        page_of("chat", "arn:aws-iso:cloudformation:us-iso-east-1:111122223333:stack/chat/1a2b3c4d")


@pytest.mark.parametrize(
    ("environment", "platform", "seen"),
    [
        ({}, "darwin", True),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, "linux", False),
        ({"SSH_TTY": "/dev/ttys1"}, "darwin", False),
    ],
)
def test_a_browser_is_opened_only_before_a_screen(environment: dict[str, str], platform: str, seen: bool) -> None:
    assert has_screen(environment, platform) == seen


@pytest.mark.parametrize(("opens", "opened"), [(True, 1), (False, 0)])
def test_it_opens_the_link_on_a_screen_unless_it_must_not(
    opens: bool, opened: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages: list[str] = []
    monkeypatch.setattr("webbrowser.open", pages.append)
    monkeypatch.setattr(dashboard, "has_screen", lambda *_: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown_at(monkeypatch, "https://cloudformation.eu-west-1.amazonaws.com")
    assert dashboard.run("chat", "eu-west-1", opens=opens) == 0
    assert len(pages) == opened
    assert capsys.readouterr().out.endswith(f"{PAGE.format(region='eu-west-1')}\n")


def test_the_local_cloud_has_no_console(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown_at(monkeypatch, "http://127.0.0.1:4566")
    assert dashboard.run("chat", None, opens=True) == 1
    assert capsys.readouterr().err.startswith(
        "The local cloud has no console to show the dashboard chat-1a2b3c4d: use `slipway status chat --watch"
    )


def shown_at(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the command find the stack `chat` with a dashboard, at this URL of CloudFormation."""
    described = described_stack("CREATE_COMPLETE", "gpt2 on tgi", parameters={}, outputs={"Dashboard": "chat-1a2b3c4d"})
    client = SimpleNamespace(
        meta=SimpleNamespace(endpoint_url=url, region_name="eu-west-1"),
        describe_stacks=lambda StackName: {"Stacks": [described]},
        get_template_summary=lambda StackName: {},
    )
    monkeypatch.setattr(dashboard, "clients_in", lambda region: lambda service: client)
    assert DeployedStack(described, lambda service: client).outputs
