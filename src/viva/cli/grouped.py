"""How `--help` shows the options of a command: by subject, and of many those that most users need."""

from __future__ import annotations

from typing import Any

import click

from viva.shipped import shipped_table

MANY = 45
"""Options from which on a command's `--help` leaves the rare ones to `--help-all`."""
HELP_ALL = "viva.help-all"


class GroupedCommand(click.Command):
    """A command whose `--help` lists its options by subject, and of many options those that most users need."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its heading."""

        shown = shipped_table(__file__, "headings.toml", dict[str, Any])
        groups = shown["headings"]
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Options", *groups)}
        headings = {option: heading for heading, names in groups.items() for option in names}
        hides = len(self.params) > MANY and not ctx.meta.get(HELP_ALL)
        hidden = 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            name = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
            if hides and name in shown["rare"]:
                hidden += 1
                continue
            rows[headings.get(name, "Options")].append(record)
        for heading, found in rows.items():
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {hidden} more options.")
