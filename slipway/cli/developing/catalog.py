"""`slipway catalog`: compares the catalog with what AWS publishes, and writes AWS's prices into it."""

from argparse import Namespace

from llm_hosting.catalog.prices import HOME_REGION
from llm_hosting.project import project_folder
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add `catalog diff` and `catalog prices` with their arguments."""
    text = "compare the catalog with what AWS publishes: images, instance types, prices"
    catalog = verbs.add_parser("catalog", description=text)
    catalog.summary = text
    own = catalog.add_subparsers(required=True, metavar="{diff,prices}")
    text = "show what is new, gone or changed; exit status 1 if anything is"
    verb = add_verb(own, "diff", text, run, more="botocore's lists are always compared")
    images = "AWS's list of images: a page of Markdown (file or https URL), or the folder with AWS's files"
    verb.add_argument("--images", action="append", default=[], metavar="SOURCE", help=images)
    prices = "AWS's price list of AmazonSageMaker or AmazonEC2 in JSON: a file or an https URL"
    verb.add_argument("--prices", action="append", default=[], metavar="SOURCE", help=prices)
    verb.add_argument("--json", action="store_true", help="print a JSON list")
    text = "write the prices of AWS's price lists, and their date, into the catalog"
    verb = add_verb(own, "prices", text, run_prices)
    verb.add_argument("lists", nargs="+", metavar="list", help=prices)
    region = "region of the prices (default: us-east-1); those of other regions are for `slipway cost` alone"
    verb.add_argument("--region", default=HOME_REGION, help=region)


def run(given: Namespace) -> int:
    from slipway.refreshing import catalog_diff

    return catalog_diff.run(given.images, given.prices, as_json=given.json)


def run_prices(given: Namespace) -> int:
    from slipway.reference.catalog_rows import catalog_of
    from slipway.refreshing import catalog_prices

    if given.region == HOME_REGION:
        return catalog_prices.run(given.lists, catalog_of(project_folder(), "instances.json"))
    return catalog_prices.run_for_region(given.lists, catalog_of(project_folder(), "prices.json"), given.region)
