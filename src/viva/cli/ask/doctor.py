"""`viva doctor`: what works on this machine, or with a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import refuse_given, show_line
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_REFUSED
from viva.render.markuptext import json_text
from viva.runs.checks import commands
from viva.runs.progress import say
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.models.openaiapi.serverprobes import Finding, Report

WIDTH = 24
UNNAMED = "default"
"""Model name used if neither user nor server gives one: servers of a single model take any name."""


@click.command
@click.argument("url", required=False)
@click.option("--model", metavar="NAME", help="URL: the model to ask.  [default: the first that the server lists]")
@click.option(
    "--api-key-env", metavar="NAME", help="URL: environment variable with the key.  [default: OPENAI_API_KEY]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    help="URL: seconds for each of some 20 requests.",
)
@click.option(
    "--apt", is_flag=True, help="Print only the command that installs all toolchains on Debian and its relatives."
)
@click.option("--optional", is_flag=True, help="With --apt: also what only a few questions need (torch: large).")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def doctor_command(form: str, url: str | None, apt: bool, optional: bool, **given: Any) -> int:
    """Say what works here: which languages the sandbox can run, or what is missing and the command that installs it.
    With URL, what the OpenAI-compatible server there supports, tried out: chat, completions, logprobs, echo, n, seed,
    stop and more, and which commands work with it.

    \b
    viva doctor
    viva doctor http://127.0.0.1:8000/v1 --model NAME

    Exit codes: 0; 2 for a wrong URL; 3 where programs cannot be isolated here, or nothing usable came back from URL; 4
    if the server refuses the key or the model.
    """
    if url is None:
        refuse_given(("model", "api_key_env", "timeout"), "is about a server: name its URL, ending in /v1")
        return _machine(form, apt=apt, optional=optional)
    refuse_given(("apt", "optional"), "is about this machine: leave the URL out")
    return _server(url, form, **given)


def _machine(form: str, *, apt: bool, optional: bool) -> int:
    """Print which languages the sandbox can run here; return the exit code."""
    from viva.sandbox.cgroups import HOW, find
    from viva.sandbox.isolation import isolation_problem
    from viva.sandbox.languagetables import install_command, toolchains

    if apt:
        click.echo(install_command(optional=optional))
        return 0
    rows = toolchains()
    problem = isolation_problem()
    groups = find()
    code = EXIT_INCOMPLETE if problem else 0
    if form == "json":
        limits = (
            {"control groups": 0, "why not": groups} if isinstance(groups, str) else {"control groups": groups.version}
        )
        report = {"isolation": problem or "ready", "limits": limits, "languages": rows}
        click.echo(json_text(report), nl=False)
        return code
    width = max(len(row.title) for row in rows)
    row_line = partial(show_line, hanging=width + 11)
    for row in rows:
        state = one_line(row.version, 60) if row.ready else f"missing: {one_line(', '.join(row.missing), 60)}"
        row_line(f"{row.title:<{width}}  {'ready  ' if row.ready else 'MISSING'}  {state}")
        if row.ready and row.optional:
            row_line(f"{'':<{width}}           without {one_line(', '.join(row.optional), 100)}")
        if not row.ready:
            click.echo(f"{'':<{width}}           {row.install}")  # not cut: it is meant to be pasted
    row_line(f"{'isolation':<{width}}  {'MISSING  ' + one_line(problem, 300) if problem else 'ready    bubblewrap'}")
    if isinstance(groups, str):
        row_line(f"{'limits':<{width}}  polled   no control groups: {one_line(groups, 200)}")
        row_line(f"{'':<{width}}           {HOW}")
    else:
        row_line(f"{'limits':<{width}}  ready    control groups, version {groups.version}")
    if any(not row.ready for row in rows):
        click.echo(f"\nAll at once: {install_command()}")
    return code


def _server(url: str, form: str, model: str | None, api_key_env: str | None, timeout: float) -> int:
    """Print what a server supports; return the exit code."""
    from viva.models.openaiapi.openaiwire import Wire, base_url
    from viva.models.openaiapi.serverasking import LONGEST, Asking
    from viva.models.openaiapi.serverprobes import probe
    from viva.models.secrecy import key_from

    address = base_url(url, "URL")
    wire = Wire(address, key_from(api_key_env, "OPENAI_API_KEY"), LONGEST)
    asking = Asking(wire, model or UNNAMED, timeout)

    def tell(finding: Finding) -> None:
        if form == "terminal" and not asking.absent:  # a list of probes that were not made would hide why
            shown = _cleaned(finding, wire.clean)
            details = ": ".join(part for part in (shown["detail"], shown["sample"]) if part)
            click.echo(f"{shown['name']:<{WIDTH}}  {shown['verdict']:<9}  {details}".rstrip())

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
        for command in commands(report):
            click.echo(f"{command.command:<{WIDTH}}  {'works' if command.works else 'does not work'}: {command.why}")
    if report.answers:
        return EXIT_OK
    why = f"nothing usable came back: {asking.absent}" if asking.absent else _why_not(report)
    say(f"viva: {one_line(wire.clean(why), 400)}")
    return EXIT_REFUSED if report.refusal else EXIT_INCOMPLETE


def _cleaned(finding: Finding, clean: Callable[[str], str]) -> dict[str, str]:
    """Return a finding to display: without the key, in one line, escaped for terminals."""
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
