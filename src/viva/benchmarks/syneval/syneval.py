"""SynEval: understanding of the syntax of sentences.

Zhou et al., "How Well Do Large Language Models Understand Syntax? An Evaluation by Asking Natural Language Questions",
arXiv 2311.08287. Nine knowledge points, three formats (true or false, multiple choice, fill in the blank), generated
from a treebank. No set was published: `viva build syneval` makes one from any treebank in PTB brackets.

    viva run syneval --model openai/gpt-4o                              the bundled set, zero-shot
    viva run syneval --data DIR --shots 5 --model openai/gpt-4o         five exemplars, drawn by three seeds
    viva run syneval --data DIR --form base --model openai/NAME --base-url http://127.0.0.1:8000/v1

What the bundled set holds, and how Viva differs from the authors' scripts: README.md beside this file.

The paper's tables: by format, and by knowledge point (arXiv 2311.08287, Tables 2, 3 and 8 to 13).

OA = (TF accuracy + MC accuracy + (FITB accuracy + FITB F1) / 2) / 3 is the mean over formats of the means over
questions, since a blank is worth the mean of its exact match and its F1. No TF question asks for a main verb phrase:
its TF score is that of the questions about what belongs to it, subject, complement and objects. OA over points is the
mean over the knowledge points' formats, so that a set's mix of knowledge points does not decide it.

The score of a reply: by what it commits to, or as the authors' script reads it.

A truth value or letter is right or wrong. A blank earns the mean of exact match and F1 (`Score.parts`), so that the
mean over the three formats is the paper's OA.

The reading of a reply by the authors' script, defects included: used only under `--as-published`.

From the behaviour described in the specification (SynEval, section 5 and quirk 14). Only the first line of the reply
counts. A letter needs a bare or quoted form ("(A)" and "Option B" have none); "A board" is A; what follows "answer is"
is not looked at beyond the letter or word, so "The answer is “Because" is B; a true or false in capitals is not seen,
and a yes or no is seen but never right, since the gold answers are true and false. A blank has several candidates, the
best of which is scored, and any line with "there is no" in it, which fits none of the known sentences, answers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from viva.benchmarks.basics import GradedByRule, alike, fingerprint, read_bytes, rows_by, spread
from viva.benchmarks.syneval import facts, synevalprompts
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, LETTERS, Format, Item, KnowledgePoint
from viva.contracts import ContextWindow
from viva.errors import DataError, option
from viva.prompting import BREAKS, ESTIMATED, Templates, fit_to_context, gap_between, read_templates
from viva.scorers.choice import read_choice
from viva.scorers.phrase import read_phrase
from viva.scorers.phrasemask import clean
from viva.scorers.reading import grade_reading, no_reply, outcome_of, scored
from viva.scorers.spans import SpanScore, score_span
from viva.scorers.truth import read_truth
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Defect,
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
from viva.visible import capitalised

NO_ANSWER = "<no-answer>"
"""The only candidate of a reply that denies that there is one; it equals no gold answer."""

_TRUTH = "[Tt]rue|[Ff]alse|(?:[Yy]es|[Nn]o)(?![A-Za-z])"
_OPEN, _CLOSE = '[“”"]', '[“”"]'
_SAID = rf"{_OPEN}([^“”\"]*){_CLOSE}"
_ROLE = "(?:subject complement|subject|direct object|indirect object)"
_OBJECT_OF = re.compile(rf"{_ROLE} of (?:the verb phrase )?{_SAID} is {_SAID}")
_IS_OBJECT = re.compile(rf"{_SAID} is the(?= )([^“”\"]*){_SAID}")
_LAST_QUOTED = re.compile(rf".*(?:is|the phrase|the words?) {_OPEN}([^”\"]{{0,999}})[”\"]")
_COORDINATED = re.compile(rf"(?:noun|verb) phrase {_SAID} is coordinated with the (?:noun|verb) phrase {_SAID}")
_SINGLE = re.compile(r"(?<!\w)'([^']+)'(?!\w)")
_BRACKETED = re.compile(r"\([^()]*\)")


def published_letter(reply: str) -> str | None:
    """Return the letter A to D of a multiple-choice reply; None is a wrong format, which counts as wrong."""
    return _read_word(_first_line(reply), "[A-D]")


def published_truth(reply: str) -> str | None:
    """Return the truth word as the reply writes it: "True", "false", "Yes"; None is a wrong format."""
    return _read_word(_first_line(reply), _TRUTH)


def truth_is_right(word: str | None, gold: str) -> bool:
    """Return whether a word that `published_truth` gave is the gold answer "true" or "false": a yes or no never is."""
    return word is not None and word.lower() == gold


def phrase_candidates(reply: str, knowledge_point: KnowledgePoint) -> tuple[str, ...]:
    """Return candidates for a blank, in lower case, always with the whole line."""
    line = _first_line(reply).lower()
    phrases = _stated(line, knowledge_point)
    if not phrases and "there is no" in line:
        return (NO_ANSWER,)
    candidates = [*phrases, line]
    variants = [_SINGLE.sub(r'" \1 "', text) for text in candidates]
    variants += [" ".join(_BRACKETED.sub(" ", text).split()) for text in candidates if _BRACKETED.search(text)]
    return tuple(dict.fromkeys([*candidates, *variants]))


def score_phrase(reply: str, knowledge_point: KnowledgePoint, gold: str) -> SpanScore:
    """Return the score of the best candidate against the gold answer."""
    return score_span(phrase_candidates(reply, knowledge_point), (gold,))


def _first_line(reply: str) -> str:
    return reply.strip().split("\n")[0].rstrip()


def _read_word(line: str, word: str) -> str | None:
    """Return the word where the line has it alone, before a blank or mark, or (the last one) behind "answer is"."""
    bare = re.fullmatch(rf"(?:Answer: )?({word})[^A-Za-z]?", line) or re.match(rf"(?:Answer: )?({word})[ .,)]", line)
    if bare:
        return bare[1]
    behind = list(re.finditer(rf"answer is {_OPEN}?({word})", line))
    return behind[-1][1] if behind else None


def _stated(line: str, knowledge_point: KnowledgePoint) -> list[str]:
    """Return the phrases in those forms of sentences that the script knows."""
    inverse = knowledge_point == "MVP"
    phrases: list[str] = []
    if match := _OBJECT_OF.search(line):
        phrases.append(match[1] if inverse else match[2])
    elif match := next((match for match in _IS_OBJECT.finditer(line) if " of " in match[2]), None):
        phrases.append(match[3] if inverse else match[1])
    elif quoted := _LAST_QUOTED.match(line):
        phrases.append(quoted[1])
    if match := _COORDINATED.search(line):
        phrases += [match[1], match[2]]
    return phrases


POOLED = ("GS", "SC", "DO", "IO")
OA = Aggregate("OA", over="format")
OVER_POINTS = Aggregate("OA over points", over="point_and_format")
"""Every knowledge point and format has equal weight, however many questions it has. MVP has no TF."""
_TF = Aggregate("TF", {"format": ("TF",)})
_MC = Aggregate("MC", {"format": ("MC",)})
_EXACT = Aggregate("FITB accuracy", {"format": ("FITB",)}, part="exact")
_F1 = Aggregate("FITB F1", {"format": ("FITB",)}, part="f1")
_MEASURES = (_TF, _MC, _EXACT, _F1)
_POINTS = tuple(
    Aggregate(point, {"mvp": ("yes",)} if point == "MVP" else {"knowledge_point": (point,)})
    for point in KNOWLEDGE_POINTS
)


def tags_of(item: Item) -> dict[str, str]:
    """Return the tags by which results are tabulated."""
    pooled = item.knowledge_point in POOLED and item.format == "TF"
    return {
        "format": item.format,
        "knowledge_point": item.knowledge_point,
        "point_and_format": f"{item.knowledge_point} {item.format}",
        "category": f"{item.knowledge_point}: {item.category}",
        "mvp": "yes" if pooled or item.knowledge_point == "MVP" else "no",
    }


def incomplete(items: Iterable[Item]) -> Iterator[Defect]:
    """Yield the rows whose OA is incomplete, since not every format is asked there."""
    present: dict[str, set[str]] = {}
    for item in items:
        of = [item.knowledge_point, "Overall", *(["MVP"] if tags_of(item)["mvp"] == "yes" else [])]
        for row in of:
            present.setdefault(row, set()).add(item.format)
    for row in (*KNOWLEDGE_POINTS, "Overall"):
        missing = [name for name in FORMATS if name not in present.get(row, FORMATS)]
        if missing:
            detail = f"no {' and no '.join(missing)} question: its OA is the mean over the other formats"
            yield Defect(row, "missing format", detail, "noted")


def table_specs(categories: Sequence[str], shots: int) -> tuple[TableSpec, ...]:
    """Return the tables of one run. `categories` are the values of that tag in the set."""
    how = f"{shots}-shot" if shots else "zero-shot"
    overall = Aggregate("Overall")
    points = (*_POINTS, Aggregate("All"))
    order = {point: place for place, point in enumerate(KNOWLEDGE_POINTS)}
    rows = sorted(categories, key=lambda name: (order[name.partition(":")[0]], name))  # type: ignore[index]
    return (
        TableSpec("points", f"By knowledge point, {how}", (*_POINTS, overall), (*_MEASURES, OA)),
        TableSpec("formats", f"By format, {how}", (overall,), (*_MEASURES, OA, OVER_POINTS), across=True),
        TableSpec("oa", f"OA by knowledge point, {how}", (OA,), points, across=True),
        *(
            TableSpec(line.label, f"{line.label} by knowledge point, {how}", (line,), points, detail=True, across=True)
            for line in _MEASURES
        ),
        TableSpec(
            "categories",
            f"By syntactic category of what is asked for, {how}",
            rows_by("category", rows),
            (*_MEASURES, OA),
            detail=True,
        ),
    )


ROLES: dict[KnowledgePoint, tuple[str, ...]] = {
    "GS": ("subject",),
    "SC": ("subject complement",),
    "DO": ("direct object",),
    "IO": ("indirect object",),
    "MVP": ("main verb", "verb phrase", "predicate"),
    "ADJ": ("modifier",),
    "ADV": ("modifier", "adverbial"),
    "CO": ("conjunct",),
    "PPA": ("head", "host"),
}
"""Names that a reply may give the phrase asked for."""
_QUOTED = re.compile("“([^“”]*)”")


def grade(item: Item, response: Response, *, base: bool) -> Score:
    """Return the score of what the reply commits to. `base`: it continues after an open quotation mark."""
    reply = behind_quote(response.text) if base else response.text
    if item.format == "TF":
        return grade_reading(read_truth(reply, ended=response.ended), item.answer, response)
    if item.format == "MC":
        letter = read_choice(reply, letters=LETTERS, options=item.options, ended=response.ended)
        return grade_reading(letter, item.answer, response)
    inverse = item.knowledge_point == "MVP"
    phrase, reading = read_phrase(
        reply,
        shown=shown_phrase(item.question),
        inverse=inverse,
        roles=ROLES[item.knowledge_point],
        sentence=item.sentence,
        ended=response.ended,
    )
    if phrase is None:
        return grade_reading(reading, item.answer, response)
    where = f" at {reading.span[0]}-{reading.span[1]}" if reading.span else ""
    golds = (item.answer, *item.accepted)
    # What the reader strips from a reply (marks around it, the stop of "Co." before a comma) may be part of the gold.
    accepted = dict.fromkeys((*golds, *map(clean, golds)))
    return phrase_score(score_span([phrase], accepted), f"{reading.rule}{where}")


def shown_phrase(question: str) -> str:
    """Return the phrase that a question shows in quotation marks, like perhaps the blank; "" for none or several."""
    quoted = [phrase for phrase in _QUOTED.findall(question) if phrase.strip(" _.…")]
    return quoted[0] if len(quoted) == 1 else ""


def behind_quote(reply: str) -> str:
    """Return what a base model wrote within the quotation that its prompt opened: up to the mark or the line's end.

    A reply that opens a quotation itself ("The answer is “the board”") is left whole.
    """
    line = reply.strip().split("\n")[0].rstrip()
    inside, mark, _ = line.partition("”")
    return inside if mark and inside.strip() and "“" not in inside else line


def as_published(item: Item, response: Response, lead: str) -> Score:
    """Return the score by the authors' reading. `lead` is the end of a base model's prompt, which they count as
    part of the reply.
    """
    if not response.text.strip():
        return Score(value=None, outcome="empty", explanation="the reply holds nothing visible (as published)")
    reply = lead + response.text
    if item.format == "FITB":
        best = score_phrase(reply, item.knowledge_point, item.answer)
        return phrase_score(best, "the best of what the script may read (as published)")
    if item.format == "TF":
        read = published_truth(reply)
        right = truth_is_right(read, item.answer)
    else:
        read = published_letter(reply)
        right = read == item.answer
    if read is None:
        return Score(value=None, outcome="unparsed", explanation="wrong format (as published)")
    return scored(right, read, "the first line, by its form (as published)")


def phrase_score(best: SpanScore, how: str) -> Score:
    """Return a blank's score: the mean of exact match and F1."""
    exact = float(best.exact)
    value = (exact + best.f1) / 2
    held = f", held to {best.accepted!r}" if best.accepted else ""
    return Score(
        value=value,
        outcome=outcome_of(value),
        answer=best.candidate,
        explanation=f"{how}{held}: F1 {best.f1:.3f}, {'exact' if best.exact else 'not exact'}",
        parts={"exact": exact, "f1": best.f1},
    )


HERE = Path(__file__).parent
MAX_SHOTS = 5
SEEDS = 3
"""Runs that the paper averages where exemplars are shown; zero-shot, all would ask the same."""
PAPER = Sampling(temperature=0.0, max_tokens=256)
SHORT = 10
"""New tokens for a truth value or a letter."""
SINGLE = 1
"""The authors' limit for local models, which continue after an open quotation mark."""
KINDS: dict[Format, Kind] = {"TF": "truth", "MC": "choice", "FITB": "span"}
_LEGAL: dict[Format, tuple[str, ...]] = {"TF": ("True", "False"), "MC": tuple(facts.LETTERS)}


class SynEvalExam(GradedByRule):
    """A set with its exemplars. A sample's number is the index of the seed that draws its exemplars."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self.spec = spec
        self._texts = Templates(read_templates(HERE / "prompts.toml"), templates, {**BREAKS, "ask": "\n"})
        folder = facts.find_set(data)
        test, exemplars = read_bytes(folder / facts.TEST), facts.read_if_there(folder / facts.EXEMPLARS)
        listed = facts.read_test(folder / facts.TEST, test)
        # Exemplars count even where none is shown, so that a set has one fingerprint, that in its build.json.
        self.fingerprint = fingerprint([test] if exemplars is None else [test, exemplars])
        self.defects = [*facts.changed(folder, self.fingerprint)]
        for item in (each.item for each in listed):
            self.defects += alike(item.id, item.options, item.answer)
        self._pools: facts.Pools = {}
        if spec.shots:
            if not exemplars or not exemplars.strip():
                raise DataError(
                    f"{folder} has no exemplars to show ({facts.EXEMPLARS} is missing or empty): "
                    f"`viva build syneval` writes them beside {facts.TEST}; without them, ask with "
                    f"{option('shots', '0')}"
                )
            self._pools = facts.read_exemplars(folder / facts.EXEMPLARS, exemplars)
            self.defects += synevalprompts.too_few(listed, self._pools, spec.shots, same_sentence=spec.as_published)
            self.defects += synevalprompts.in_the_test(listed, self._pools)
        self._listed = [listed[index] for index in spread(len(listed), spec.limit)]
        self._items = {each.item.id: each.item for each in self._listed}
        self.defects += incomplete(self._items.values())
        self._tags: dict[tuple[str, ...], dict[str, str]] = {}

    def __len__(self) -> int:
        return len(self._listed)

    def questions(self) -> Iterator[Question]:
        """Yield the questions in the order of the set; with a limit, evenly spread over it."""
        for each in self._listed:
            yield self._question(each.item, each.times)

    def _question(self, item: Item, times: int) -> Question:
        # Questions of one kind share one dictionary of tags: a set can have very many.
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
        """Return the prompt of one question; exemplars that do not fit the context are dropped, the longest first."""
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
            options=tuple(map(capitalised, item.options)),
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
        """Return the limit of new tokens: the paper's 256 or 10, or a higher one for models that think first."""
        asked = sampling.max_tokens
        if item.format == "FITB" or asked is None or asked > (PAPER.max_tokens or 0):
            return asked
        return min(asked, SINGLE if self.spec.as_published and self.spec.form == "base" else SHORT)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score a truth value or letter against the gold one, a phrase by its words. Pure."""
        if response.error:
            return no_reply(response.error)
        item, base = self._items[question.id], self.spec.form == "base"
        if self.spec.as_published:
            return as_published(item, response, self._texts.text("lead") if base else "")
        return grade(item, response, base=base)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables of the paper."""
        present = dict.fromkeys(tags_of(each.item)["category"] for each in self._listed)
        return table_specs(list(present), self.spec.shots)

    def headline(self) -> Aggregate:
        """Return the paper's overall score."""
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
        version="19",
        source="arXiv 2311.08287",
        shots=MAX_SHOTS,
        supports=("base", "next-token", "likelihood", "as-published"),
        reasons={"cot": "it asks for the answer alone", "comprehension": "no question needs a judge"},
        draws=SamplingPlan(sampling=PAPER),
        few_shot=SamplingPlan(samples=SEEDS, sampling=PAPER),
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> SynEvalExam:
        """Return SynEval with these settings; the bundled sample when `data` is None."""
        return SynEvalExam(spec, data or self.sample, templates)


BENCHMARK = SynEval()
