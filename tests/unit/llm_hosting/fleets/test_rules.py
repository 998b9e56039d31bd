"""Each rule of fleets, broken and kept, and the reader of fleet files."""

from pathlib import Path
from typing import Any

import pytest

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.fleets.file import load_fleet, parse_fleet
from llm_hosting.fleets.rules import RULES, judged
from llm_hosting.fleets.stack_sets import told_values, version_of
from support.deployments.fleets import (
    CANARY_UNIT,
    FIRST,
    MANAGEMENT,
    SECOND,
    SELF_MANAGED,
    TEMPLATE,
    UNIT,
    fleet,
    rendered,
)
from support.repository import ROOT

Changes = dict[str, Any]
ON: Changes = {"DeployEndpoint": "true"}
AUTOMATIC: Changes = {"auto_deployment": {"enabled": True}, "management_account": MANAGEMENT}


def group(**settings: Any) -> Changes:
    return {"organizational_units": [UNIT], "regions": ["us-east-1"], **settings}


def some(kind: str, *accounts: str) -> Changes:
    return {"accounts": list(accounts), "account_filter": kind}


def targets(*groups: Changes, canary: Changes | None = None, **settings: Any) -> Changes:
    return {"canary": canary, "targets": list(groups), **settings}


BROKEN_AND_KEPT: list[tuple[str, str, Changes, Changes]] = [
    (
        "permission-model-decides-the-targets",
        "targets.0.organizational_units",
        targets({"accounts": [FIRST], "regions": ["us-east-1"]}),
        SELF_MANAGED,
    ),
    ("permission-model-decides-the-targets", "targets.0.accounts", SELF_MANAGED | targets(group()), SELF_MANAGED),
    ("permission-model-decides-the-settings", "auto_deployment.enabled", SELF_MANAGED | AUTOMATIC, AUTOMATIC),
    (
        "permission-model-decides-the-settings",
        "execution_role_name",
        {"execution_role_name": "Deployer"},
        SELF_MANAGED | {"execution_role_name": "Deployer"},
    ),
    (
        "account-filters-have-accounts",
        "targets.0.accounts",
        targets(group(accounts=[FIRST])),
        targets(group(**some("intersection", FIRST))),
    ),
    ("account-filters-have-accounts", "targets.0.account_filter", targets(group(account_filter="difference")), {}),
    (
        "parameters-fit-the-template",
        "parameters.DeployEndpiont",
        {"parameters": {"DeployEndpiont": "true"}},
        {"parameters": ON},
    ),
    ("parameters-fit-the-template", "parameters.DeployEndpoint", {"parameters": {"DeployEndpoint": "yes"}}, {}),
    (
        "parameters-fit-the-template",
        "targets.0.parameters.ImageTag",
        targets(group(parameters={"ImageTag": "new"})),
        targets(group(parameters={"ImageTag": "1.1"})),
    ),
    (
        "parameters-fit-the-template",
        "parameters.InstanceCount",
        {"parameters": {"InstanceCount": "9"}},
        {"parameters": {"InstanceCount": "8"}},
    ),
    *(
        (
            "parameters-fit-the-template",
            "parameters.InstanceCount",
            {"parameters": {"InstanceCount": value}},
            {"parameters": {"InstanceCount": "2"}},
        )
        for value in ("1.5", "nan")
    ),
    *(
        (
            "alarm-topic-is-of-the-region",
            f"targets.0.parameters.{topic}",
            {"parameters": {topic: f"arn:aws:sns:us-east-1:{FIRST}:alarms"}},
            targets(group(parameters={topic: f"arn:aws:sns:us-east-1:{FIRST}:alarms"})),
        )
        for topic in ("AlarmTopicArn", "PagingTopicArn")
    ),
    (
        "settings-have-an-effect",
        "auto_deployment.retain_on_removal",
        {"auto_deployment": {"retain_on_removal": True}},
        {"auto_deployment": {"retain_on_removal": True, "enabled": True}},
    ),
    *(
        ("settings-have-an-effect", field, SELF_MANAGED | {field: value}, SELF_MANAGED)
        for field, value in (("call_as", "self"), ("management_account", MANAGEMENT))
    ),
    (
        "regions-are-of-one-partition",
        "targets",
        targets(group(regions=["us-isof-east-1", "us-east-1"])),
        targets(group(regions=["us-isof-east-1", "us-isof-south-1"])),
    ),
    (
        "rules-of-the-template-hold",
        "targets.0.regions",
        targets(group(regions=["ap-east-2"])),
        targets(group(regions=["eu-west-3"])),
    ),
    ("targets-are-named-once", "targets.1", targets(group(), group()), targets(group(), group(regions=["eu-west-1"]))),
    (
        "targets-are-named-once",
        "targets.1",
        targets(group(**some("intersection", FIRST)), group(**some("intersection", FIRST, SECOND))),
        targets(group(**some("intersection", FIRST)), group(**some("difference", FIRST))),
    ),
    (
        "canary-is-named-by-units-or-accounts",
        "canary.account_filter",
        targets(group(), canary=group(**some("difference", SECOND))),
        targets(group(), canary=group(**some("intersection", SECOND))),
    ),
    (
        "targets-are-named-once",
        "targets.0",
        targets(group(), canary=group()),
        targets(group(regions=["eu-west-1"]), canary=group()),
    ),
    (
        "targets-are-named-once",
        "targets.0",
        targets(group(organizational_units=["r-root"]), canary=group()),
        targets(group(organizational_units=["r-root"]), canary=group(**some("intersection", FIRST))),
    ),
    ("targets-are-named-once", "targets.0.regions", targets(group(regions=["us-east-1", "us-east-1"])), {}),
    (
        "unit-has-one-set-of-parameters",
        "targets",
        targets(group(**some("intersection", FIRST)), group(regions=["eu-west-1"], parameters=ON)),
        targets(group(), group(regions=["eu-west-1"], parameters=ON)),
    ),
    (
        "unit-has-one-set-of-parameters",
        "targets",
        targets(group(regions=["us-east-1", "eu-west-1"], parameters=ON), canary=group(**some("intersection", FIRST))),
        targets(group(parameters=ON), canary=group(**some("intersection", FIRST))),
    ),
    (
        "canary-leaves-targets",
        "canary",
        targets(group(**some("intersection", FIRST)), canary=group(**some("intersection", FIRST))),
        {},
    ),
    (
        "regions-are-of-one-partition",
        "targets",
        targets(group(regions=["us-east-1", "cn-north-1"])),
        targets(group(regions=["cn-north-1", "cn-northwest-1"])),
    ),
    (
        "region-order-has-every-region",
        "rollout.region_order",
        {"rollout": {"region_order": ["us-east-1"]}},
        {"rollout": {"region_order": ["eu-west-1", "us-east-1"]}},
    ),
    (
        "failure-tolerance-stops-something",
        "rollout.failure_tolerance",
        {"rollout": {"failure_tolerance": "51%"}},
        {"rollout": {"failure_tolerance": "50%"}},
    ),
    (
        "failure-tolerance-stops-something",
        "rollout.failure_tolerance",
        SELF_MANAGED | {"rollout": {"failure_tolerance": 3}},
        SELF_MANAGED | {"rollout": {"failure_tolerance": 2}},
    ),
    (
        "account-filters-exclude-automatic-deployment",
        "targets.0.account_filter",
        AUTOMATIC | targets(group(**some("intersection", FIRST))),
        AUTOMATIC | targets(group(**some("difference", FIRST))),
    ),
    (
        "region-has-the-instance-type",
        "targets.0.regions",
        targets(group(regions=["eu-west-3"]), parameters=ON | {"InstanceType": "ml.p5.48xlarge"}),
        targets(group(regions=["us-east-1"]), parameters=ON | {"InstanceType": "ml.p5.48xlarge"}),
    ),
    (
        "region-may-get-no-endpoint",
        "targets.0.regions",
        targets(group(regions=["eu-west-3"]), parameters={"InstanceType": "ml.p5.48xlarge"}),
        targets(group(regions=["eu-west-3"]), parameters={"InstanceType": "ml.unheard-of.large"}),
    ),
    ("canary-protects-updates-only", "canary", AUTOMATIC, AUTOMATIC | {"canary": None}),
    (
        "overrides-do-not-reach-accounts-that-join",
        "targets.0.parameters",
        AUTOMATIC | targets(group(parameters=ON)),
        targets(group(parameters=ON)),
    ),
    (
        "account-settings-precede-automatic-deployment",
        "management_account",
        {"auto_deployment": {"enabled": True}},
        AUTOMATIC,
    ),
    (
        "management-account-gets-nothing",
        "targets.0",
        targets(group(**some("intersection", MANAGEMENT)), management_account=MANAGEMENT),
        targets(group(**some("intersection", FIRST)), management_account=MANAGEMENT),
    ),
    ("management-account-gets-nothing", "targets.0", targets(group(organizational_units=["r-root"])), SELF_MANAGED),
    (
        "concurrency-is-reached",
        "rollout.max_concurrent",
        {"rollout": {"max_concurrent": 5, "failure_tolerance": 3}},
        {"rollout": {"max_concurrent": 5, "failure_tolerance": 4}},
    ),
    (
        "concurrency-is-reached",
        "rollout.max_concurrent",
        {"rollout": {"max_concurrent": "25%"}},
        {"rollout": {"max_concurrent": "25%", "concurrency": "soft"}},
    ),
    ("endpoint-is-off", "targets.0.parameters", {}, {"parameters": ON}),
]


def found(rule: str, changes: Changes, **more: Any) -> list[str]:
    made = rendered(changes, **more)
    return [each.field for law in RULES if law.id == rule for each in law.findings(made)]


@pytest.mark.parametrize(("rule", "field", "broken", "kept"), BROKEN_AND_KEPT)
def test_a_law_names_the_field_that_breaks_it_and_lets_others_be(
    rule: str, field: str, broken: Changes, kept: Changes
) -> None:
    assert field in found(rule, broken)
    assert found(rule, kept) == []


def test_every_law_has_a_case() -> None:
    assert {law.id for law in RULES} == {rule for rule, *_ in BROKEN_AND_KEPT} | {
        "archives-lie-in-buckets-of-the-regions",
        "boundary-is-in-each-account",
    }


@pytest.mark.parametrize(
    ("account", "changes", "fields"),
    [
        (FIRST, {}, ["canary"]),
        (FIRST, SELF_MANAGED, ["targets.0"]),
        (FIRST, SELF_MANAGED | targets({"accounts": [FIRST], "regions": ["us-east-1"]}), []),
        ("${AWS::AccountId}", {}, []),
        ("aws", {}, []),
    ],
)
def test_a_boundary_is_a_policy_of_each_account(account: str, changes: Changes, fields: list[str]) -> None:
    named = {"security": {"permissions_boundary_arn": f"arn:aws:iam::{account}:policy/limits"}}
    assert found("boundary-is-in-each-account", changes, deployment=named) == fields


def test_archives_need_the_prefix_of_their_buckets() -> None:
    template = TEMPLATE | {"Parameters": TEMPLATE["Parameters"] | {"ArchiveBucketPrefix": {"Type": "String"}}}
    rule = "archives-lie-in-buckets-of-the-regions"
    assert found(rule, {}, template=template, archives=True)
    assert not found(rule, {"parameters": {"ArchiveBucketPrefix": "models"}}, template=template, archives=True)


def test_a_region_that_is_misspelt_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(DeploymentError, match=r"correct eu-wst-1, which may be misspelt: use .*eu-west-1"):
        judged(Path("chat.yaml"), rendered(targets(group(regions=["eu-wst-1"]))))


def test_a_value_that_is_misspelt_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(DeploymentError, match=r"parameters.DeployEndpiont: is not a parameter.*use DeployEndpoint"):
        judged(Path("chat.yaml"), rendered({"parameters": {"DeployEndpiont": "true"}}))


@pytest.mark.parametrize(
    ("target", "canary", "left"),
    [
        (group(), group(**some("intersection", FIRST)), [([UNIT], [FIRST], "difference")]),
        (
            group(**some("difference", SECOND)),
            group(**some("intersection", FIRST)),
            [([UNIT], [SECOND, FIRST], "difference")],
        ),
        (
            group(**some("intersection", FIRST, SECOND)),
            group(**some("intersection", FIRST)),
            [([UNIT], [SECOND], "intersection")],
        ),
        (group(), group(organizational_units=[CANARY_UNIT]), [([UNIT], [], "none")]),
        (group(), group(regions=["eu-west-1"]), [([UNIT], [], "none")]),
    ],
)
def test_the_canary_is_left_out_of_the_targets(target: Changes, canary: Changes, left: list[Any]) -> None:
    service = rendered(targets(target, canary=canary)).stack_sets[-1]
    assert [(each.organizational_units, each.accounts, each.account_filter) for each in service.groups] == left


def test_the_canary_is_left_out_in_its_regions_only() -> None:
    canary = group(**some("intersection", FIRST))
    service = rendered(targets(group(regions=["us-east-1", "eu-west-1"]), canary=canary)).stack_sets[-1]
    assert [(each.regions, each.accounts) for each in service.groups] == [(["us-east-1"], [FIRST]), (["eu-west-1"], [])]


@pytest.mark.parametrize(
    ("target", "canary", "units_and_accounts"),
    [
        (group(), group(**some("intersection", FIRST)), [([UNIT], [])]),
        (group(**some("difference", SECOND)), group(**some("intersection", FIRST, SECOND)), [([UNIT], [SECOND])] * 2),
        (group(), group(organizational_units=[CANARY_UNIT]), [([CANARY_UNIT], []), ([UNIT], [])]),
    ],
)
def test_account_settings_reach_each_place_of_canary_and_targets_once(
    target: Changes, canary: Changes, units_and_accounts: list[Any]
) -> None:
    settings = rendered(targets(target, canary=canary)).stack_sets[0]
    assert [(each.organizational_units, each.accounts) for each in settings.groups] == units_and_accounts


def test_a_value_of_one_group_changes_what_the_template_is_told() -> None:
    same = told_values(fleet(targets(group(parameters={"A": "1"}), group(parameters={"A": "1"}))))
    other = told_values(fleet(targets(group(parameters={"A": "1"}), group(parameters={"A": "2"}))))
    moved = told_values(fleet(targets(group(parameters={"A": "2"}), group(parameters={"A": "1"}))))
    assert (same["A"], other["A"], moved["A"]) == ("1", "1\n2", "2\n1")


def test_a_template_keeps_its_version_however_it_is_written_down() -> None:
    assert version_of({"Resources": {"A": 1, "B": 2}, "Rules": {}}) == version_of({"Resources": {"B": 2, "A": 1}})
    assert version_of({"Resources": {"A": 1}}) != version_of({"Resources": {"A": 2}})


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("deployment: gpt2\ntarget: []", "target", "rename it to `targets`"),
        ("deployment: gpt2\ndeployment: gpt2", "file", "stands twice"),
        ("deployment: gpt2", "targets", "is missing"),
        ("- gpt2", "file", "must hold a mapping"),
        (
            "deployment: gpt2\ntargets: [{accounts: [111111111111]}]",
            "targets.0.accounts.0",
            "in quotes",
        ),
        ("deployment: gpt2\ntargets: [{region: [us-east-1]}]", "targets.0.region", "rename it to `regions`"),
        ("deployment: gpt2\ntargets: [{regions: [Frankfurt]}]", "targets.0.regions.0", "such as `eu-west-1`"),
        ("deployment: gpt2\nparameters: {DeployEndpoint: true}", "parameters.DeployEndpoint", "put it in quotes"),
        ("deployment: gpt2\nrollout: {failure_tolerance: few}", "rollout.failure_tolerance", "such as `10%`"),
        ("deployment: gpt2\nrollout: {max_concurrent: 0}", "rollout.max_concurrent", "use 1 or more"),
        ("deployment: gpt2\nrollout: {max_concurrent: 0%}", "rollout.max_concurrent", "use this form"),
        (
            "deployment: gpt2\ntargets: [{accounts: [012345670123]}]",
            "targets.0.accounts.0",
            "is read as a number by YAML",
        ),
        ("deployment: gpt2\ncall_as: root", "call_as", "'delegated-admin' or 'self'"),
    ],
)
def test_the_reader_names_the_field_and_the_way_out(tmp_path: Path, text: str, field: str, says: str) -> None:
    (path := tmp_path / "chat.yaml").write_text(text)
    read, problems = parse_fleet(path)
    assert read is None
    assert any(each.field == field and says in each.message for each in problems), problems


@pytest.mark.parametrize("name", ["Chat", "slipway-fleet-chat", "a" * 51])
def test_a_name_that_no_stack_set_can_have_is_refused(tmp_path: Path, name: str) -> None:
    _, problems = parse_fleet(tmp_path / f"{name}.yaml")
    assert "can't be a stack set's name" in problems[0].message


def test_a_deployment_that_does_not_exist_is_refused_with_its_field(tmp_path: Path) -> None:
    (path := tmp_path / "chat.yaml").write_text(
        f"deployment: qwen3-4\ntargets: [{{organizational_units: [{UNIT}], regions: [us-east-1]}}]"
    )
    with pytest.raises(DeploymentError, match="deployment: There is no deployment"):
        load_fleet(path, ROOT)
