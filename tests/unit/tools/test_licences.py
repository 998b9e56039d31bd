"""Each package that is shipped, or that makes what is shipped, has a licence that we allow."""

from importlib.metadata import distributions
from typing import Any

import pytest

from tools.supply_chain.licences import EXCEPTIONS, LicenceError, expression, is_allowed, licences
from tools.supply_chain.locks import SHIPPED, TOOLS, packages, plain_name

PACKAGES = [each for lock in SHIPPED + TOOLS for each in packages(lock)]


def licence_of(name: str, stated: str | None) -> str:
    return stated or licences()[name]


def test_each_package_has_an_allowed_licence() -> None:
    table = {each.name: licence_of(each.name, each.licence) for each in PACKAGES}
    assert {name: licence for name, licence in table.items() if not is_allowed(name, licence)} == {}


def test_the_table_has_the_packages_of_the_locks_and_no_other() -> None:
    assert licences().keys() == {each.name for each in PACKAGES if each.kind == "pypi"}


def test_the_table_says_what_installed_packages_say() -> None:
    table = licences()
    stated = {}
    for each in distributions():
        if (name := plain_name(each.metadata["Name"])) in table:
            stated[name] = expression(name, each.metadata.json)
    assert len(stated) > 50
    assert stated == {name: table[name] for name in stated}


def test_an_exception_is_needed() -> None:
    """Each row of the exceptions lets in a package that nothing else would."""
    names = {each.name for each in PACKAGES}
    assert [row for row in EXCEPTIONS if not any(name.startswith(row.rstrip("*")) for name in names)] == []


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND ISC", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("LicenseRef-Own", False),
        ("NOASSERTION", False),
    ],
)
def test_a_licence_is_allowed_by_its_expression(licence: str, allowed: bool) -> None:
    assert is_allowed("a-package", licence) is allowed


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ({"license_expression": "MIT-0", "license": "Own"}, "MIT-0"),
        ({"license": "Apache-2.0"}, "Apache-2.0"),
        ({"license": "a long text", "classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
    ],
)
def test_a_licence_is_read_in_the_metadata(metadata: dict[str, Any], licence: str) -> None:
    assert expression("a-package", metadata) == licence


@pytest.mark.parametrize(
    "metadata", [{}, {"license": "Own"}, {"classifier": ["License :: OSI Approved :: BSD License"]}]
)
def test_a_licence_in_no_words_of_spdx_is_refused(metadata: dict[str, Any]) -> None:
    with pytest.raises(LicenceError, match="a-package states no licence"):
        expression("a-package", metadata)
