"""`slipway catalog prices`: the catalog takes over the prices of AWS's lists, with their date."""

import json
from pathlib import Path

import pytest

from llm_hosting.catalog.instances import ec2_instances, ec2_prices_as_of, instances, prices_as_of
from llm_hosting.catalog.models import MODELS_FILE
from llm_hosting.catalog.prices import Price, hourly_price
from slipway.refreshing import catalog_prices
from support.own_project import own_project
from support.price_list import price_list

OURS = MODELS_FILE.with_name("instances.json")
OURS_OF_SAGEMAKER, OURS_OF_EC2 = prices_as_of(), ec2_prices_as_of()


def test_the_next_check_knows_the_prices_and_their_date(tmp_path: Path) -> None:
    prices = {"ml.g6.xlarge": "1.1267", "ml.p5.48xlarge": "63.3"}
    catalog = tmp_path / "catalog" / "instances.json"
    assert catalog_prices.run([str(price_list(tmp_path, "AmazonSageMaker", prices))], catalog) == 0
    with own_project(tmp_path, {}):
        types = instances()
        assert (types["ml.g6.xlarge"].usd_per_hour, types["ml.p5.48xlarge"].usd_per_hour) == (1.1267, 63.3)
        assert (types["ml.g5.xlarge"].usd_per_hour, types["ml.g5.xlarge"].ec2_usd_per_hour) == (None, 1.006)
        assert (prices_as_of(), ec2_prices_as_of()) == ("2026-11-20", OURS_OF_EC2)


def test_ec2s_prices_are_those_of_endpoint_types_and_of_others(tmp_path: Path) -> None:
    prices = {"g6.xlarge": "0.9", "c7a.large": "0.2"}
    catalog = tmp_path / "catalog" / "instances.json"
    assert catalog_prices.run([str(price_list(tmp_path, "AmazonEC2", prices))], catalog) == 0
    with own_project(tmp_path, {}):
        assert (instances()["ml.g6.xlarge"].ec2_usd_per_hour, ec2_instances()["c7a.large"].usd_per_hour) == (0.9, 0.2)
        assert (prices_as_of(), ec2_prices_as_of()) == (OURS_OF_SAGEMAKER, "2026-11-20")


def test_of_the_own_file_only_prices_and_date_change(tmp_path: Path) -> None:
    catalog = tmp_path / "instances.json"
    before = OURS.read_text()
    catalog.write_text(before)
    types = {name: str(each.usd_per_hour) for name, each in instances().items() if each.usd_per_hour}
    path = price_list(tmp_path, "AmazonSageMaker", types | {"ml.g6.2xlarge": "1.3"})
    assert catalog_prices.run([str(path)], catalog) == 0
    lines = dict(zip(before.splitlines(), catalog.read_text().splitlines(), strict=True))
    changed = {old: new for old, new in lines.items() if old != new}
    assert [old.split('"')[1] for old in changed] == ["prices_as_of", "ml.g6.2xlarge"]


def test_a_list_that_can_not_be_read_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = tmp_path / "instances.json"
    good = price_list(tmp_path, "AmazonSageMaker", {"ml.g6.xlarge": "1"})
    assert catalog_prices.run([str(good), "/nowhere.json"], catalog) == 2
    assert "/nowhere.json can't be read" in capsys.readouterr().err
    assert not catalog.exists()


def test_prices_of_another_region_are_that_regions_alone(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog" / "prices.json"
    of_endpoints = price_list(tmp_path, "AmazonSageMaker", {"ml.g6.xlarge": "1.4"}, region="eu-central-1")
    assert catalog_prices.run_for_region([str(of_endpoints)], catalog, "eu-central-1") == 0
    of_machines = price_list(tmp_path, "AmazonEC2", {"c5.xlarge": "0.194"}, region="eu-central-1")
    assert catalog_prices.run_for_region([str(of_machines)], catalog, "eu-central-1") == 0
    with own_project(tmp_path, {}):
        assert hourly_price("ml.g6.xlarge", "eu-central-1") == Price(1.4, "2026-11-20")
        assert hourly_price("c5.xlarge", "eu-central-1") == Price(0.194, "2026-11-20")
        assert hourly_price("ml.g6.xlarge", "eu-west-1") is None
        assert hourly_price("ml.g6.2xlarge", "us-east-1") == Price(1.222, OURS_OF_SAGEMAKER)


def test_a_newer_list_replaces_the_prices_of_its_kind_alone(tmp_path: Path) -> None:
    own = {"as_of": "2026-10-01", "ml.g6.xlarge": 1.3, "ml.g5.xlarge": 1.5, "c5.xlarge": 0.2}
    content = {"source": "ours", "as_of": "2026-10-01", "services": {}, "instances": {"eu-central-1": own}}
    catalog = tmp_path / "catalog" / "prices.json"
    catalog.parent.mkdir()
    catalog.write_text(json.dumps(content))
    path = price_list(tmp_path, "AmazonSageMaker", {"ml.g6.xlarge": "1.4"}, region="eu-central-1")
    assert catalog_prices.run_for_region([str(path)], catalog, "eu-central-1") == 0
    with own_project(tmp_path, {}):
        assert hourly_price("ml.g6.xlarge", "eu-central-1") == Price(1.4, "2026-10-01")  # the date of the oldest price
        assert hourly_price("c5.xlarge", "eu-central-1") == Price(0.2, "2026-10-01")
        assert hourly_price("ml.g5.xlarge", "eu-central-1") is None


def test_a_contracts_prices_of_us_east_1_are_taken(tmp_path: Path) -> None:
    own = {"us-east-1": {"as_of": "2026-11-20", "ml.g6.2xlarge": 0.98}}
    content = {"source": "our contract", "as_of": "2026-11-20", "services": {}, "instances": own}
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "prices.json").write_text(json.dumps(content))
    with own_project(tmp_path, {}):
        assert hourly_price("ml.g6.2xlarge", "us-east-1") == Price(0.98, "2026-11-20")
        assert hourly_price("ml.g5.xlarge", "us-east-1") == Price(1.4084, OURS_OF_SAGEMAKER)


def test_a_list_without_the_region_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = tmp_path / "prices.json"
    path = price_list(tmp_path, "AmazonSageMaker", {"ml.g6.xlarge": "1.4"})
    assert catalog_prices.run_for_region([str(path)], catalog, "eu-central-1") == 2
    assert "it has no prices of instances in eu-central-1" in capsys.readouterr().err
    assert not catalog.exists()
