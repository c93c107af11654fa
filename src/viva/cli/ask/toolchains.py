"""`viva toolchains`: which languages the sandbox can run here, and what installs the others."""

from __future__ import annotations

import click

from viva.errors import EXIT_INCOMPLETE
from viva.visible import one_line


@click.command(name="toolchains", short_help="Show which languages can be run in the sandbox.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option(
    "--apt", is_flag=True, help="Print only the command that installs everything on Debian and its relatives."
)
@click.option("--optional", is_flag=True, help="With --apt: also what only a few questions need (torch: large).")
def toolchains_command(form: str, apt: bool, optional: bool) -> int:
    """List the languages of the sandbox: the version installed, or what is missing and the command that installs it.

    Exit code 0, or 3 where programs cannot be isolated on this machine.
    """
    import msgspec

    from viva.sandbox.cgroups import HOW, find
    from viva.sandbox.isolation import isolation_problem
    from viva.sandbox.languages import install_command
    from viva.sandbox.toolchains import toolchains

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
        report = {"isolation": problem or "ready", "limits": limits, "languages": msgspec.to_builtins(rows)}
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
        return code
    width = max(len(row.title) for row in rows)
    for row in rows:
        state = one_line(row.version, 60) if row.ready else f"missing: {one_line(', '.join(row.missing), 60)}"
        click.echo(f"{row.title:<{width}}  {'ready  ' if row.ready else 'MISSING'}  {state}")
        if row.ready and row.optional:
            click.echo(f"{'':<{width}}           without {one_line(', '.join(row.optional), 100)}")
        if not row.ready:
            click.echo(f"{'':<{width}}           {row.install}")
    click.echo(f"{'isolation':<{width}}  {'MISSING  ' + one_line(problem, 300) if problem else 'ready    bubblewrap'}")
    if isinstance(groups, str):
        click.echo(f"{'limits':<{width}}  polled   no control groups: {one_line(groups, 200)}")
        click.echo(f"{'':<{width}}           {HOW}")
    else:
        click.echo(f"{'limits':<{width}}  ready    control groups, version {groups.version}")
    if any(not row.ready for row in rows):
        click.echo(f"\nAll at once: {install_command()}")
    return code
