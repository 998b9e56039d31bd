"""`slipway snapshot` in a folder that is no project."""

from pathlib import Path

import pytest

from slipway.templates import snapshot


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([], "{} has no deployment: run this in a folder that `slipway init` has made."),
        (["chat"], "There is no cdk.json in {}: run this in a folder that `slipway init` has made."),
    ],
)
def test_a_folder_that_is_no_project_is_refused(
    names: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert snapshot.run(names, tmp_path) == 2
    assert capsys.readouterr().err.endswith(f"{problem.format(tmp_path)}\n")
    assert not list(tmp_path.iterdir())
