"""Prices of what is new, or of another type or number."""

from slipway.changes import classify
from support.templates.known_changes import a, of


def test_what_is_new_and_billed_has_its_price() -> None:
    machine = a("EC2::Instance", {"InstanceType": "c5.xlarge"})

    (price,) = (each for each in classify(of(A=machine), of(A=machine, B=machine)) if each.kind == "price")
    assert (price.logical_id, price.sentence) == ("B", "new, about 0.17 USD an hour")


def test_a_machine_under_another_id_costs_what_it_did() -> None:
    machine = a("EC2::Instance", {"InstanceType": "c5.xlarge"})

    assert "price" not in {each.kind for each in classify(of(A=machine), of(B=machine))}


def test_the_price_has_both_figures() -> None:
    by_type = [
        of(
            R=a(
                "SageMaker::EndpointConfig", {"ProductionVariants": [{"InstanceType": each, "InitialInstanceCount": 2}]}
            )
        )
        for each in ("ml.g5.xlarge", "ml.g5.2xlarge")
    ]

    (price,) = (each for each in classify(*by_type) if each.kind == "price")

    assert price.sentence == "about 2.82 -> 3.03 USD an hour"
