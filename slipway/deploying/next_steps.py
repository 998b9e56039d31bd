"""The lines to paste after a deploy: a call, OpenAI's clients, the page, the end."""

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution.idle import COPY_STAYS_IN_MINUTES
from slipway.shared.aws_clients import region_option
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.keys import key_command


def next_steps(stack: DeployedStack, deployment: Deployment) -> list[str]:
    """Return lines for a shell, each with a remark."""
    chosen = region_option(stack.region)
    texts = '"What is a list?"'
    if deployment.model.task == "embed" and stack.variables.get("OPENAI_ROUTES"):
        texts = f'--embed {texts} "A boat leaves the harbour."'
    lines = [(f"slipway call {stack.name} {texts}{chosen}", "one request")]
    if stack.variables.get("OPENAI_ROUTES"):
        lines += _for_openai(stack, deployment)
    if deployment.hosting.sleeps:
        stays = f"falls asleep {COPY_STAYS_IN_MINUTES} minutes after the last call; the next one wakes it"
        lines.append((f"slipway status {stack.name}{chosen}", stays))
    lines.append((f"slipway playground {stack.name}{chosen}", "a page, and an OPENAI_BASE_URL that signs calls"))
    end = f"leaves {deployment.hosting.endpoint}, which bills on" if deployment.hosting.endpoint else "ends the bill"
    lines.append((f"slipway destroy {stack.name}{chosen}", end))
    width = max(len(line) for line, _ in lines)
    return [f"API_URL={stack.api_url}", *(f"{line:{width}}  # {remark}" for line, remark in lines)]


def _for_openai(stack: DeployedStack, deployment: Deployment) -> list[tuple[str, str]]:
    """Return the lines that set up OpenAI's clients. None if callers sign: then the playground's URL serves them."""
    if deployment.api.auth == "iam":
        return []
    if deployment.api.auth == "none":
        return [(f"export OPENAI_BASE_URL={stack.api_url} OPENAI_API_KEY=unused", "for OpenAI's clients")]
    if deployment.api.auth == "jwt":
        token = f"export OPENAI_BASE_URL={stack.api_url} OPENAI_API_KEY=<a token>"
        return [(token, f"for OpenAI's clients; a token of {stack.outputs['TokenIssuer']}")]
    export = f"export OPENAI_BASE_URL={stack.api_url} OPENAI_API_KEY=<the key>"
    return [(key_command(stack, deployment.api.keys), "shows the key"), (export, "for OpenAI's clients")]
