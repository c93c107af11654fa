"""SynEval: does a model understand the syntax of a sentence?

Zhou et al., "How Well Do Large Language Models Understand Syntax? An Evaluation by Asking Natural Language Questions",
arXiv 2311.08287. Nine knowledge points, three formats (true or false, multiple choice, fill in the blank), generated
from a treebank. No set was published: `viva build syneval` makes one from any treebank in PTB brackets.

    viva run syneval --model openai/gpt-4o                              the bundled set, zero-shot
    viva run syneval --data DIR --shots 5 --model openai/gpt-4o         five exemplars, drawn anew by three seeds
    viva run syneval --data DIR --form base --model openai/NAME --base-url http://127.0.0.1:8000/v1

What the bundled set holds, and how Viva differs from the authors' scripts: README.md beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from viva.benchmarks.defaults import GradedByRule
from viva.benchmarks.sets import fingerprint, read_bytes, spread
from viva.benchmarks.syneval import setfiles, synevalprompts
from viva.benchmarks.syneval.facts import FORMATS, Format, Item
from viva.benchmarks.syneval.synevalgrading import as_published, grade
from viva.benchmarks.syneval.tables import OA, incomplete, table_specs, tags_of
from viva.contracts import ContextWindow
from viva.errors import DataError, option
from viva.prompting import BREAKS, ESTIMATED, Templates, fit_to_context, gap_between, read_templates
from viva.scorers.grading import no_reply
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Evidence,
    ExamSpec,
    Generate,
    Kind,
    Prompt,
    Question,
    Response,
    Sampling,
    SamplingPlan,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
MAX_SHOTS = 5
SEEDS = 3
"""Runs that the paper averages where exemplars are shown; zero-shot, all would ask the same."""
PAPER = Sampling(temperature=0.0, max_tokens=256)
SHORT = 10
"""New tokens for a truth value or a letter."""
SINGLE = 1
"""The same as the authors have it for local models, which go on behind an open quotation mark."""
KINDS: dict[Format, Kind] = {"TF": "truth", "MC": "choice", "FITB": "span"}
_LEGAL: dict[Format, tuple[str, ...]] = {"TF": ("True", "False"), "MC": tuple(setfiles.LETTERS)}


class SynEvalExam(GradedByRule):
    """A set with its exemplars. The number of a sample is the number of the seed that its exemplars are drawn by."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self.spec = spec
        self._texts = Templates(read_templates(HERE / "prompts.toml"), templates, {**BREAKS, "ask": "\n"})
        folder = setfiles.find_set(data)
        test, exemplars = read_bytes(folder / setfiles.TEST), setfiles.read_if_there(folder / setfiles.EXEMPLARS)
        listed = setfiles.read_test(folder / setfiles.TEST, test)
        # Exemplars count even where none is shown, so that a set has one fingerprint: that of its build.json.
        self.fingerprint = fingerprint([test] if exemplars is None else [test, exemplars])
        self.defects = [*setfiles.changed(folder, self.fingerprint), *setfiles.alike(listed)]
        self._pools: setfiles.Pools = {}
        if spec.shots:
            if not exemplars or not exemplars.strip():
                raise DataError(
                    f"{folder} has no exemplars to show ({setfiles.EXEMPLARS} is missing or empty): "
                    f"`viva build syneval` writes them beside {setfiles.TEST}; without them, ask with "
                    f"{option('shots', '0')}"
                )
            self._pools = setfiles.read_exemplars(folder / setfiles.EXEMPLARS, exemplars)
            self.defects += synevalprompts.too_few(listed, self._pools, spec.shots, same_sentence=spec.as_published)
            self.defects += synevalprompts.in_the_test(listed, self._pools)
        self._listed = [listed[index] for index in spread(len(listed), spec.limit)]
        self._items = {one.item.id: one.item for one in self._listed}
        self.defects += incomplete(self._items.values())
        self._tags: dict[tuple[str, ...], dict[str, str]] = {}

    def __len__(self) -> int:
        return len(self._listed)

    def questions(self) -> Iterator[Question]:
        """The questions in the order of the set; with a limit, evenly spread over it."""
        for one in self._listed:
            yield self._question(one.item, one.times)

    def _question(self, item: Item, times: int) -> Question:
        # Questions of one kind share one dictionary of tags: a set can hold very many.
        tags = self._tags.setdefault((item.knowledge_point, item.format, item.category), tags_of(item))
        return Question(
            id=item.id,
            kind=KINDS[item.format],
            text=f"{item.sentence}\n{item.question}",
            language="en",
            options=item.options,
            answer=item.answer,
            explanation=f"{item.file}, tree {item.tree}",
            tags=tags,
            weight=times,
            cluster=f"{item.file}-{item.tree}",
        )

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Generate:
        """The prompt of one question; exemplars that would not fit the context go, the longest first."""
        item = self._items[question.id]
        prompt, dropped = self._prompt(item, sample, sampling, context_window or ESTIMATED)
        base = self.spec.form == "base"
        return Generate(
            question=question.id,
            sample=sample,
            prompt=prompt,
            sampling=msgspec.structs.replace(
                sampling, max_tokens=self._longest_reply(item, sampling), stop=("\n",) if base else sampling.stop
            ),
            choices=_LEGAL.get(item.format) or synevalprompts.Spans(item.sentence),
            options=tuple(map(synevalprompts.capitalised, item.options)),
            answer_separator=gap_between("", self._texts.text(f"{item.format}.answer")) if base else "",
            dropped=dropped,
        )

    def _prompt(self, item: Item, sample: int, sampling: Sampling, context_window: ContextWindow) -> tuple[Prompt, int]:
        base = self.spec.form == "base"
        pool = self._pools.get((item.knowledge_point, item.format), ())
        seed = self.spec.seed + sample
        shots = synevalprompts.draw(pool, item, self.spec.shots, seed, same_sentence=self.spec.as_published)
        reply = self._longest_reply(item, sampling) or 0
        return fit_to_context(
            shots,
            lambda kept: synevalprompts.render(
                self._texts,
                item,
                kept,
                base=base,
                whole=self.spec.choose == "likelihood",
                turns=self.spec.as_published,
            ),
            lambda shot: len(shot.sentence) + sum(map(len, shot.options)),
            lambda prompt: context_window.fits(prompt, reply, self.spec.context),
        )

    def _longest_reply(self, item: Item, sampling: Sampling) -> int | None:
        """The paper's limits are 256 and 10. A higher one is for models that think aloud first, whatever the format."""
        asked = sampling.max_tokens
        if item.format == "FITB" or asked is None or asked > (PAPER.max_tokens or 0):
            return asked
        return min(asked, SINGLE if self.spec.as_published and self.spec.form == "base" else SHORT)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """The truth value or letter against the gold one; a phrase by its words. Pure."""
        if response.error:
            return no_reply(response.error)
        item, base = self._items[question.id], self.spec.form == "base"
        if self.spec.as_published:
            return as_published(item, response, self._texts.text("lead") if base else "")
        return grade(item, response, base=base)

    def layouts(self) -> tuple[TableSpec, ...]:
        """The tables of the paper."""
        present = dict.fromkeys(tags_of(one.item)["category"] for one in self._listed)
        return table_specs(list(present), self.spec.shots)

    def headline(self) -> Aggregate:
        """The paper's overall score."""
        return OA


class SynEval:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="syneval",
        title="SynEval",
        paper="arXiv 2311.08287",
        licence="that of the treebank; the bundled sample is Viva's own, Apache-2.0",
        languages=("en",),
        formats=FORMATS,
        size="generated from any treebank: viva build syneval (the paper drew 3,170 from the Penn Treebank)",
        version="9",
        source="arXiv 2311.08287",
        shots=MAX_SHOTS,
        supports=("base", "next-token", "likelihood", "as-published"),
        reasons={"cot": "it asks for the answer alone", "comprehension": "no question needs a judge"},
        draws=SamplingPlan(sampling=PAPER),
        few_shot=SamplingPlan(samples=SEEDS, sampling=PAPER),
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> SynEvalExam:
        """SynEval with these settings; the bundled sample when `data` is None."""
        return SynEvalExam(spec, data or self.sample, templates)


BENCHMARK = SynEval()
