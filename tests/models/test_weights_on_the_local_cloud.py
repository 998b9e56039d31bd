"""`slipway local <deployment> --weights <folder>`: real weights answer on a machine of the local cloud."""

import json
import re
import socket
import subprocess
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_real_weights_answer_through_the_api(weights: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    python, options = str(ROOT / ".venv/bin/python"), ["--port", str(port), "--weights", str(weights)]
    command = [python, "-m", "slipway", "local", "gpt2-ec2", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C stops it" in line:
                break
        try:
            assert re.search(r"answer +200: .", printed), printed
            (machine,) = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/_slipway/machines", timeout=60))
            model = str(machine["services"]["slipway-model"])
            program = subprocess.run(["ps", "-o", "command=", "-p", model], stdout=subprocess.PIPE, text=True).stdout
            assert program.startswith(f"{ROOT}/.venv-models/bin/python ")
        finally:
            process.terminate()
            process.communicate()
