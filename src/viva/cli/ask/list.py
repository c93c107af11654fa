"""`viva list`: benchmarks, sets, baselines and templates."""

from __future__ import annotations

import click
import msgspec

from viva.benchmarks import BENCHMARKS, find_benchmark, open_exam
from viva.cli.options import show_line
from viva.plugins import registered
from viva.render.markuptext import json_text
from viva.sources.sourcelist import fetched_folder, sources
from viva.types import ExamSpec
from viva.visible import escape_invisible

Listed = tuple[object, list[str], int]
"""Data of a list for `--json`, its lines, and the column at which continued lines begin."""
_FOR_STUDIES = ("numbering", "halves", "error_types", "built_sets", "pass_line")
"""Fields used by studies only, and not listed."""


@click.command
@click.option("--templates", is_flag=True, help="List the families of prompt templates instead (--template FAMILY).")
@click.option("--sets", is_flag=True, help="List the published sets instead that `viva run NAME` fetches.")
@click.option("--baselines", is_flag=True, help="List the baselines instead, and what each does.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def list_command(templates: bool, sets: bool, baselines: bool, form: str) -> int:
    """List the benchmarks: what they ask, in which languages, under which licence, and what is on this machine."""
    listed = _templates if templates else _sets if sets else _baselines if baselines else _benchmarks
    data, lines, hanging = listed()
    if form == "json":
        click.echo(json_text(data), nl=False)
    else:
        for line in lines:
            show_line(line, hanging)
    return 0


def _baselines() -> Listed:
    """Return the list of baselines."""
    from viva.models.baselines import WHAT

    return WHAT, [f"{f'baseline/{name}':<26}{what}" for name, what in WHAT.items()], 26


def _benchmarks() -> Listed:
    """Return the list of benchmarks: questions, size of the sample, and place of the set on this machine."""
    rows: list[dict[str, object]] = []
    for name in BENCHMARKS:
        benchmark = find_benchmark(name)
        about = benchmark.about
        sample = {
            language: len(open_exam(ExamSpec(benchmark=name, language=language), None))
            for language in ("en", "zh")
            if language in about.languages
        }
        fields = {name: value for name, value in msgspec.to_builtins(about).items() if name not in _FOR_STUDIES}
        rows.append({**fields, "sample": sample, "fetched": str(fetched_folder(name) or "")})
    lines: list[str] = []
    for row in rows:
        lines += [
            f"{row['name']}  {row['title']}, {row['paper']}",
            f"  formats    {', '.join(row['formats'])}",  # type: ignore[arg-type]
            f"  languages  {', '.join(row['languages'])}",  # type: ignore[arg-type]
            f"  shots      0 to {row['shots']}",
            f"  questions  {row['size']}",
        ]
        bundled = ", ".join(f"{count} {language}" for language, count in row["sample"].items())  # type: ignore[attr-defined]
        missing = f"not fetched: viva fetch {row['name']}; a copy of your own goes with --data DIR or VIVA_DATA"
        if row["name"] not in sources():
            built = f": viva build {row['name']}, then" if f"build {row['name']}" in registered() else ","
            missing = f"no set can be fetched{built} --data DIR"
        lines += [
            f"  sample     {bundled} (bundled, Viva's own)",
            f"  published  {row['fetched'] or missing}",
            f"  licence    {row['licence']}",
            f"  source     {row['source']}",
        ]
    return rows, lines, 13


def _sets() -> Listed:
    """Return the list of sets: name, questions, licence, repository, and place on this machine."""
    rows = {name: {**msgspec.to_builtins(source), "fetched": str(fetched_folder(name) or "")}
            for name, source in sources().items()}  # fmt: skip
    lines: list[str] = []
    for name, source in sources().items():
        unpinned = "" if any(source.files.values()) else ", no hash known yet"
        here = "fetched" if rows[name]["fetched"] else "-"
        lines.append(f"{name:<18}{source.rows:>7,}  {here:<9}{source.described}{unpinned}")
        if source.note:
            lines.append(f"{'':<36}{source.note}")
    return rows, lines, 36


def _templates() -> Listed:
    """Return the list of template families, with their texts."""
    from viva.models.templates import families

    texts = [f"{name}\n{escape_invisible(text)}" for name, text in families().items()]
    return families(), [line for text in texts for line in text.replace("\n", "\n  | ").split("\n")], 4
