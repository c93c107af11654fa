"""CMMLU: multitask knowledge in Mandarin Chinese.

Li et al., "CMMLU: Measuring massive multitask language understanding in Chinese", arXiv 2306.09212. 67 subjects, 11,582
test questions with four options, 5 exemplars a subject; zero- and five-shot, direct and chain of thought.

    viva run cmmlu --model openai/gpt-4o --shots 5

The published Average is the macro average over the 67 subjects. Deviations from the authors' script: README.md.

The reading of a reply by the authors' scripts, in stages: used only under `--as-published`.

From the behaviour described in the specification (CMMLU, *Answering*): a generation script stores the reply without its
line feeds in a CSV, which pandas reads again; then the first stage that finds one of the capitals A to D decides. The
last stage, a random letter, is not here. The time is linear in the length of the reply.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.benchmarks.basics import fingerprint, locate, read_bytes, redrawn, rows_by, spread, table_rows
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.errors import DataError
from viva.files import shipped_table
from viva.prompting import Templates, read_templates
from viva.scorers.reading import scored
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Defect,
    Evidence,
    ExamSpec,
    Question,
    Response,
    Score,
    TableSpec,
)

MISSING = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
"""Fields that `pandas.read_csv` takes for not-a-number: the scripts then look for a letter in the text "nan"."""
_LETTER = re.compile("[A-D]")
_PHRASES = tuple(
    re.compile(phrase.replace("X", "([A-D])"))
    for phrase in (
        "答案(?:选项)?[是为]：? ?X",
        "答案[是为]选项 ?X",
        "故?选择?：? ?X",
        "X ?选?项[是为]?正确",
        "正确的?选项[是为] ?X",
        "答案(?:应该)?[是为]X",
        "选项 ?X ?[是为]?正确",
        "选择答案 ?X",
        "答案?：?X",
        "X(?:选?项)?是?符合题意",
        "答案选项：? ?X",
    )
)
_ANSWER_IS = re.compile("答案(?:选项)?为")
_IS = re.compile("[^不]是：? ?([A-D])")


def published_letter(reply: str) -> tuple[str, int] | None:
    """Return the letter and the stage (0 to 4) that found it; None where the scripts draw a letter.

    A bare carriage return splits a row of their CSV, and the answer is lost with the gold; here it is a character.
    """
    text = reply.replace("\n", "")
    if text in MISSING or not (first := _LETTER.search(text)):
        return None
    if first.start() == 0:
        return first[0], 0
    for phrase in _PHRASES:
        if match := phrase.search(text):
            return match[1], 1
    if (phrased := _ANSWER_IS.search(text)) and (letter := _LETTER.search(text, phrased.end())):
        return letter[0], 1
    for word in ("当选", "正确"):
        if (end := text.find(word, first.end())) >= 0:
            return _LETTER.findall(text, 0, end)[-1], 2
    match = _IS.search(text)
    named = _LETTER.findall(text)
    return (match[1], 3) if match else (first[0], 4) if len(named) == 1 else None


HERE = Path(__file__).parent
LETTERS = "ABCD"
_LETTER_SET = frozenset(LETTERS)
CATEGORIES = ("STEM", "Humanities", "Social Science", "Other")
CHINA = "China specific"
MAX_SHOTS = 5
LONGEST_CELL = 1 << 17
"""Most characters of a question or an option."""


class Subject(Struct, frozen=True):
    """A row of subjects.csv."""

    name: str
    chinese: str
    category: str
    china_specific: bool


@cache
def subjects() -> dict[str, Subject]:
    """Return the 67 subjects by name."""
    rows = csv.DictReader(io.StringIO((HERE / "subjects.csv").read_text(encoding="utf-8")))
    return {
        row["subject"]: Subject(row["subject"], row["name_zh"], row["category"], row["china_specific"] == "yes")
        for row in rows
    }


class Row(Struct, frozen=True):
    """One line of a subject's CSV."""

    text: str
    options: tuple[str, str, str, str]
    answer: str

    @property
    def bare(self) -> tuple[str, ...]:
        """Question and options without surrounding blanks, which some have and prompts show."""
        return (self.text.strip(), *map(str.strip, self.options))


def read_rows(path: Path, content: bytes) -> Iterator[Row]:
    """Yield the rows of one subject's CSV. Raises DataError naming the file, the line and what is wrong."""
    for _, row in table_rows(path, content, ("Question", *LETTERS, "Answer"), LONGEST_CELL):
        yield Row(row["Question"], (row["A"], row["B"], row["C"], row["D"]), row["Answer"])


class CMMLUExam(MultipleChoiceExam):
    """CMMLU with its exemplars. Questions are read from disk as they are asked for, so memory stays flat."""

    groups = "subject"

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self._folder = locate(data, "cmmlu", "test")
        defects: list[Defect] = []
        present = [name for name in subjects() if (self._folder / "test" / f"{name}.csv").exists()]
        if not present:
            raise DataError(f"{self._folder / 'test'} holds none of CMMLU's subjects (agronomy.csv, anatomy.csv, ...)")
        absent = [name for name in subjects() if name not in present]
        if absent and data != CMMLU.sample:
            detail = f"{len(absent)} of {len(subjects())} have no file: {', '.join(absent)}"
            defects.append(Defect("test", "missing subjects", detail, "noted"))
        self._counts: dict[str, int] = {}
        self._wordings: dict[Path, bytearray] = {}
        """Wording of the rows of a file, one byte each, kept because a run reads them several times."""
        exemplars: dict[str, Sequence[Question]] = {}
        super().__init__(
            spec,
            Templates(read_templates(HERE / "prompts.toml"), templates),
            fingerprint=fingerprint(self._survey(present, spec, exemplars, defects)),
            exemplars=exemplars,
            defects=defects,
        )
        self._chosen = spread(sum(self._counts.values()), spec.limit)

    def _survey(
        self, present: Sequence[str], spec: ExamSpec, exemplars: dict[str, Sequence[Question]], defects: list[Defect]
    ) -> Iterator[bytes]:
        """Read all files once for counts, exemplars and defects; yield their bytes for the fingerprint."""
        for name in present:
            path = self._folder / "test" / f"{name}.csv"
            content = read_bytes(path)
            yield content
            self._counts[name] = 0
            seen: dict[int, str] = {}
            for row in read_rows(path, content):
                identity = f"{name}/{self._counts[name]}"
                self._counts[name] += 1
                _inspect(identity, row, seen, defects)
            if spec.shots:
                dev = self._folder / "dev" / f"{name}.csv"
                content = read_bytes(dev)
                yield content
                usable = [shot for shot in self._read(name, dev, content) if shot.answer]
                exemplars[name] = redrawn(usable, spec, name)
                if len(usable) < spec.shots:
                    detail = f"{len(usable)} of {spec.shots} exemplars in {dev.name}"
                    defects.append(Defect(name, "too few exemplars", detail, "noted"))

    def _read(self, name: str, path: Path, content: bytes) -> Iterator[Question]:
        """Yield a file's questions. Those of one kind share one dictionary of tags, because there can be very many."""
        shared: dict[int, dict[str, str]] = {}
        wordings = self._wordings.setdefault(path, bytearray())
        for number, row in enumerate(read_rows(path, content)):
            if number == len(wordings):
                wordings.append(has_negation(row.text) | has_sub_options(row.text, row.bare[1:]) << 1)
            tags = shared.get(wordings[number])
            if tags is None:
                tags = shared[wordings[number]] = _tags(subjects()[name], wordings[number])
            yield Question(
                id=f"{name}/{number}",
                kind="choice",
                text=row.text,
                language="zh",
                options=row.options,
                answer=_gold(row),
                tags=tags,
            )

    def __len__(self) -> int:
        return len(self._chosen)

    def questions(self) -> Iterator[Question]:
        """Yield the test questions, subject by subject; with a limit, evenly spread over all."""
        whole = len(self._chosen) == sum(self._counts.values())
        chosen = set() if whole else set(self._chosen)
        start = 0
        for name, count in self._counts.items():
            path = self._folder / "test" / f"{name}.csv"
            if whole or not chosen.isdisjoint(range(start, start + count)):
                for position, question in enumerate(self._read(name, path, read_bytes(path)), start):
                    if whole or position in chosen:
                        yield question
            start += count

    def task_values(self, group: str) -> Mapping[str, str]:
        """Return the subject's Chinese name."""
        return {"subject": subjects()[group].chinese}

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score the letter that the reply commits to against the gold letter."""
        if not self.spec.as_published or response.error or question.answer is None:
            return super().score(question, response, evidence)
        if letter_read := published_letter(response.text):
            letter, stage = letter_read
            return scored(letter == question.answer, letter, f"stage {stage} of the authors' script (as published)")
        score = super().score(question, response, evidence)
        # The authors' script draws a random letter here; its expectation, a quarter, is reproducible.
        outcome = score.outcome if score.value is None else "unparsed"
        return Score(value=0.25, outcome=outcome, explanation="as published: the expectation of a random letter")

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables: the leaderboard's columns by macro (as published) and micro average, also without overlap;
        and the subjects.
        """
        columns = (Aggregate("Macro over subjects", over="subject"), Aggregate("Micro over questions"))
        as_published = (
            *rows_by("category", CATEGORIES),
            Aggregate(CHINA, {"china_specific": ("yes",)}),
            Aggregate("Average"),
        )
        apart = (*rows_by("home", (*CATEGORIES, CHINA)), Aggregate("Average"))
        each = tuple(Aggregate(f"{name} {subjects()[name].chinese}", {"subject": (name,)}) for name in self._counts)
        slices = (
            Aggregate("Negation word", {"negation": ("yes",)}),
            Aggregate("No negation word", {"negation": ("no",)}),
            Aggregate("Sub-options", {"sub_options": ("yes",)}),
            Aggregate("No sub-options", {"sub_options": ("no",)}),
        )
        accuracy = (Aggregate("Accuracy"),)
        return (
            TableSpec(
                "averages", "Averages (China-specific subjects count in their home category too)", as_published, columns
            ),
            TableSpec("apart", "Averages without overlap", apart, columns),
            TableSpec("subjects", "By subject", each, accuracy, detail=True),
            TableSpec("slices", "By form of the question", slices, accuracy, detail=True),
        )

    def headline(self) -> Aggregate:
        """Return the published Average: macro over the subjects."""
        return Aggregate("Average", over="subject")


def _inspect(identity: str, row: Row, seen: dict[int, str], defects: list[Defect]) -> None:
    if _gold(row) is None:
        defects.append(Defect(identity, "no usable gold", "left unscored", "unsound"))
    # Hashes in place of texts: a set may be large, and a collision would only add a line to the report.
    first = seen.setdefault(hash(row.bare), identity)
    if first != identity:
        defects.append(Defect(identity, "duplicated question", f"same as {first}", "noted"))
    if len(set(row.bare[1:])) < len(LETTERS):
        defects.append(Defect(identity, "equal options", "two options read alike", "noted"))


def _gold(row: Row) -> str | None:
    answer = row.answer.strip()
    return answer if answer in _LETTER_SET and all(row.bare) else None


def _tags(subject: Subject, wording: int) -> dict[str, str]:
    return {
        "subject": subject.name,
        "category": subject.category,
        "china_specific": "yes" if subject.china_specific else "no",
        "home": CHINA if subject.china_specific else subject.category,
        "negation": "yes" if wording & 1 else "no",
        "sub_options": "yes" if wording & 2 else "no",
    }


# The wording of a question: tags for breakdowns (the paper's analyses of negation and of sub-options), for which
# tests/labelled has hand labels.

_SENTENCE = re.compile(r"[。！？!?；;\n]+|(?<=[^\d])\.(?=\s|$)")
_CLAUSE = re.compile(r"[，,：:]+")
_EMPTY = re.compile(r"[\s()（）_＿—\-.。?？!！:：,，“”\"'…]*")
_ASKS = re.compile(r"的是|的有|的为|哪|何|什么|谁|几|多少|项|者|[（(][\s　]*[)）]|_{2,}|是$|为$|包括$|属于$")
_EXCEPT = re.compile(r"(?:下列|以下|哪)[^。]{0,40}除[^。；;]{0,30}?外|除了?(?:下列|以下|哪)|除外")
_QUOTED = re.compile(r"[“\"][^”\"]{0,40}[”\"]")
_EMPHASIS = re.compile(r"(?<=[\u4e00-\u9fff])[．﹒·](?=[\u4e00-\u9fff]|$)")
"""Dots below characters, as they come out of scanned books: 不．恰．当．"""
_HOW_MANY = re.compile(r"几[个项种处条]|[个项种处条]数")

FAMILIES = ("①②③④⑤⑥⑦⑧⑨⑩", "123456789", "abcdefgh", "ABCDEFGH", "ⅠⅡⅢⅣⅤⅥ", "甲乙丙丁戊己", "一二三四五六七八")
"""Families of labels of statements, in order."""
_STOP = r"\s*(?:[)）]|[.．、:：](?!\d))"
_AFTER = {"①": "", "Ⅰ": "", "a": "(?![a-z]|[A-Z]{2})", "A": r"(?:\s*[)）.．、:：,，]|\s*(?=[^\W\d_a-zA-Z]))"}
"""First label of a family → pattern of what follows a label."""
_ROMAN = {"IV": "Ⅳ", "VI": "Ⅵ", "III": "Ⅲ", "II": "Ⅱ", "I": "Ⅰ", "V": "Ⅴ"}
_FOLDS = re.compile("[\u2f00-\u2fdfIV]")
_NUMERAL = re.compile(r"(?<![A-Za-z])(?:IV|VI|I{1,3}|V)(?![A-Za-z])")
_BETWEEN = re.compile(r"[\s$、，,;；.．()（）和与及或→>＞<＜—~\-]|是?正确的?|错误的?|都|均|只有|仅")
_COUNT = re.compile(r"(?:\s*[0-9一二两三四五六]\s*[个项种处条](?:正确|错误)?[，,、]?)+\s*")
_ALL = re.compile(
    r"(?:以上)?(?:全部|全|都|均|皆)(?:都|部)?(?:是|对|正确|不对|不是|错误|不正确)?|以上(?:都|皆|均).{0,4}"
)


@cache
def _negation() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = shipped_table(__file__, "negation.toml", dict[str, Any])
    friends = sorted(words["false_friends"], key=len, reverse=True)
    signs = re.compile(f"[{words['signs']}]")
    return signs, re.compile("|".join(map(re.escape, friends))), re.compile("|".join(words["words"]))


def has_negation(text: str) -> bool:
    """Return whether the asking clause is negated ("下列不属于…的是"); false friends are excluded."""
    signs, friends, words = _negation()
    text = _folded(text)
    if not signs.search(text):
        return False
    text = _before_statements(_QUOTED.sub("□", _EMPHASIS.sub("", text)))
    sentences = [part for part in _SENTENCE.split(text) if not _EMPTY.fullmatch(part)]
    if not sentences:
        return False
    asking = sentences[-1]
    if _EXCEPT.search(asking):
        return True
    clauses = [part for part in _CLAUSE.split(asking) if not _EMPTY.fullmatch(part)]
    asked = [part for part in clauses if _ASKS.search(part)] or clauses
    return bool(words.search(friends.sub("□", asked[-1])))


def _before_statements(text: str) -> str:
    """Return the text before labelled statements ("…的是：a …；b …"), if it asks the question."""
    for family in FAMILIES[:4]:
        if len(_labels(text, family)) > 1:
            statement = re.search(rf"[\s(（。；;：:，,?？]{family[0]}", text)
            if statement and _ASKS.search(text[: statement.start()]):
                return text[: statement.start()]
    return text


def has_sub_options(text: str, options: Sequence[str]) -> bool:
    """Return whether a question lists labelled statements that its options combine, order or count ("①③", "acd",
    "3个").
    """
    text = _folded(text)
    for family in FAMILIES:
        labels = _labels(text, family)
        if len(labels) < 2:
            continue
        named = [_folded(option) for option in options]
        if _HOW_MANY.search(text) and all(option.strip().isdigit() for option in named):
            return True
        if sum(1 for option in named if _combines(option, labels)) >= 2:
            return any(len(_only(option, labels)) > 1 or _COUNT.fullmatch(option) for option in named)
    return False


def _folded(text: str) -> str:
    """Replace radicals, which some questions have, by characters (⽤ → 用), and Roman numerals by single characters."""
    if not _FOLDS.search(text):  # fast path, as this is called several times for each question
        return text
    text = "".join(unicodedata.normalize("NFKC", char) if "\u2f00" <= char <= "\u2fdf" else char for char in text)
    return _NUMERAL.sub(lambda match: _ROMAN[match.group()], text)


def _labels(text: str, family: str) -> str:
    """Return the labels of a family that stand before statements in the text, in order, from the first one on."""
    if family[1] not in text:  # fast path: no list
        return ""
    pairs = zip(family, _patterns(family), strict=True)
    return "".join(label for label, _ in takewhile(lambda pair: pair[1].search(text), pairs))


@cache
def _patterns(family: str) -> tuple[re.Pattern[str], ...]:
    """Return for each label of a family the pattern of its places before a statement."""
    after = _AFTER.get(family[0], _STOP)
    return tuple(re.compile(rf"(?:^|[\s(（。；;：:，,、.?？]|[^\x00-\x7f]){label}{after}") for label in family)


def _only(option: str, labels: str) -> str:
    """Return the labels that an option consists of, "" where it has other content."""
    rest = _BETWEEN.sub("", option)
    return rest if rest and set(rest) <= set(labels) else ""


def _combines(option: str, labels: str) -> bool:
    return bool(_only(option, labels) or _COUNT.fullmatch(option) or _ALL.fullmatch(option.strip()))


class CMMLU:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="cmmlu",
        title="CMMLU",
        paper="arXiv 2306.09212",
        licence="CC BY-NC-SA 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("zh",),
        formats=("Multiple-choice",),
        size="11,582 test questions and 335 exemplars in 67 subjects",
        version="17",
        source="https://github.com/haonan-li/CMMLU",
        shots=MAX_SHOTS,
        supports=("cot", "base", "comprehension", "next-token", "likelihood", "as-published", "extraction"),
        rationale="possible",
        pass_line=0.6,
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CMMLUExam:
        """Return CMMLU with these settings; the bundled sample when `data` is None."""
        return CMMLUExam(spec, data or self.sample, templates)


BENCHMARK = CMMLU()
