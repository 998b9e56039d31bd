"""`slipway diff`, on a repository with an app of its own, which needs no CDK."""

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_hosting.installed_version import installed_version
from llm_hosting.stack_label import StackLabel
from slipway.changes.template.reading import NoTemplateError
from slipway.changes.template.synthesis import synthesize
from slipway.templates.diff import DiffOptions, deployed_template, run
from support.templates.known_changes import IAM, KEY, OPEN, a, api, of, role

APP = """
import json, os, pathlib, sys
context, out = json.loads(os.environ["CDK_CONTEXT_JSON"]), pathlib.Path(os.environ["CDK_OUTDIR"])
name = context.get("deployment", "")
here = pathlib.Path(__file__).parent
text = (pathlib.Path(name) if name.endswith(".yaml") else here / "deployments" / f"{name}.yaml").read_text()
if text.startswith("broken"):
    sys.exit(text.removeprefix("broken"))
(out / "one.template.json").write_text(text)
properties = {"templateFile": "one.template.json"}
region = json.loads(text).get("Metadata", "eu-west-1")
stack = {"type": "aws:cloudformation:stack", "environment": f"aws://1/{region}", "properties": properties}
(out / "manifest.json").write_text(json.dumps({"artifacts": {pathlib.Path(name).stem: stack}}))
"""
STACK = "{pathlib.Path(name).stem: stack}"
TABLE = of(Table=a("DynamoDB::Table", {"TableName": "a"}))
OTHER_TABLE = of(Table=a("DynamoDB::Table", {"TableName": "b"}))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A committed deployment `one` with a table."""
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "cdk.json").write_text("{}")
    write(tmp_path, TABLE)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return tmp_path


def write(root: Path, template: Any, name: str = "one") -> None:
    (root / "deployments").mkdir(exist_ok=True, parents=True)
    (root / "deployments" / f"{name}.yaml").write_text(template if isinstance(template, str) else json.dumps(template))


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")


def last_line(printed: str) -> str:
    """The last line, which stands below the steps."""
    return printed.splitlines()[-1]


def test_the_working_tree_is_compared_with_its_last_commit(repository: Path, capsys: Any) -> None:
    write(repository, OTHER_TABLE)
    before = git(repository, "status", "--porcelain")

    assert run("one", repository, DiffOptions()) == 1

    said = capsys.readouterr().out
    assert "one against HEAD: 1 change must be acknowledged" in said
    assert "TableName a -> b" in said
    assert git(repository, "status", "--porcelain") == before  # no worktree, no file of ours stays
    assert git(repository, "worktree", "list").count("\n") == 1


def test_nothing_changes_where_only_another_file_does(repository: Path, capsys: Any) -> None:
    (repository / "README.md").write_text("x")

    assert run("one", repository, DiffOptions()) == 0
    assert capsys.readouterr().out == "one against HEAD: nothing changes\n"


def test_an_older_commit_is_synthesized_by_its_own_app(repository: Path, capsys: Any) -> None:
    (repository / "app.py").write_text(APP.replace("text = ", "text = '' + "))
    write(repository, OTHER_TABLE)
    commit(repository)

    assert run("one", repository, DiffOptions(against="HEAD")) == 0
    assert run("one", repository, DiffOptions(against="HEAD~1", form="json")) == 1

    changes = json.loads(capsys.readouterr().out.partition("\n")[2])["changes"]
    assert [each["kind"] for each in changes] == ["replaced", "data-loss"]


def test_a_deployment_that_is_new_adds_everything(repository: Path, capsys: Any) -> None:
    write(repository, TABLE, "two")

    assert run("two", repository, DiffOptions(form="json")) == 0
    assert [each["kind"] for each in json.loads(capsys.readouterr().out)["changes"]] == ["added"]


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of deployment files alone, with the deployment `two` in a folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    write(folder, TABLE, "two")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def test_a_file_of_another_repository_is_compared_with_that_repositorys_commit(
    repository: Path, elsewhere: Path, capsys: Any
) -> None:
    write(elsewhere, OTHER_TABLE, "two")
    file = elsewhere / "deployments" / "two.yaml"

    assert run(str(file), repository, DiffOptions()) == 1
    said = capsys.readouterr()
    assert "TableName a -> b" in said.out
    assert str(elsewhere / "accepted-changes" / "two.yaml") in said.err

    commit(elsewhere)
    assert run(str(file), repository, DiffOptions()) == 0
    assert run(str(file), repository, DiffOptions(against="HEAD~1")) == 1


def test_a_link_to_another_repository_is_compared_with_that_repositorys_commit(
    repository: Path, elsewhere: Path, capsys: Any
) -> None:
    write(elsewhere, OTHER_TABLE, "two")
    (repository / "deployments" / "three.yaml").symlink_to(elsewhere / "deployments" / "two.yaml")

    assert run("three", repository, DiffOptions()) == 1
    assert "TableName a -> b" in capsys.readouterr().out


def test_a_file_that_its_repository_has_not_committed_adds_everything(
    repository: Path, elsewhere: Path, capsys: Any
) -> None:
    write(elsewhere / "new", TABLE, "four")

    assert run(str(elsewhere / "new" / "deployments" / "four.yaml"), repository, DiffOptions(form="json")) == 0
    said = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in said["changes"]] == ["added"]
    assert said["against"] == "HEAD, which does not have it"


def test_a_file_without_a_repository_has_nothing_to_be_compared_with(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Any
) -> None:
    folder = tmp_path_factory.mktemp("nowhere")
    write(folder, TABLE, "two")

    assert run(str(folder / "deployments" / "two.yaml"), repository, DiffOptions()) == 2
    assert "two.yaml is in no git repository, so it has no HEAD; use --against stack" in capsys.readouterr().err


def test_another_region_is_another_stack(repository: Path, capsys: Any) -> None:
    write(repository, TABLE | {"Metadata": "us-east-1"})

    assert run("one", repository, DiffOptions()) == 1
    assert "region: eu-west-1 -> us-east-1: a new stack there; the one in eu-west-1 stays" in capsys.readouterr().out


def test_a_template_file_may_be_yaml(repository: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(OTHER_TABLE))

    assert run("one", repository, DiffOptions(against=str(tmp_path / "old.yaml"))) == 1
    assert "TableName b -> a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (DiffOptions(against="no-such-branch"), "--against no-such-branch: there is no such branch"),
        (DiffOptions(against="--output=x"), "--against --output=x: there is no such branch"),
        (DiffOptions(against="app.py"), "app.py is not a template"),
        (DiffOptions(accepted=Path("nowhere.yaml")), "nowhere.yaml can't be read: there is no such file or folder."),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(
    repository: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, options: DiffOptions, sentence: str
) -> None:
    monkeypatch.chdir(repository)

    assert run("one", repository, options) == 2
    assert last_line(capsys.readouterr().err).startswith(sentence)


def test_a_commit_whose_app_fails_is_said_in_a_sentence(repository: Path, capsys: Any) -> None:
    write(repository, "broken Traceback:\nKeyError: 'model'")
    commit(repository)
    write(repository, TABLE)

    assert run("one", repository, DiffOptions()) == 2
    assert last_line(capsys.readouterr().err) == "At HEAD, one can't be synthesized: KeyError: 'model'"


def test_a_file_that_is_refused_has_all_its_problems(repository: Path, capsys: Any) -> None:
    write(repository, "broken: 2 problems\n  - serving.engine: 'vlm' is not allowed.\n  - hosting: is missing.")

    assert run("one", repository, DiffOptions()) == 2
    assert capsys.readouterr().err.endswith(
        "one can't be synthesized:\n  - serving.engine: 'vlm' is not allowed.\n  - hosting: is missing.\n"
    )


def test_a_finding_of_cdk_nag_has_its_sentence_and_its_construct(repository: Path, capsys: Any) -> None:
    found = "ERROR The bucket is {}. (AwsSolutions)\n   one/{}/Resource aws-cdk-lib.aws_s3.CfnBucket\n"
    report = "RuntimeError: Validation failed. A copy of this report can be found in: /gone.json"
    write(repository, f"broken{found.format('open', 'A')}\n{found.format('old', 'B')}{report}")
    assert run("one", repository, DiffOptions()) == 2
    assert capsys.readouterr().err.endswith(
        "one can't be synthesized:\n"
        "  - one/A/Resource: The bucket is open. (AwsSolutions)\n"
        "  - one/B/Resource: The bucket is old. (AwsSolutions)\n"
    )
    write(repository, f"broken{found.format('open', 'A')}{report}")
    assert run("one", repository, DiffOptions()) == 2
    said = "one can't be synthesized: one/A/Resource: The bucket is open. (AwsSolutions)"
    assert last_line(capsys.readouterr().err) == said


def test_a_folder_that_is_no_project_is_refused(tmp_path: Path, capsys: Any) -> None:
    assert run("one", tmp_path, DiffOptions()) == 2
    said = f"There is no cdk.json in {tmp_path}: run this in a folder that `slipway init` has made.\n"
    assert capsys.readouterr().err == said


def test_the_script_that_cdk_json_names_runs_and_one_that_writes_nothing_is_said(repository: Path, capsys: Any) -> None:
    (repository / "bin").mkdir()
    (repository / "app.py").rename(repository / "bin" / "stacks.py")
    (repository / "bin" / "stacks.py").write_text(APP.replace(".parent", ".parent.parent"))
    (repository / "cdk.json").write_text('{"app": "python3 bin/stacks.py"}')
    assert synthesize("one", repository).template == TABLE

    (repository / "bin" / "stacks.py").write_text("")
    assert run("one", repository, DiffOptions()) == 2
    said = f"{repository}/bin/stacks.py wrote no template: end it with create_app().synth(), or app.synth()."
    assert last_line(capsys.readouterr().err) == said


def test_a_warning_of_an_untested_feature_flag_is_passed_on(repository: Path, capsys: Any) -> None:
    flag = "WARNING The feature flag x is false, but Slipway's templates are tested with true. (Annotation)"
    printed = f"print({flag!r}, 'WARNING Another thing. (Annotation)', sep='\\n', file=sys.stderr)"
    (repository / "app.py").write_text(f"{APP}\n{printed}\n{printed}\n")
    assert run("one", repository, DiffOptions()) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert warnings == ["warning: The feature flag x is false, but Slipway's templates are tested with true."]


def test_a_folder_without_git_has_no_commit(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "cdk.json").write_text("{}")
    write(tmp_path, TABLE)

    assert run("one", tmp_path, DiffOptions()) == 2
    assert last_line(capsys.readouterr().err).startswith(f"--against HEAD: {tmp_path} is in no git repository; use ")


def test_a_repository_without_a_commit_is_named(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "cdk.json").write_text("{}")
    write(tmp_path, TABLE)
    git(tmp_path, "init", "-q")

    assert run("one", tmp_path, DiffOptions()) == 2
    assert last_line(capsys.readouterr().err).startswith(f"--against HEAD: {tmp_path} has no commit yet; use ")


@pytest.fixture
def older_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An environment of its own with another version of a package, `shape`, than this one, which has none."""
    folder = tmp_path_factory.mktemp("older")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "shape.py").write_text('NAME = "older"')
    return str(folder / "bin" / "python")


def test_a_commit_is_synthesized_with_the_packages_that_it_pins(
    repository: Path, older_python: str, capsys: Any
) -> None:
    (repository / "requirements.txt").write_text("shape==1")
    named_by_package = APP.replace("write_text(text)", """write_text(text.replace('"a"', f'"{shape.NAME}"'))""")
    (repository / "app.py").write_text(f"import shape{named_by_package}")
    commit(repository)
    (repository / "requirements.txt").write_text("shape==2")
    (repository / "app.py").write_text(APP)

    assert run("one", repository, DiffOptions()) == 2
    said = capsys.readouterr().err
    assert "requirements.txt differs at HEAD, but the packages of this Python synthesize both sides; name an " in said
    assert "No module named 'shape'" in said

    assert run("one", repository, DiffOptions(python=older_python)) == 1
    said = capsys.readouterr()
    assert "TableName older -> a" in said.out
    assert "requirements.txt" not in said.err

    assert run("one", repository, DiffOptions(python="/no/python")) == 2
    assert last_line(capsys.readouterr().err).endswith(
        "--python: /no/python can't be run: there is no such file or folder."
    )


def test_of_several_stacks_the_one_of_the_deployment_is_compared(repository: Path, capsys: Any) -> None:
    app = APP.replace(
        '{"artifacts": {',
        '{"artifacts": {"Own": stack | {"properties": {"templateFile": "own"}}, ',
    )
    (repository / "app.py").write_text(app.replace("properties =", '(out / "own").write_text("{}"); properties ='))
    commit(repository)
    write(repository, OTHER_TABLE)

    assert run("one", repository, DiffOptions()) == 1
    assert "TableName a -> b" in capsys.readouterr().out


def test_another_stack_of_the_app_is_compared_by_its_name(repository: Path, capsys: Any) -> None:
    own = APP.replace('f"{name}.yaml"', '"one.yaml"').replace(STACK, '{"Other": stack, "Own": stack}')
    (repository / "app.py").write_text(own)
    commit(repository)
    write(repository, OTHER_TABLE)

    assert run("Own", repository, DiffOptions()) == 1
    said = capsys.readouterr()
    assert "TableName a -> b" in said.out
    assert "accepted-changes/Own.yaml" in said.err

    assert run("Third", repository, DiffOptions()) == 2
    assert last_line(capsys.readouterr().err) == (
        "There is no deployment 'Third'. Use one or the path of a YAML file. "
        "The app made no stack Third, only Other, Own."
    )


def test_an_app_without_the_deployments_stack_is_said_with_the_stacks_that_it_makes(
    repository: Path, capsys: Any
) -> None:
    for stacks, made in (("Own",), "Own"), (("Own", "Other"), "Own, Other"):
        app = APP.replace(STACK, f"dict.fromkeys({stacks}, stack)")
        (repository / "app.py").write_text(app)

        assert run("one", repository, DiffOptions(against="stack")) == 2
        assert last_line(capsys.readouterr().err) == f"The app made no stack one, only {made}."


def test_an_acknowledged_change_passes(repository: Path, capsys: Any) -> None:
    write(repository, OTHER_TABLE)
    (repository / "accepted-changes").mkdir()
    (repository / "accepted-changes" / "one.yaml").write_text(
        "- {resource: Table, kind: replaced, reason: the table is empty}\n"
        "- {resource: Queue, kind: removed, reason: the queue has gone}\n"
    )

    assert run("one", repository, DiffOptions()) == 0
    said = capsys.readouterr().out
    assert "acknowledged: the table is empty" in said
    assert "Stale: Queue removed is acknowledged, but does not happen." in said


def test_another_resource_or_kind_is_not_acknowledged(repository: Path, tmp_path: Path) -> None:
    write(repository, OTHER_TABLE)
    for entry in ("resource: Tables, kind: replaced", "resource: Table, kind: removed"):
        (tmp_path / "accepted.yaml").write_text(f"- {{{entry}, reason: the table is empty}}\n")
        assert run("one", repository, DiffOptions(accepted=tmp_path / "accepted.yaml")) == 1


def test_markdown_is_a_table_that_fits_a_comment(repository: Path, capsys: Any) -> None:
    names = {f"Bucket{number}": a("S3::Bucket", {"BucketName": "x" * 60}) for number in range(900)}
    write(repository, of(Role=role(), **names))
    commit(repository)
    write(repository, of(Role=role(OPEN | {"Resource": "a|b @someone <img>"})))

    assert run("one", repository, DiffOptions(form="markdown")) == 1

    said = capsys.readouterr().out
    assert len(said) < 65_536
    assert "more.\n" in said
    rows = [line for line in said.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {5}
    assert "@" not in said
    assert "<img>" not in said
    assert "a&#124;b" in said


class Cloud:
    """CloudFormation with at most one stack."""

    def __init__(self, template: Any, parameters: dict[str, str], description: str = "Slipway: x") -> None:
        self.template, self.parameters, self.description = template, parameters, description

    def describe_stacks(self, **_: Any) -> Any:
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in self.parameters.items()]
        return {"Stacks": [{"StackName": "one", "Description": self.description, "Parameters": parameters}]}

    def get_template(self, **given: Any) -> Any:
        assert given == {"StackName": "one", "TemplateStage": "Original"}
        return {"TemplateBody": self.template}


@pytest.mark.parametrize("description", ["Slipway: x", "a stack of the team's own app"])
@pytest.mark.parametrize("body", [TABLE, yaml.safe_dump(TABLE)])
def test_the_deployed_stack_has_its_template_and_parameters(body: Any, description: str) -> None:
    cloud = Cloud(body, {"A": "b"}, description)
    before = deployed_template("one", lambda service: {"cloudformation": cloud}[service])

    assert (before.template, before.values) == (TABLE, {"A": "b"})


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("9.8.7", f"the stack one of Slipway 9.8.7 (installed: {installed_version()})"),
        (installed_version(), f"the stack one of Slipway {installed_version()}"),
        ("", "the stack one"),
    ],
)
def test_the_version_that_made_the_deployed_stack_is_named(version: str, words: str) -> None:
    made = TABLE | {"Metadata": StackLabel("gpt2", "realtime", version).as_metadata()}
    assert deployed_template("one", lambda service: {"cloudformation": Cloud(made, {})}[service]).words == words


def test_a_synthesized_deployment_has_its_region(repository: Path) -> None:
    assert synthesize("one", repository).region == "eu-west-1"
    with pytest.raises(NoTemplateError, match="can't be synthesized"):
        synthesize("three", repository)


def test_another_authorization_is_one_change_of_the_api(repository: Path, capsys: Any) -> None:
    write(repository, api(**IAM))
    commit(repository)
    write(repository, api(**KEY))

    assert run("one", repository, DiffOptions(form="json")) == 1

    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["logical_id"], change["kind"], change["stops"]) == ("A", "callers-refused", True)
    assert change["sentence"] == (
        "AuthorizationType AWS_IAM -> CUSTOM on GET, POST: from then on only callers with an API key are let in, and "
        "callers that sign with AWS credentials are refused"
    )


def test_secrets_are_not_shown(repository: Path, capsys: Any) -> None:
    for word in ("first", "second"):
        variables = {"Variables": {"DB_PASS": f"{word}-secret"}}
        write(
            repository,
            of(
                Database=a("RDS::DBInstance", {"MasterUserPassword": f"{word}-secret"}),
                Function=a("Lambda::Function", {"Environment": variables}),
            ),
        )
        if word == "first":
            commit(repository)

    for form in ("text", "json", "markdown"):
        assert run("one", repository, DiffOptions(form=form)) == 0
    said = capsys.readouterr().out
    assert "MasterUserPassword" in said
    assert "-secret" not in said
