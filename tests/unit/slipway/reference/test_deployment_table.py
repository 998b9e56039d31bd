"""The table of the shipped deployments shows what each one costs awake and asleep."""

from pathlib import Path

import pytest

from slipway.reference.deployment_table import deployment_table


def cells(folder: Path, hosting: str, model: str = "Qwen/Qwen3-4B") -> dict[str, str]:
    """Return the row of one deployment by the names of the columns."""
    (folder / "deployments").mkdir()
    (folder / "deployments" / "chat.yaml").write_text(f"model: {{id: {model}}}\nhosting: {{{hosting}}}\n")
    heading, _, row = deployment_table(folder)
    names, values = ([cell.strip() for cell in line.strip("|").split("|")] for line in (heading, row))
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize(
    ("hosting", "awake", "asleep"),
    [
        ("instance_type: ml.g6.2xlarge", "1.22", "never sleeps"),
        ("instance_type: ml.g6.2xlarge, mode: async, instance_count: {min: 0, max: 2}", "1.22 to 2.44", "0"),
        ("instance_type: ml.g6.2xlarge, mode: async, instance_count: {min: 2, max: 2}", "2.44", "never sleeps"),
        ("instance_type: ml.g6.xlarge", "> 0.80", "never sleeps"),
    ],
)
def test_an_endpoint_costs_its_instances(tmp_path: Path, hosting: str, awake: str, asleep: str) -> None:
    row = cells(tmp_path, hosting)
    assert (row["USD/h awake"], row["USD/h asleep"]) == (awake, asleep)


def test_a_machine_that_sleeps_costs_its_disk(tmp_path: Path) -> None:
    row = cells(tmp_path, "instance_type: c7i.xlarge, mode: ec2, volume_size_in_gb: 100", "Qwen/Qwen3-0.6B")
    assert row["USD/h asleep"] == f"{100 * 0.08 / 730:.3f}"


def test_a_model_of_unknown_size_has_no_figures(tmp_path: Path) -> None:
    row = cells(tmp_path, "instance_type: ml.g6.2xlarge", "someone/unheard-of")
    assert (row["First answer"], row["Memory used, GB"]) == ("not known", "not known")
