"""docs/calling.md works as it stands for somebody who has a URL and a key."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence

from .conftest import ROOT, Served

PAGE = (ROOT / "docs" / "calling.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the page's code of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def said(command: Sequence[str], served: Served) -> str:
    """Run a command with the two variables of the page, and return its output."""
    own = {"OPENAI_BASE_URL": served.url, "OPENAI_API_KEY": served.key}
    return subprocess.run(command, env=os.environ | own, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_the_python_lines_print_a_whole_answer_and_a_stream(lmi: Served) -> None:
    (lines,) = blocks("python")
    whole, _, streamed = said([sys.executable, "-c", lines], lmi).partition("\n")
    assert whole
    assert streamed


def test_the_curl_line_gets_a_chat_completion(lmi: Served) -> None:
    _, ask, _ = blocks("sh")
    assert json.loads(said(["bash", "-euc", ask], lmi))["choices"][0]["message"]["content"]


def test_the_lines_about_jobs_submit_a_job_once_and_fetch_its_answer(lmi: Served) -> None:
    _, _, lines = blocks("sh")
    submit, _, fetch = lines.partition("JOB=6f1c...")
    define = submit.splitlines()[0]
    first, second = (json.loads(said(["bash", "-euc", submit], lmi)) for _ in range(2))
    assert first["id"] == second["id"]
    job = json.loads(said(["bash", "-euc", f"{define}\nJOB={first['id']}{fetch}"], lmi))
    assert job["status"] == "succeeded"
    assert job["output"]["choices"][0]["message"]["content"]
