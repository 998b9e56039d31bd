"""What the machine of hosting.mode ec2 downloads: staged weights from S3, a gated model with a token from a secret."""

import os
import subprocess
import sys
from pathlib import Path

from local_cloud.cloud import LocalCloud
from support.repository import ROOT
from support.stand_ins.hub_server import HubServer

FILES = {"config.json": b"{}", "model.safetensors": b"1" * 200_000, "tokenizer.json": b"words"}
FETCH = (
    "import os; from pathlib import Path; from model_src.generation.weights import fetch; fetch(Path('.'), os.environ)"
)


def fetched(cloud: LocalCloud, home: Path, **variables: str) -> tuple[int, str, dict[str, bytes]]:
    """Run a download; return its exit status, its errors, and the model's files afterwards."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
        "AWS_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
        "MODEL_ID": "own/model",
        **variables,
    }
    home.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-c", FETCH], cwd=home, env=environment, capture_output=True, text=True)
    files = (path for path in (home / "model").rglob("*") if path.is_file() and path.name != ".source")
    return done.returncode, done.stderr, {str(path.relative_to(home / "model")): path.read_bytes() for path in files}


def test_staged_weights_are_copied_once_and_no_others(bare_cloud: LocalCloud, tmp_path: Path) -> None:
    s3 = bare_cloud.client("s3", region="us-east-1")
    s3.create_bucket(Bucket="machine-weights")
    for name, body in {**FILES, "a-folder/more.json": b"[]"}.items():
        s3.put_object(Bucket="machine-weights", Key=f"models/own/{name}", Body=body)
    s3.put_object(Bucket="machine-weights", Key="models/own/", Body=b"")  # a folder of the console
    s3.put_object(Bucket="machine-weights", Key="models/own-30b/config.json", Body=b"of another model")
    of_s3 = {"MODEL_WEIGHTS": "s3://machine-weights/models/own/"}
    expected = (0, "", {**FILES, "a-folder/more.json": b"[]"})
    assert fetched(bare_cloud, tmp_path, **of_s3) == expected
    s3.put_object(Bucket="machine-weights", Key="models/own/config.json", Body=b"changed")
    assert fetched(bare_cloud, tmp_path, **of_s3) == expected
    status, errors, files = fetched(bare_cloud, tmp_path, MODEL_WEIGHTS="s3://machine-weights/models/none/")
    assert (status, files) == (1, {})
    assert "WeightsError: no object has the prefix s3://machine-weights/models/none/" in errors


def test_a_gated_model_is_downloaded_with_the_secret_s_token(bare_cloud: LocalCloud, tmp_path: Path) -> None:
    secrets = bare_cloud.client("secretsmanager", region="us-east-1")
    arn = secrets.create_secret(Name="hub-token-of-machines", SecretString="hf_secret\n")["ARN"]
    with HubServer("own/model", FILES) as hub:
        hub.token = "hf_secret"
        refused = fetched(bare_cloud, tmp_path, HF_ENDPOINT=hub.url)
        taken = fetched(bare_cloud, tmp_path, HF_ENDPOINT=hub.url, HUB_TOKEN_SECRET_ARN=arn)
    assert (refused[0], refused[2]) == (1, {})
    assert "GatedRepoError" in refused[1]
    assert taken == (0, "", FILES)
