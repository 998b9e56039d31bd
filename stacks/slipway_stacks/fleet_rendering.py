"""Renders the templates of a fleet's stack sets."""

from constructs import Construct

from llm_hosting.fleets.fleet import Fleet
from llm_hosting.fleets.stack_sets import RenderedFleet, told_values
from llm_hosting.resolution import Resolution
from slipway_stacks.portable_rendering import render, render_account_settings


def render_fleet(scope: Construct, name: str, fleet: Fleet, deployment: str, resolution: Resolution) -> RenderedFleet:
    """Render the fleet. deployment: the stack's name outside a fleet. Raises InlineCodeError."""
    template = render(scope, deployment, resolution, told_values(fleet))
    settings = render_account_settings(scope, resolution.deployment.security)
    return RenderedFleet(name, fleet, deployment, resolution, template, settings)
