"""`viva build syneval`: questions about the syntax of a treebank's sentences."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from viva.benchmarks.syneval.facts import FORMATS
from viva.build.options import Force, SetFolder, TellingScreen, Told, counts_text, print_tables
from viva.build.treebank.driver import BuildSettings, Manifest, Tally, build
from viva.build.treebank.generate import generate
from viva.build.treebank.sampling import DEFAULTS, SamplingSettings, Scheme
from viva.build.treebank.treebank import Plan, Problem
from viva.commands import command
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError, flag
from viva.fields import note, pick
from viva.runs.config import Progress
from viva.runs.progress import say
from viva.visible import one_line, plural

SHOWN = 20
"""Malformed trees printed on the terminal; malformed.jsonl has all."""


class SynevalConfig(Struct, kw_only=True):
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

    treebanks: Annotated[
        tuple[Path, ...],
        note("Penn Treebank brackets, in files, folders or archives.", metavar="TREEBANK...", argument=True),
    ]
    out: SetFolder
    force: Force = False
    as_published: Annotated[
        bool, note("Facts, questions and sampling as the authors' generator has them, quirks too.")
    ] = False
    sampling: Annotated[
        Scheme | None,
        note("How test.jsonl and exemplars.jsonl are drawn.  [default: clean; published with --as-published]"),
    ] = None
    per_stratum: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        note(
            "Questions drawn of each knowledge point and format; of each stratum for published sampling.  "
            "[default: 120; 5]"
        ),
    ] = None
    min_stratum: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        note("Strata with fewer questions are made one (clean) or dropped (published).  [default: 20; 50]"),
    ] = None
    exemplars: Annotated[
        Annotated[int, Meta(ge=0, le=1000)], note("For few-shot prompts, of each knowledge point and format, at most.")
    ] = 50
    seed: Annotated[int, note("Draws the set.")] = 42
    glob: Annotated[
        str,
        note(
            "Which files of folders and archives to read.  [default: *.mrg; without any, all that begin with a "
            "bracket]",
            metavar="PATTERN",
        ),
    ] = ""
    encoding: Annotated[str, note("Of the treebank, such as latin-1.")] = "utf-8"
    malformed: Annotated[
        Literal["skip", "refuse"], note("Leave out what is no tree and tell it (exit code 3), or stop at the first.")
    ] = "skip"
    wordings: Annotated[
        str,
        note(
            "How questions are worded, where not as by Viva: a TOML file of the same keys as the bundled "
            "wordings.toml (`viva docs building`).",
            metavar="FILE",
        ),
    ] = ""
    gzip: Annotated[bool, note("Compress facts.jsonl and questions.jsonl.")] = False
    jobs: Annotated[Annotated[int, Meta(ge=1, le=1024)] | None, note("Workers.  [default: one a core]")] = None
    on: Annotated[
        str,
        note(
            "Where they are: processes of this machine, or a Ray cluster.",
            metavar="local|ray[://HOST:PORT]",
            spelled=("--backend",),
        ),
    ] = "local"
    name: Annotated[str, note("What build.json calls the set.")] = "syneval"
    progress: Progress = "auto"


@command(SynevalConfig, "action")
def syneval(config: SynevalConfig) -> int:
    """Questions about the syntax of a treebank's sentences."""
    watch = _Screen(config.progress)
    settings = pick(
        BuildSettings,
        asdict(config),
        sampling=_sampling(config),
        encoding=_encoding(config.encoding),
        jobs=config.jobs or 0,
    )
    try:
        manifest = build(config.treebanks, config.out, settings, generate, watch)
    finally:
        watch.close()
    return _report(manifest, config.out)


def _sampling(config: SynevalConfig) -> SamplingSettings:
    scheme: Scheme = config.sampling or ("published" if config.as_published else "clean")
    per_stratum, min_stratum = DEFAULTS[scheme]
    return SamplingSettings(
        scheme=scheme,
        per_stratum=config.per_stratum or per_stratum,
        min_stratum=config.min_stratum or min_stratum,
        exemplars=config.exemplars,
        seed=config.seed,
    )


def _encoding(name: str) -> str:
    """Return the encoding if brackets and line ends are single bytes in it. Raises VivaError for others."""
    try:
        usable = "( \n)".encode(name) == b"( \n)"
    except (LookupError, ValueError):
        usable = False
    if not usable:
        raise VivaError(
            f"{name!r}: no text encoding that extends ASCII; use utf-8, latin-1, cp1252, ..., "
            "or convert the files to UTF-8 first",
            field="encoding",
        )
    return name


class _Screen(TellingScreen):
    """Progress on stderr."""

    def planned(self, plan: Plan) -> None:
        """Show which files will be read."""
        if self.quiet:
            return
        for source, members, _ in plan:
            left = f", {source.left_out:,} left out ({source.left_out_first}, ...)" if source.left_out else ""
            rule = "" if source.kind == "file" else f" ({source.rule})"
            self.say(f"{source.name}: {plural(len(members), 'file')}{rule}{left}")

    def progress(self, tally: Tally) -> None:
        """Show progress after a chunk."""
        if not self.due():
            return
        share = f"{min(99, 100 * tally.bytes // tally.size)} % · " if tally.size else ""
        rate = tally.trees / max(1e-6, time.monotonic() - self.started)
        self.show(f"syneval: {share}{tally.trees:,} trees · {tally.questions:,} questions · {rate:.0f} trees/s")

    def malformed(self, problem: Problem) -> None:
        """Report a skipped tree, text or file."""
        self.tell(f"skipped {one_line(str(problem), 300)}", SHOWN, "skipped more, which malformed.jsonl lists")


def _report(manifest: Manifest, out: Path) -> int:
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
        f"examine with: viva run syneval {flag('data')} {out} {flag('model')} ...",
    ]
    print_tables([_counts(manifest)], closing)
    code = EXIT_OK
    if manifest.malformed:
        total, kinds = sum(manifest.malformed.values()), counts_text(manifest.malformed)
        say(f"viva: skipped {total:,} ({kinds}); {out / 'malformed.jsonl'} lists them")
        code = EXIT_INCOMPLETE
    if not manifest.test:
        print(
            f"viva: nothing was drawn: no stratum has {manifest.sampling.min_stratum:,} questions; "
            f"lower {flag('min_stratum')}, or use {flag('sampling')} clean",
            file=sys.stderr,
        )
        code = EXIT_INCOMPLETE
    return code


def _short(manifest: Manifest) -> list[str]:
    """Return lines about knowledge points with too few questions."""
    listed = [f"{name} {count:,}" for name, count in manifest.short.items()]
    missing = [point for point, counts in manifest.questions.items() if not counts["TF"]]
    if not listed and not missing:
        return []
    most = manifest.sampling.per_stratum
    notes = [f"fewer than {most:,} in the treebank: {', '.join(listed)}"] if listed else []
    notes += [f"no TF question asks for {', '.join(missing)}"] if missing else []
    text = "; ".join(notes)
    return [f"{text[0].upper()}{text[1:]}."]


def _counts(manifest: Manifest) -> Told:
    """Return the counts of the paper's Table 4."""

    def row(name: str, counts: dict[str, int]) -> tuple[object, ...]:
        total = sum(counts.values())
        return name, *(counts[form] for form in FORMATS), total, f"{100 * total / max(1, manifest.asked):.2f} %"

    rows = [row(point, counts) for point, counts in manifest.questions.items()]
    together: dict[str, int] = {form: sum(counts[form] for counts in manifest.questions.values()) for form in FORMATS}
    title = f"Questions generated from {', '.join(source.name for source in manifest.sources)}"
    return title, ("knowledge point", *FORMATS, "total", "share"), (*rows, row("all", together))
