"""`viva build syneval`: from treebanks to a set on disk.

    build([Path("treebank.zip")], Path("set"), BuildSettings())

Trees are read one by one, given to workers in chunks, and the results written at once, in the order of the treebank;
drawn questions are looked up in that file later. So memory does not grow with the treebank.

Chunks are cut by size alone and a result depends on its chunk alone, so the output does not depend on number or place
of workers. A result also has the chunk's candidates for drawing; samplers merge in any order.

build.json has all that is needed to repeat the build, but no time, place or number of processes: the same treebank and
settings give the same bytes.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Fact, Item
from viva.build.files import MANIFEST, Made, readable_json, staged
from viva.build.treebank.sampling import Drawn, Place, Sampler, SamplingSettings, sampler
from viva.build.treebank.tree import TreeError
from viva.build.treebank.treebank import Plan, Problem, RawTree, Reader, Source, survey
from viva.build.treebank.wordings import other_wordings, read_wordings
from viva.distributed import WorkerPool, open_worker_pool
from viva.errors import DataError, option
from viva.fields import pick

CHUNK = 32_000
"""Characters of trees per chunk: about 16 sentences, a megabyte of questions."""
CHUNK_ENTRIES = 500

Chunk: TypeAlias = list[RawTree | Problem]
Numbered: TypeAlias = tuple[int, Chunk]
Generate: TypeAlias = Callable[..., tuple[list[Fact], list[Item]]]
"""`generate.generate`: (text, file, tree, *, published) → facts and questions; raises TreeError."""


class BuildSettings(Struct, frozen=True, kw_only=True):
    """Settings of a build."""

    name: str = "syneval"
    as_published: bool = False
    sampling: SamplingSettings = SamplingSettings()
    encoding: str = "utf-8"
    glob: str = ""
    malformed: Literal["skip", "refuse"] = "skip"
    wordings: str = ""
    """A file of wordings; empty for the bundled ones."""
    gzip: bool = False
    """Whether to write facts.jsonl.gz and questions.jsonl.gz."""
    jobs: int = 0
    """Workers; 0: one per core."""
    on: str = "local"
    """Where workers run: see viva.distributed."""
    force: bool = False


class Tally(Struct):
    """Counts so far, or of one chunk. `bytes` read of `size`, which is an estimate for compressed files."""

    size: int = 0
    bytes: int = 0
    trees: int = 0
    facts: int = 0
    counts: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """(knowledge point, format) → questions."""
    malformed: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def questions(self) -> int:
        """Number of generated questions."""
        return self.counts.total()

    def add(self, chunk: Tally) -> None:
        """Add the counts of a chunk."""
        self.trees += chunk.trees
        self.facts += chunk.facts
        self.counts.update(chunk.counts)
        self.malformed.update(chunk.malformed)


class Result(NamedTuple):
    """The result of a chunk."""

    tally: Tally
    facts: bytes
    questions: bytes
    problems: list[Problem]
    drawable: Sampler
    """The chunk's candidates for drawing."""


def chunks(trees: Iterable[RawTree | Problem]) -> Iterator[Chunk]:
    """Group trees into chunks."""
    chunk: Chunk = []
    size = 0
    for read in trees:
        chunk.append(read)
        size += len(read.text) if isinstance(read, RawTree) else 0
        if size >= CHUNK or len(chunk) >= CHUNK_ENTRIES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class Worker:
    """Converts chunks of trees to lines of facts and questions."""

    def __init__(self, settings: BuildSettings, generate: Generate, wordings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._generate = partial(generate, words=other_wordings(wordings)) if wordings else generate
        self._encoder = msgspec.json.Encoder()

    def __call__(self, numbered: Numbered) -> Result:
        """Return the result of a chunk."""
        number, chunk = numbered
        drawable = sampler(self._settings.sampling)
        facts, questions = bytearray(), bytearray()
        tally, problems = Tally(), list[Problem]()
        encode_into, see = self._encoder.encode_into, drawable.see
        for read in chunk:
            if isinstance(read, Problem):
                problems.append(read)
                continue
            try:
                some_facts, some_items = self._generate(
                    read.text, read.file, read.tree, published=self._settings.as_published
                )
            except TreeError as problem:
                problems.append(_problem(read, "tree", _message(read, problem)))
                continue
            except Exception as problem:  # a defect of Viva: reported, other trees continue
                problems.append(_problem(read, "defect", f"Viva failed here, please report it: {problem!r}"))
                continue
            tally.trees += 1
            tally.facts += len(some_facts)
            for fact in some_facts:
                encode_into(fact, facts, -1)
                facts += b"\n"
            tally.counts.update((item.knowledge_point, item.format) for item in some_items)
            for item in some_items:
                start = len(questions)
                encode_into(item, questions, -1)
                see(item, Place(number, start, len(questions) - start))
                questions += b"\n"
        tally.malformed.update(problem.kind for problem in problems)
        return Result(tally, self._pack(facts), self._pack(questions), problems, drawable)

    def _pack(self, lines: bytearray) -> bytes:
        """Compress lines if wished: concatenated gzip members are a gzip file (the same on every Python)."""
        return zlib.compress(lines, 6, 31) if self._settings.gzip and lines else bytes(lines)


def _problem(read: RawTree, kind: str, message: str) -> Problem:
    return Problem(source=read.source, line=read.line, tree=read.tree, kind=kind, message=message)


def _message(read: RawTree, problem: TreeError) -> str:
    """Return the error, with its line unless that is the tree's first."""
    below = read.text.count("\n", 0, problem.offset)
    return f"{problem} (line {read.line + below})" if below else str(problem)


def where(numbered: Numbered) -> str:
    """Return a description of a chunk for messages."""
    _, chunk = numbered
    return f"the trees from {chunk[0].source}:{chunk[0].line} on"


FACTS, QUESTIONS = "facts.jsonl", "questions.jsonl"
TEST, EXEMPLARS, MALFORMED = "test.jsonl", "exemplars.jsonl", "malformed.jsonl"
FILES = (FACTS, QUESTIONS, TEST, EXEMPLARS, MALFORMED, f"{FACTS}.gz", f"{QUESTIONS}.gz")
"""All files of a set besides its manifest."""


class Manifest(Made, kw_only=True):
    """All of build.json."""

    name: str
    as_published: bool
    """Whether facts and questions are made like the published generator's, quirks included."""
    wordings: str = ""
    """Name of a file of custom wordings."""
    sampling: SamplingSettings
    encoding: str
    sources: list[Source]
    trees: int
    """Trees that facts were read from, without malformed ones."""
    facts: int
    questions: dict[str, dict[str, int]]
    """Knowledge point → format → number of questions."""
    strata: int
    strata_drawn_from: int
    test: int
    """Questions of the set; the published scheme may repeat one."""
    test_distinct: int
    short: dict[str, int]
    """Knowledge points and formats ("IO MC") of which fewer were drawn than asked for: the treebank has no more."""
    exemplars: int
    malformed: dict[str, int]
    """Kind → count; malformed.jsonl lists each."""
    fingerprint: str
    """Twelve hexadecimal digits over test.jsonl and exemplars.jsonl."""

    @property
    def asked(self) -> int:
        """Number of generated questions."""
        return sum(count for formats in self.questions.values() for count in formats.values())


class Watch(Protocol):
    """Receiver of progress."""

    def planned(self, plan: Plan) -> None:
        """Take note of the files to read."""

    def progress(self, tally: Tally) -> None:
        """Take note of the counts after a chunk."""

    def malformed(self, problem: Problem) -> None:
        """Take note of a skipped tree, text or file."""


def build(
    treebanks: Sequence[Path],
    out: Path,
    settings: BuildSettings,
    generate: Generate,
    watch: Watch,
) -> Manifest:
    """Make a set in the folder `out`.

    Raises DataError for unreadable treebanks (with malformed="refuse" for the first malformed tree), StorageError if
    writing fails, LostWorkerError if a process was killed; then nothing is left in `out`.
    """
    with staged(out, FILES, force=settings.force) as stage:
        plan = survey(treebanks, settings.glob)
        watch.planned(plan)
        reader = Reader(plan, encoding=settings.encoding)
        tally = Tally(size=sum(member.size for planned in plan for member in planned.members))
        return _Build(reader, stage, settings, generate, watch, tally, sampler(settings.sampling)).run()


@dataclass
class _Build:
    """One build."""

    reader: Reader
    stage: Path
    settings: BuildSettings
    generate: Generate
    watch: Watch
    tally: Tally
    sampler: Sampler
    starts: array[int] = field(default_factory=lambda: array("Q", [0]))
    """Offset of each chunk in the file of questions, and the file's end."""
    first_problem: Problem | None = None

    def path(self, name: str) -> Path:
        """Return the path of the file of facts or questions."""
        return self.stage / (f"{name}.gz" if self.settings.gzip else name)

    def run(self) -> Manifest:
        """Write all files; returns the manifest."""
        settings = self.settings
        wordings = read_wordings(settings.wordings) if settings.wordings else {}
        with open_worker_pool(settings.on, settings.jobs) as workers:
            self._generate_all(workers, partial(Worker, settings, self.generate, wordings))
        self._refuse_nothing()
        drawn = self.sampler.draw()
        manifest = self._manifest(drawn, *self._write_set(drawn))
        (self.stage / MANIFEST).write_bytes(readable_json(manifest))
        return manifest

    def _generate_all(self, workers: WorkerPool, recipe: Callable[[], Worker]) -> None:
        with ExitStack() as files:
            facts, questions = (files.enter_context(self.path(name).open("wb")) for name in (FACTS, QUESTIONS))
            problems: BinaryIO | None = None
            for result in workers.map(recipe, enumerate(chunks(self.reader.trees())), name=where):
                self.sampler.merge(result.drawable)
                facts.write(result.facts)
                questions.write(result.questions)
                self.starts.append(self.starts[-1] + len(result.questions))
                for problem in result.problems:
                    if self.settings.malformed == "refuse":
                        raise DataError(f"{problem}; mend it, or skip such trees with {option('malformed')} skip")
                    self.first_problem = self.first_problem or problem
                    problems = problems or files.enter_context((self.stage / MALFORMED).open("wb"))
                    problems.write(msgspec.json.encode(problem) + b"\n")
                    self.watch.malformed(problem)
                self.tally.add(result.tally)
                self.tally.bytes = self.reader.bytes
                self.watch.progress(self.tally)

    def _refuse_nothing(self) -> None:
        """Raise DataError if there is no question."""
        names = ", ".join(source.name for source in self.reader.sources)
        if not self.tally.trees:
            why = f" ({self.first_problem})" if self.first_problem else " (no file of it begins with a bracket)"
            raise DataError(f"no tree could be read in {names}{why}; it needs Penn Treebank brackets with tags")
        if not self.tally.questions:
            raise DataError(
                f"{names}: {self.tally.trees:,} trees, but nothing in them can be asked for; "
                "do they have function tags (NP-SBJ) and word tags?"
            )

    def _write_set(self, drawn: Drawn) -> tuple[bytes, bytes]:
        """Write test.jsonl and exemplars.jsonl; returns their contents."""
        contents: list[bytes] = []
        with self.path(QUESTIONS).open("rb") as questions:
            lines = self._lines(questions, [place for _, place in (*drawn.test, *drawn.exemplars)])
        for name, entries in ((TEST, drawn.test), (EXEMPLARS, drawn.exemplars)):
            items = (msgspec.structs.replace(lines[place], stratum=stratum) for stratum, place in entries)
            contents.append(msgspec.json.Encoder().encode_lines(items))
            (self.stage / name).write_bytes(contents[-1])
        return contents[0], contents[1]

    def _lines(self, questions: BinaryIO, places: list[Place]) -> dict[Place, Item]:
        """Return the questions at these places."""
        decode = msgspec.json.Decoder(Item).decode
        items: dict[Place, Item] = {}
        number, content = -1, b""
        for place in sorted(set(places)):
            if place.chunk != number:
                number = place.chunk
                questions.seek(self.starts[number])
                content = questions.read(self.starts[number + 1] - self.starts[number])
                content = zlib.decompress(content, 31) if self.settings.gzip else content
            items[place] = decode(content[place.offset : place.offset + place.length])
        return items

    def _manifest(self, drawn: Drawn, test: bytes, exemplars: bytes) -> Manifest:
        tally = self.tally
        return pick(
            Manifest,
            msgspec.structs.asdict(self.settings),
            wordings=Path(self.settings.wordings).name,
            sampling=self.settings.sampling,
            sources=self.reader.sources,
            trees=tally.trees,
            facts=tally.facts,
            questions={point: {form: tally.counts[point, form] for form in FORMATS} for point in KNOWLEDGE_POINTS},
            strata=drawn.strata,
            strata_drawn_from=drawn.eligible,
            test=len(drawn.test),
            test_distinct=len({place for _, place in drawn.test}),
            short=drawn.short,
            exemplars=len(drawn.exemplars),
            malformed=dict(sorted(tally.malformed.items())),
            fingerprint=fingerprint((test, exemplars)),
        )
