"""Measures a deployed API under load, and writes a report."""

import sys
from pathlib import Path

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.preflight.validation import load as load_deployment
from llm_hosting.sources import handler_names
from slipway.measuring import starts
from slipway.measuring.figures import slo
from slipway.measuring.figures.measured import MeasuredError, keep
from slipway.measuring.load_test import BY_HAND, LoadTest, LoadTestError, LoadTestOptions
from slipway.measuring.prompts import Prompts, PromptsError, from_file
from slipway.measuring.report.terminal import show
from slipway.measuring.routes import RouteError
from slipway.stack.deployed_stack import DeployedStack, with_stack

_INTERRUPTED = 130  # as shells report it


def run(name: str, region: str | None, root: Path, options: LoadTestOptions) -> int:
    """Measure, write the report, print the results.

    root: the folder with `deployments/`. Returns the exit status: 0 after a complete run, 1 if no request was
    answered, 2 if the deployment can't be measured, 130 after Ctrl-C. Its report has the figures up to that moment.
    """
    try:
        path = find(name, root / "deployments")
        resolution, _ = load_deployment(path, handler_names(root))
        objective = None if options.slo is None else slo.parse(options.slo)
        prompts = (
            from_file(options.prompts, options.answer_tokens)
            if options.prompts
            else Prompts("synthetic", options.prompt_tokens, options.answer_tokens)
        )
    except (UnknownDeploymentError, DeploymentError, slo.SloError, PromptsError) as error:
        print(error, file=sys.stderr)
        return 2

    def bench(stack: DeployedStack) -> int:
        try:
            measuring = LoadTest(stack, resolution, options, prompts)
            if objective:
                objective.demand_route(measuring.route.name)
            results, page = measuring.run(objective)
        except (LoadTestError, RouteError, starts.AwakeError, slo.SloError) as error:
            print(error, file=sys.stderr)
            return 2
        show(results, page)
        if options.keep:
            try:
                print(f"kept {keep(results, path)}")
            except MeasuredError as error:
                print(error, file=sys.stderr)
                return 2
        if results.interrupted == BY_HAND:
            return _INTERRUPTED
        return 0 if any(answer.error is None for load in results.loads for answer in load.answers) else 1

    return with_stack(stack_name(path), region, bench)
