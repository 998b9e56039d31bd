"""Proves after a destroy that nothing bills by the hour, or names what does."""

from slipway.leftovers.purge import show
from slipway.leftovers.search import find
from slipway.shared.aws_clients import Clients, region_option


def tell_what_is_left(deployment: str, clients: Clients) -> bool:
    """Print what the destroyed stack of this name has left. Returns whether something of it bills by the hour."""
    left, unknown = find(deployment, clients)
    bills = [each for each in left if each.bills]
    print(f"\n{deployment} is destroyed.", end=" ")
    if bills:
        print("THIS STILL BILLS by the hour:")
        show(bills)
    else:
        print("Nothing of it bills by the hour: no endpoint, component, machine or disk has its tag.")
    if stored := [each for each in left if not each.bills]:
        print("Left, and billed for storage alone:")
        show(stored)
    for arn in unknown:
        print(f"  of a kind that Slipway does not create: {arn}")
    if left:
        print(f"To remove it: slipway purge {deployment}{region_option(clients('sts').meta.region_name)}")
    return bool(bills)
