"""`viva build`: make an examination, of treebanks (SynEval) or of what experts write and approve (CLR-Bench)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from viva.build.halves.command import split_command
from viva.build.reasoning.command import clrbench_command
from viva.build.stackexchange.command import infibench_command
from viva.build.statistics.command import stats_command
from viva.build.translation.command import translate_command
from viva.build.verification.command import verify_command
from viva.cli.options import progress_option
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.live_line import Screen, say
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.build.treebank.driver import Tally
    from viva.build.treebank.manifest import Manifest
    from viva.build.treebank.sampling import SamplingSettings
    from viva.build.treebank.treebank import Plan, Problem
    from viva.reports.result import Grid

SHOWN = 20
"""Malformed trees that are told on the terminal; malformed.jsonl has them all."""


@click.group(name="build", short_help="Make an examination of your own data.")
def build_command() -> None:
    """Make an examination of your own data."""


build_command.add_command(clrbench_command)
build_command.add_command(infibench_command)
build_command.add_command(split_command)
build_command.add_command(stats_command)
build_command.add_command(translate_command)
build_command.add_command(verify_command)


@build_command.command(name="syneval", short_help="Questions about the syntax of a treebank's sentences.")
@click.argument("treebanks", metavar="TREEBANK...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option(
    "--as-published", is_flag=True, help="Facts, questions and sampling as the authors' generator has them, quirks too."
)
@click.option(
    "--sampling",
    type=click.Choice(["clean", "published"]),
    help="How test.jsonl and exemplars.jsonl are drawn.  [default: clean; published with --as-published]",
)
@click.option(
    "--per-stratum",
    type=click.IntRange(1, 10_000),
    help="Questions drawn of each knowledge point and format; of each stratum for published sampling.  "
    "[default: 120; 5]",
)
@click.option(
    "--min-stratum",
    type=click.IntRange(1),
    help="Strata with fewer questions are made one (clean) or dropped (published).  [default: 20; 50]",
)
@click.option(
    "--exemplars",
    type=click.IntRange(0, 1000),
    default=50,
    show_default=True,
    help="For few-shot prompts, of each knowledge point and format, at most.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Draws the set.")
@click.option(
    "--glob",
    default="",
    metavar="PATTERN",
    help="Which files of folders and archives to read.  [default: *.mrg; without any, all that begin with a bracket]",
)
@click.option("--encoding", default="utf-8", show_default=True, help="Of the treebank, such as latin-1.")
@click.option(
    "--malformed",
    type=click.Choice(["skip", "refuse"]),
    default="skip",
    show_default=True,
    help="Leave out what is no tree and tell it (exit code 3), or stop at the first.",
)
@click.option(
    "--wordings",
    default="",
    metavar="paper|FILE",
    help="How questions are worded: as in the paper, or by a TOML file of the same keys as the bundled wordings.toml.",
)
@click.option("--gzip", is_flag=True, help="Compress facts.jsonl and questions.jsonl.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Workers.  [default: one a core]")
@click.option(
    "--backend",
    "on",
    default="local",
    show_default=True,
    metavar="local|ray[://HOST:PORT]",
    help="Where they are: processes of this machine, or a Ray cluster.",
)
@click.option("--name", default="syneval", show_default=True, help="What build.json calls the set.")
@progress_option
def syneval_command(treebanks: tuple[Path, ...], out: Path, **given: Any) -> int:
    """Make questions about the syntax of TREEBANK's sentences: Penn Treebank brackets, in files, folders or archives.

    --out gets facts.jsonl (what the trees say), questions.jsonl (every question), test.jsonl and exemplars.jsonl (the
    set, drawn from them), build.json (how it was made) and malformed.jsonl (what was skipped, if anything was).

    \b
    viva build syneval treebank.zip --out wsj
    viva build syneval treebank_3/parsed/mrg/wsj --as-published --out wsj-as-published
    viva run syneval --data wsj --model openai/NAME

    Exit codes: 0 all was read; 2 nothing usable, or --malformed refuse; 3 something was skipped, or nothing was drawn;
    5 --out cannot be written; 130 interrupted. With 2, 5 and 130, --out is as it was.
    """
    from viva.build.treebank.driver import BuildSettings, build
    from viva.build.treebank.generate import generate

    watch = _Screen(given["progress"])
    settings = BuildSettings(
        name=given["name"],
        as_published=given["as_published"],
        sampling=_sampling(given),
        encoding=_encoding(given["encoding"]),
        glob=given["glob"],
        malformed=given["malformed"],
        wordings=given["wordings"],
        gzip=given["gzip"],
        jobs=given["jobs"] or 0,
        on=given["on"],
        force=given["force"],
    )
    try:
        manifest = build(treebanks, out, settings, generate, watch)
    finally:
        watch.close()
    return _report(manifest, out)


def _sampling(given: dict[str, Any]) -> SamplingSettings:
    from viva.build.treebank.sampling import DEFAULTS, SamplingSettings

    scheme: Literal["clean", "published"] = given["sampling"] or ("published" if given["as_published"] else "clean")
    per_stratum, min_stratum = DEFAULTS[scheme]
    return SamplingSettings(
        scheme=scheme,
        per_stratum=given["per_stratum"] or per_stratum,
        min_stratum=given["min_stratum"] or min_stratum,
        exemplars=given["exemplars"],
        seed=given["seed"],
    )


def _encoding(name: str) -> str:
    """An encoding in which brackets and line ends are single bytes. Raises VivaError for others."""
    try:
        usable = "( \n)".encode(name) == b"( \n)"
    except (LookupError, ValueError):
        usable = False
    if not usable:
        raise VivaError(
            f"--encoding {name!r}: no text encoding that extends ASCII; use utf-8, latin-1, cp1252, ..., "
            "or convert the files to UTF-8 first"
        )
    return name


class _Screen(Screen):
    """Tells on stderr how it goes."""

    _problems = 0

    def planned(self, plan: Plan) -> None:
        """What will be read."""
        if self.quiet:
            return
        for source, members in zip(plan.sources, plan.members, strict=True):
            left = f", {source.left_out:,} left out ({source.left_out_first}, ...)" if source.left_out else ""
            rule = "" if source.kind == "file" else f" ({source.rule})"
            files = "1 file" if len(members) == 1 else f"{len(members):,} files"
            self.say(f"{source.name}: {files}{rule}{left}")

    def progress(self, tally: Tally) -> None:
        """Another chunk is done."""
        if not self.due():
            return
        share = f"{min(99, 100 * tally.bytes // tally.size)} % · " if tally.size else ""
        rate = tally.trees / max(1e-6, time.monotonic() - self.started)
        self.show(f"syneval: {share}{tally.trees:,} trees · {tally.questions:,} questions · {rate:.0f} trees/s")

    def malformed(self, problem: Problem) -> None:
        """Something was skipped."""
        self._problems += 1
        if self._problems <= SHOWN:
            self.say(f"skipped {one_line(str(problem), 300)}")
        elif self._problems == SHOWN + 1:
            self.say("skipped more, which malformed.jsonl lists")


def _report(manifest: Manifest, out: Path) -> int:
    from viva.reports.grids import grids_terminal

    drawn = f"{manifest.test:,} questions"
    if manifest.test_distinct != manifest.test:
        drawn += f" ({manifest.test_distinct:,} distinct)"
    closing = [
        f"{manifest.facts:,} facts of {manifest.trees:,} trees.",
        f"Drawn ({manifest.sampling.scheme} sampling): {drawn} of {manifest.strata_drawn_from:,} strata "
        f"({manifest.strata:,} before small ones were "
        f"{'dropped' if manifest.sampling.scheme == 'published' else 'made one'}), {manifest.exemplars:,} exemplars.",
        *_short(manifest),
        f"The set {manifest.name} is in {out}, fingerprint {manifest.fingerprint}; "
        f"examine with: viva run syneval --data {out} --model ...",
    ]
    click.echo(grids_terminal([_counts(manifest)], closing), nl=False)
    code = EXIT_OK
    if manifest.malformed:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in manifest.malformed.items())
        total = sum(manifest.malformed.values())
        say(f"viva: skipped {total:,} ({kinds}); {out / 'malformed.jsonl'} lists them")
        code = EXIT_INCOMPLETE
    if not manifest.test:
        click.echo(
            f"viva: nothing was drawn: no stratum has {manifest.sampling.min_stratum:,} questions; "
            "lower --min-stratum, or use --sampling clean",
            err=True,
        )
        code = EXIT_INCOMPLETE
    return code


def _short(manifest: Manifest) -> list[str]:
    """Which knowledge points the treebank could not fill, in words."""
    found = [f"{name} {count:,}" for name, count in manifest.short.items()]
    missing = [point for point, counts in manifest.questions.items() if not counts["TF"]]
    if not found and not missing:
        return []
    most = manifest.sampling.per_stratum
    said = [f"fewer than {most:,} in the treebank: {', '.join(found)}"] if found else []
    said += [f"no TF question asks for {', '.join(missing)}"] if missing else []
    text = "; ".join(said)
    return [f"{text[0].upper()}{text[1:]}."]


def _counts(manifest: Manifest) -> Grid:
    """The counts as in the paper's Table 4."""
    from viva.benchmarks.syneval.items import FORMATS
    from viva.reports.result import Grid

    def row(name: str, counts: dict[str, int]) -> tuple[str, ...]:
        total = sum(counts.values())
        shown = (f"{counts[form]:,}" for form in FORMATS)
        return name, *shown, f"{total:,}", f"{100 * total / max(1, manifest.asked):.2f} %"

    rows = [row(point, counts) for point, counts in manifest.questions.items()]
    together: dict[str, int] = {form: sum(counts[form] for counts in manifest.questions.values()) for form in FORMATS}
    return Grid(
        title=f"Questions generated from {', '.join(source.name for source in manifest.sources)}",
        header=("knowledge point", *FORMATS, "total", "share"),
        rows=(*rows, row("all", together)),
    )
