"""`viva list`: what there is."""

from __future__ import annotations

import click

from viva.benchmarks import BENCHMARKS, find_benchmark, open_exam
from viva.plugins import registered
from viva.sources.catalogue import fetched_folder, sources
from viva.types import ExamSpec
from viva.visible import escape_invisible

_FOR_STUDIES = ("numbering", "halves", "error_types", "built_sets", "pass_line")
"""Fields that studies go by; nobody chooses a benchmark by them."""


@click.command(name="list", short_help="List benchmarks.")
@click.option("--templates", is_flag=True, help="List the families of prompt templates instead (--template FAMILY).")
@click.option("--sets", is_flag=True, help="List the published sets instead that `viva run NAME` fetches.")
@click.option("--baselines", is_flag=True, help="List the baselines instead, and what each does.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def list_command(templates: bool, sets: bool, baselines: bool, form: str) -> int:
    """List the benchmarks: what they ask, in which languages, under which licence, and what is on this machine."""
    import msgspec

    if templates:
        return _list_templates(form)
    if sets:
        return _list_sets(form)
    if baselines:
        from viva.models.baselines import WHAT

        if form == "json":
            return _as_json(WHAT)
        for name, what in WHAT.items():
            click.echo(f"{f'baseline/{name}':<26}{what}")
        return 0
    rows: list[dict[str, object]] = []
    for name in BENCHMARKS:
        benchmark = find_benchmark(name)
        about = benchmark.about
        sample = {}
        for language in ("en", "zh"):
            if language in about.languages:
                sample[language] = len(open_exam(ExamSpec(benchmark=name, language=language), None))
        said = {name: value for name, value in msgspec.to_builtins(about).items() if name not in _FOR_STUDIES}
        rows.append({**said, "sample": sample, "fetched": str(fetched_folder(name) or "")})
    if form == "json":
        return _as_json(rows)
    for row in rows:
        click.echo(f"{row['name']}  {row['title']}, {row['paper']}")
        click.echo(f"  formats    {', '.join(row['formats'])}")  # type: ignore[arg-type]
        click.echo(f"  languages  {', '.join(row['languages'])}")  # type: ignore[arg-type]
        click.echo(f"  shots      0 to {row['shots']}")
        click.echo(f"  questions  {row['size']}")
        bundled = ", ".join(f"{count} {language}" for language, count in row["sample"].items())  # type: ignore[attr-defined]
        click.echo(f"  sample     {bundled} (bundled, Viva's own)")
        missing = f"not fetched: viva fetch {row['name']}, or --data DIR"
        if row["name"] not in sources():
            built = f": viva build {row['name']}, then" if f"build {row['name']}" in registered() else ","
            missing = f"no set can be fetched{built} --data DIR"
        click.echo(f"  published  {row['fetched'] or missing}")
        click.echo(f"  licence    {row['licence']}")
        click.echo(f"  source     {row['source']}")
    return 0


def _as_json(rows: object) -> int:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    return 0


def _list_sets(form: str) -> int:
    """Name, questions, licence and repository of every set, and where it is on this machine."""
    import msgspec

    rows = {name: {**msgspec.to_builtins(source), "fetched": str(fetched_folder(name) or "")}
            for name, source in sources().items()}  # fmt: skip
    if form == "json":
        return _as_json(rows)
    for name, source in sources().items():
        unpinned = "" if any(source.files.values()) else ", no hash known yet"
        click.echo(
            f"{name:<18}{source.rows:>7,}  {'fetched' if rows[name]['fetched'] else '-':<9}{source.described}{unpinned}"
        )
        if source.note:
            click.echo(f"{'':<36}{source.note}")
    return 0


def _list_templates(form: str) -> int:
    """Name and text of every family, as weights and completion servers are given them."""
    from viva.models.templates import families

    if form == "json":
        return _as_json(families())
    for name, text in families().items():
        lines = escape_invisible(text).split("\n")
        click.echo("\n".join([name, *(f"  | {line}" for line in lines)]))
    return 0
