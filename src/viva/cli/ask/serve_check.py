"""`viva serve-check`: what a server supports, tried out, and which commands of Viva therefore work with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from viva.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_REFUSED
from viva.reports.text import json_text
from viva.runs.live_line import say
from viva.runs.server_support import commands
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.models.serverprobes import Finding, Report

WIDTH = 24
UNNAMED = "default"
"""What a model is called where neither the user nor the server names one: servers of one model take any name."""


@click.command(name="serve-check", short_help="Say what an OpenAI-compatible server supports, with samples.")
@click.argument("url")
@click.option("--model", metavar="NAME", help="The model to ask.  [default: the first that the server lists]")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.  [default: OPENAI_API_KEY]")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    help="Seconds for each of some 20 requests.",
)
def serve_check_command(url: str, model: str | None, api_key_env: str | None, form: str, timeout: float) -> int:
    """Try out what the server at URL supports: chat, completions, logprobs, echo, n, seed, stop and more.

    Exit code 0 if it answers, 3 if nothing usable came back, 4 if it refuses the key or the model, 2 for a wrong URL.
    """

    from viva.models.openai import key_from
    from viva.models.openaiwire import Wire, base_url
    from viva.models.serverasking import LONGEST, Asking
    from viva.models.serverprobes import probe

    address = base_url(url, "URL")
    wire = Wire(address, key_from(api_key_env), LONGEST)
    asking = Asking(wire, model or UNNAMED, timeout)

    def tell(finding: Finding) -> None:
        if form == "terminal" and not asking.absent:  # a list of what nobody was asked would hide why
            shown = _cleaned(finding, wire.clean)
            said = ": ".join(part for part in (shown["detail"], shown["sample"]) if part)
            click.echo(f"{shown['name']:<{WIDTH}}  {shown['verdict']:<9}  {said}".rstrip())

    async def examine() -> Report:
        try:
            return await probe(asking, model is not None, tell)
        finally:
            await wire.close()

    if form == "terminal":
        click.echo(f"{one_line(address, 200)}\n")
    report = asyncio.run(examine())
    name = one_line(wire.clean(report.model), 80)
    if form == "json":
        shown = [_cleaned(finding, wire.clean) for finding in report.findings.values()]
        whole = {
            "url": address,
            "model": name,
            "findings": shown,
            "commands": commands(report) if report.findings else [],
        }
        click.echo(json_text(whole), nl=False)
    elif report.answers:
        click.echo(f"\nWith the model {name!r}:")
        for one in commands(report):
            click.echo(f"{one.command:<{WIDTH}}  {'works' if one.works else 'does not work'}: {one.why}")
    if report.answers:
        return EXIT_OK
    why = f"nothing usable came back: {asking.absent}" if asking.absent else _why_not(report)
    say(f"viva: {one_line(wire.clean(why), 400)}")
    return EXIT_REFUSED if report.refusal else EXIT_INCOMPLETE


def _cleaned(finding: Finding, clean: Callable[[str], str]) -> dict[str, str]:
    """A finding for people: without the key, in one line, nothing in it that a terminal would obey."""
    return {
        "name": finding.name,
        "verdict": finding.verdict,
        "detail": one_line(clean(finding.detail), 300),
        "sample": one_line(clean(finding.sample), 160),
    }


def _why_not(report: Report) -> str:
    if report.refusal:
        return f"the server refuses this key or this model: {report.refusal}"
    first = report.findings["chat"]
    hint = "." if report.findings["model list"].usable else "; is the URL right, and does it end in /v1?"
    return f"nothing usable came back{hint} The chat said: {first.detail}"
