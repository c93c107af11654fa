"""One published case (YAML) → a question with its rubric.

Source: the InfiBench specification, sections 1 to 7. Where the authors' grader reads something as nobody meant it, both
readings are here, and the difference is noted as a defect of the case.

Blank-filling sections of published cases → a template with its accepted fillings.

Source: the InfiBench specification, sections 4 and 4.5. `content` of a blank is a text or a list. Eight published cases
write a mapping there, as keyword lists have it: the authors' grader then accepts the mapping's *key names* ("or",
"content"), which nobody answers; repaired, it accepts what the mapping says.

Keyword lists of published cases → rules.

Source: the InfiBench specification, section 3. A list item is a text, or a mapping with `content` (a rule), `weight`,
`to_lower`, `neg`. A rule is a text, or a mapping with `or` (any), `and` (all) or `content` (a rule), and with `regex`
(inherited downwards) and `cond`. The authors' grader looks at each attribute on one level only, and overlooks it on the
other; unless its reading is asked for, attributes count where they were written.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct, field

from viva.benchmarks.infibench.handlers import AFTER_BLANKS, AFTER_KEYWORDS, CUSTOM
from viva.benchmarks.infibench.reading import Reading, shown
from viva.benchmarks.infibench.repairs import as_meant, without_redefinitions
from viva.files import shipped_table, shipped_text
from viva.scorers.rubric.code import canonical
from viva.scorers.rubric.patterns import compile_error
from viva.scorers.rubric.rubrics import (
    Accepted,
    AllOf,
    AnyOf,
    Blank,
    Blanks,
    Keyword,
    Literally,
    Overlap,
    Pattern,
    Rubric,
    Rule,
    Similarity,
    Test,
    UnitTests,
    When,
)
from viva.scorers.rubric.trivial import PROVES_NOTHING

_CONDITION = re.compile(
    r"(?P<not>not\s+)?context\[\s*(?P<index>-?\d{1,4})\s*\]\s*"
    r"(?:\.startswith\(\s*(?P<start>['\"])(?P<prefix>match|unmatch)(?P=start)\s*\)|==\s*(?P<quote>['\"])(?P<word>match|unmatch)(?P=quote))"
)
_FOLDED_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Z]")
_OF_RULES = ("regex", "cond", "or", "and")
"""What a rule says, and an item has no say in."""


class _Item(Struct):
    content: object = None
    weight: float = 1.0
    neg: bool = False
    to_lower: bool = False


class _Rule(Struct):
    content: object = None
    regex: bool | None = None
    to_lower: bool | None = None


def read_keywords(value: object, reading: Reading) -> tuple[tuple[Keyword, ...], bool]:
    """Return the scored items, and whether the list asks for a handler of its own at its end."""
    items: list[Keyword] = []
    handled = False
    for number, node in enumerate(reading.sequence(value, "grading.keywords")):
        key = f"grading.keywords[{number}]"
        if isinstance(node, str):
            items.append(Keyword(rule=Literally(node)))
        elif "post_handler" in (item := reading.mapping(node, key)):
            handled = True
        else:
            items.append(_item(item, key, reading))
    return tuple(items), handled


def _item(item: dict[str, object], key: str, reading: Reading) -> Keyword:
    misplaced = [name for name in _OF_RULES if name in item]
    for name in misplaced:
        reading.quirk("attribute at the wrong level", f"{key}.{name} stands on the item, where only a rule has it")
    own = reading.fields(item, _Item, key, _OF_RULES)
    content, weight = own.content, own.weight
    if isinstance(content, dict) and "weight" in content and "weight" not in item:
        deep = reading.number(content["weight"], f"{key}.content.weight")
        if deep != weight:
            reading.quirk("attribute at the wrong level", f"{key}.content.weight: {deep:g} belongs one level up")
            weight = weight if reading.published else deep
    if misplaced and not reading.published:
        content = {name: item[name] for name in ("content", *_OF_RULES) if name in item}
    return Keyword(
        rule=_Rules(reading, own.to_lower).read(content, f"{key}.content", regex=False, folded=False),
        weight=weight,
        negative=own.neg,
        ignore_case=own.to_lower,
        fold_pattern=own.to_lower and reading.published,
    )


class _Rules:
    """The rules of one item. `ignore_case` is the item's own flag, which covers all of them."""

    def __init__(self, reading: Reading, ignore_case: bool) -> None:
        self._reading = reading
        self._ignore_case = ignore_case

    def read(self, node: object, key: str, *, regex: bool, folded: bool) -> Rule:
        """Return one rule with what it inherits: whether its texts are patterns, and whether case is ignored (if
        repaired).
        """
        if isinstance(node, str):
            return self._leaf(node, key, regex, folded)
        if not isinstance(node, dict):
            raise self._reading.wrong(key, f"a text or a mapping with content, or, and belongs here, not {shown(node)}")
        own = self._reading.fields(node, _Rule, key, (*_OF_RULES, "weight", "neg"))
        regex = regex if own.regex is None else own.regex
        if own.to_lower and not self._ignore_case and not folded:
            self._reading.quirk("attribute at the wrong level", f"{key}.to_lower counts only on the item itself")
        folded = folded if own.to_lower is None else own.to_lower
        if "or" in node:
            rule: Rule = AnyOf(self._children(node["or"], f"{key}.or", regex=regex, folded=folded))
        elif "and" in node:
            rule = AllOf(self._children(node["and"], f"{key}.and", regex=regex, folded=folded))
        else:
            rule = self.read(own.content, f"{key}.content", regex=regex, folded=folded)
        return When(rule, self._condition(node["cond"], f"{key}.cond")) if "cond" in node else rule

    def _children(self, value: object, key: str, *, regex: bool, folded: bool) -> tuple[Rule, ...]:
        nodes = self._reading.sequence(value, key)
        return tuple(self.read(node, f"{key}[{n}]", regex=regex, folded=folded) for n, node in enumerate(nodes))

    def _leaf(self, text: str, key: str, regex: bool, folded: bool) -> Rule:
        if self._ignore_case and regex and _FOLDED_CLASS.search(text):
            detail = f"{key}: the pattern itself is put in lower case, which turns \\S into \\s"
            self._reading.quirk("pattern in lower case", detail)
        if regex and (problem := compile_error(text)):
            self._reading.give_up("malformed pattern", f"{key}: {problem}")
        if folded and not self._ignore_case and not self._reading.published:
            return Pattern(f"(?i:{text if regex else re.escape(text)})")
        return Pattern(text) if regex else Literally(text)

    def _condition(self, value: object, key: str) -> str:
        """Return `context[-1].startswith('match')` and its like, in Viva's words (conditions.py)."""
        text = self._reading.text(value, key)
        found = _CONDITION.fullmatch(text.strip())
        index = int(found["index"]) if found else 0
        if found is None or index < -1:
            known = "context[-1].startswith('match')"
            raise self._reading.wrong(
                key, f"the condition {shown(text)} is Python; Viva runs none and knows only {known}"
            )
        subject = "previous matched" if index == -1 else f"item {index + 1} matched"
        negated = bool(found["not"]) != ((found["prefix"] or found["word"]) == "unmatch")
        return f"not {subject}" if negated else subject


_DEFAULTS = Blanks(template="", targets=())


class _Section(Struct):
    template: str
    targets: list[object]
    marker: str = field(name="blank_str", default=_DEFAULTS.marker)
    strip: str = field(name="escape", default=_DEFAULTS.strip)


class _Target(Struct):
    content: object = None
    weight: float = 1.0
    to_lower: bool = False
    substr_match: bool = False


class _Filling(Struct, frozen=True):
    text: str
    regex: bool
    folded: bool


def read_blanks(value: object, reading: Reading) -> tuple[Blanks, bool]:
    """Return the template with its blanks, and whether a handler of the case's own takes over."""
    key = "grading.blank_filling"
    section = reading.fields(value, _Section, key, ("post_handler",))
    template, marker, targets = section.template, section.marker, section.targets
    if not marker:
        raise reading.wrong(f"{key}.blank_str", "it is empty: nothing marks a blank")
    if (blanks := template.count(marker)) != len(targets):
        raise reading.wrong(key, f"the template has {blanks} blanks ({marker!r}) and there are {len(targets)} targets")
    read = tuple(_blank(target, f"{key}.targets[{n}]", reading) for n, target in enumerate(targets))
    return Blanks(template=template, targets=read, marker=marker, strip=section.strip), "post_handler" in value


def _blank(value: object, key: str, reading: Reading) -> Blank:
    if isinstance(value, str):
        return Blank(accepted=(Accepted(value),))
    target = reading.fields(value, _Target, key)
    content, ignore_case = target.content, target.to_lower
    if isinstance(content, dict):
        names = ", ".join(map(str, content))
        reading.quirk(
            "mapping as accepted answers", f"{key}.content is a mapping: its key names ({names}) are accepted"
        )
    if isinstance(content, dict) and reading.published:
        fillings = [_Filling(name, False, False) for name in reading.mapping(content, f"{key}.content")]
    else:
        fillings = list(_fillings(content, f"{key}.content", reading))
    if not reading.published and fillings and all(filling.folded for filling in fillings):
        ignore_case = True
    for filling in fillings:
        if filling.regex and (problem := compile_error(filling.text)):
            reading.give_up("malformed pattern", f"{key}: {problem}")
    honour = not reading.published and not ignore_case
    return Blank(
        accepted=tuple(_accepted(filling, honour) for filling in fillings),
        weight=target.weight,
        ignore_case=ignore_case,
        substring=target.substr_match,
        fold_pattern=ignore_case and reading.published,
    )


def _accepted(filling: _Filling, honour_case: bool) -> Accepted:
    if filling.folded and honour_case:
        return Accepted(f"(?i:{filling.text if filling.regex else re.escape(filling.text)})", regex=True)
    return Accepted(filling.text, filling.regex)


def _fillings(
    value: object, key: str, reading: Reading, *, regex: bool = False, folded: bool = False
) -> Iterator[_Filling]:
    """Yield every text that is accepted, however deep it stands, with what it inherits."""
    if isinstance(value, str):
        yield _Filling(value, regex, folded)
    elif isinstance(value, list):
        for number, entry in enumerate(reading.sequence(value, key)):
            yield from _fillings(entry, f"{key}[{number}]", reading, regex=regex, folded=folded)
    elif isinstance(value, dict):
        if "cond" in value or "and" in value:
            raise reading.wrong(key, "a blank knows no `and` and no `cond`: give the texts that are accepted")
        own = reading.fields(value, _Rule, key, ("or",))
        regex = regex if own.regex is None else own.regex
        folded = folded if own.to_lower is None else own.to_lower
        name = "or" if "or" in value else "content"
        yield from _fillings(value.get(name), f"{key}.{name}", reading, regex=regex, folded=folded)
    else:
        raise reading.wrong(key, f"a text, or a list of texts, belongs here, not {shown(value)}")


SECTIONS = ("keywords", "blank_filling", "unit_test", "similarity", "customized")
METRICS = SECTIONS[:4]
_HIGH: dict[Overlap, float] = {"rouge1": 0.53, "rouge2": 0.51, "rougeL": 0.51, "rougeLsum": 0.51}
_LOW = 0.30
_PUBLISHED_ID = re.compile(r"(\d{1,3})-\d{1,3}-\d{1,9}")

Fetch = Callable[[str, str], str]
"""A path as the case gives it, and the key it stands under → the file's text. Raises DataError."""


class Case(Struct, frozen=True, kw_only=True):
    """A question of the set, with all that grades its answers."""

    id: str
    prompt: str
    type: str
    """Question type: code completion, code debugging, knowledge question-answering, non-code debugging."""
    language: str
    """As the data set writes it: "python", "c++/c", ..."""
    area: str
    level: str = ""
    """Difficulty, "1" to "5"; "" if the data set does not say."""
    url: str = ""
    system: Literal["plain", "brief"] = "plain"
    """Which system prompt it is asked with (prompts.toml)."""
    rubric: Rubric
    metrics: tuple[str, ...]
    """What grades it, of METRICS; the six questions with a rule of their own count as the metric the data set says."""
    invalid_gold: str = ""
    """Why no answer to it can be graded; "" if it can."""


class Area(Struct, frozen=True):
    """One of the paper's five areas."""

    name: str
    number: str
    languages: tuple[str, ...]


@cache
def areas() -> tuple[Area, ...]:
    """Return the paper's areas in its order."""
    return shipped_table(__file__, "areas.toml", dict[str, tuple[Area, ...]])["areas"]


def area_of(identity: str, language: str) -> str:
    """Return the area of a language; of one that the paper does not list, by the first number of the published id."""
    names = {canonical(language), language.lower()}
    for area in areas():
        if names & set(area.languages):
            return area.name
    number = _PUBLISHED_ID.fullmatch(identity)
    return next((area.name for area in areas() if number and area.number == number[1]), "other")


def read_case(node: dict[str, object], prompt: str, fetch: Fetch, reading: Reading) -> Case:
    """Return a case from its YAML mapping, worth 1 as all published ones are. What is odd goes to `reading`.

    Raises DataError for what cannot be read.
    """
    language = reading.text(node.get("lang"), "lang")
    grading = reading.mapping(node.get("grading"), "grading")
    rubric = _rubric(grading, language, prompt, fetch, reading)
    sections = [name for name in SECTIONS if name in grading]
    if not sections:
        raise reading.wrong("grading", f"nothing grades this case; it needs one of {', '.join(SECTIONS)}")
    metrics = dict.fromkeys(_metric(name, grading, reading) for name in sections)
    if not prompt.strip():
        raise reading.wrong("prompt", "the question is empty")
    return Case(
        id=reading.case,
        prompt=prompt,
        type=reading.text(node.get("type"), "type"),
        language=language,
        area=area_of(reading.case, language),
        system="brief" if "similarity" in grading else "plain",
        rubric=rubric,
        metrics=tuple(metrics),
        invalid_gold=reading.invalid_gold,
    )


def _metric(name: str, grading: Mapping[str, object], reading: Reading) -> str:
    """Return the metric that a section counts as; a rule of the case's own says as which."""
    if name != "customized":
        return name
    section = reading.mapping(grading[name], "grading.customized")
    metric = section.get("real_metric_type", "keywords")
    if metric not in METRICS:
        known = ", ".join(METRICS)
        raise reading.wrong("grading.customized.real_metric_type", f"one of {known} belongs here, not {shown(metric)}")
    return str(metric)


class _Bounds(Struct):
    max_score: float | None = None
    min_score: float | None = None


def _rubric(grading: dict[str, object], language: str, prompt: str, fetch: Fetch, reading: Reading) -> Rubric:
    bounds = reading.fields(grading, _Bounds, "grading", SECTIONS)
    keywords, after_keywords = read_keywords(grading["keywords"], reading) if "keywords" in grading else ((), False)
    blanks, after_blanks = (
        read_blanks(grading["blank_filling"], reading) if "blank_filling" in grading else (None, False)
    )
    rubric = Rubric(
        keywords=keywords,
        blanks=blanks,
        tests=_tests(grading["unit_test"], language, prompt, fetch, reading) if "unit_test" in grading else None,
        similarity=_similarity(grading["similarity"], fetch, reading) if "similarity" in grading else (),
        handler=_handler(reading, after_keywords, after_blanks, "customized" in grading),
        max_score=bounds.max_score,
        min_score=bounds.min_score,
    )
    _check_total(rubric, reading)
    return rubric


def _handler(reading: Reading, after_keywords: bool, after_blanks: bool, customized: bool) -> str:
    """Return the case's id, if it has a rule of its own that Viva knows; unsound, if it has one that Viva does not
    know.
    """
    wanted = ((after_keywords, AFTER_KEYWORDS), (after_blanks, AFTER_BLANKS), (customized, CUSTOM))
    for asked, handlers in wanted:
        if asked and reading.case not in handlers:
            detail = (
                "its grading needs a Python function that the data set brings, and Viva runs no code found in a data "
                "file; it has functions of its own for the published questions that need one, of which this is none"
            )
            reading.give_up("unknown handler", detail)
    return reading.case if after_keywords or after_blanks or customized else ""


def _check_total(rubric: Rubric, reading: Reading) -> None:
    """Note a maximum that the items cannot add up to: nobody would ever get full marks."""
    if rubric.handler or rubric.max_score is None:
        return
    weights = [item.weight for item in rubric.keywords if not item.negative]
    weights += [blank.weight for blank in (rubric.blanks.targets if rubric.blanks else ())]
    weights += [test.weight for test in (rubric.tests.tests if rubric.tests else ())]
    weights += [entry.weight for entry in rubric.similarity]
    if (total := sum(weights)) < rubric.max_score - 1e-9:
        reading.note("unreachable total", f"max_score is {rubric.max_score:g}, and all items together give {total:g}")


class _Tests(Struct):
    tests: list[object]
    lang: str | None = None


class _Test(Struct):
    content: object = None
    path: str | None = None
    prefix: str = ""
    prefix_path: str | None = None
    weight: float = 1.0
    timeout: float = 0.0
    only_longest: bool = False


class _Similarity(Struct):
    references: list[object]
    metric: object = None
    min_score: float = _LOW
    max_score: float | None = None
    weight: float = 1.0


def _tests(value: object, language: str, prompt: str, fetch: Fetch, reading: Reading) -> UnitTests:
    key = "grading.unit_test"
    section = reading.fields(value, _Tests, key)
    language = canonical(language if section.lang is None else section.lang)
    nodes = enumerate(section.tests)
    tests = tuple(_test(node, f"{key}.tests[{n}]", language, prompt, fetch, reading) for n, node in nodes)
    passed = [weak_tests(reading.published).get(key_of_test(test)) for test in tests]
    if all(passed):
        reading.note(PROVES_NOTHING, f"a program passes that {passed[0]}")
    return UnitTests(language=language, tests=tests)


@cache
def weak_tests(published: bool) -> dict[str, str]:
    """Tests (by their keys) that a program passes that solves nothing → what it does. Some only as published."""
    rows = csv.DictReader(shipped_text(__file__, "weak_tests.csv").splitlines())
    return {row["test"]: row["program"] for row in rows if published or not row["only"]}


def key_of_test(test: Test) -> str:
    """Return the first 24 digits of the SHA-256 of all that a program is joined with."""
    return hashlib.sha256("\n".join((test.before, test.prefix, test.code)).encode()).hexdigest()[:24]


def _test(value: object, key: str, language: str, prompt: str, fetch: Fetch, reading: Reading) -> Test:
    given = {"content": value} if isinstance(value, str) else value
    node = reading.fields(given, _Test, key, ("cleanup_path",))
    code = reading.text(node.content, f"{key}.content") if node.path is None else fetch(node.path, f"{key}.path")
    before = "" if node.prefix_path is None else fetch(node.prefix_path, f"{key}.prefix_path")
    if node.prefix:
        detail = f"{key}.prefix is lost as soon as an answer has fences"
        reading.quirk("lost prefix", detail)
    repaired, names = without_redefinitions(code, language, prompt)
    if names:
        detail = f"{key} defines {', '.join(names)} itself, which the answer should: any answer passes"
        reading.quirk("test redefines the answer", detail)
    repaired, defects = as_meant(repaired, language)
    for kind, wrong in defects.items():
        reading.quirk(kind, f"{key}: {wrong}")
    if not code.strip():
        reading.note("empty test", f"{key} is empty: every answer passes that runs to its end")
    if not 0 <= node.timeout <= 600:
        raise reading.wrong(f"{key}.timeout", f"{node.timeout:g} seconds; it may be up to 600")
    return Test(
        code=code if reading.published else repaired,
        prefix=node.prefix,
        before=before,
        weight=node.weight,
        seconds=node.timeout or None,
        longest_only=node.only_longest,
    )


def _similarity(value: object, fetch: Fetch, reading: Reading) -> tuple[Similarity, ...]:
    entries = []
    for number, entry in enumerate(reading.sequence(value, "grading.similarity")):
        key = f"grading.similarity[{number}]"
        node = reading.fields(entry, _Similarity, key)
        metric = next((name for name in _HIGH if name == node.metric), None)
        if metric is None:
            raise reading.wrong(f"{key}.metric", f"one of {', '.join(_HIGH)} belongs here, not {shown(node.metric)}")
        low, high = node.min_score, _HIGH[metric] if node.max_score is None else node.max_score
        if not low < high:
            raise reading.wrong(key, f"min_score {low:g} must be below max_score {high:g}")
        places = enumerate(node.references)
        texts = tuple(_reference(item, f"{key}.references[{n}]", fetch, reading) for n, item in places)
        entries.append(Similarity(metric=metric, references=texts, low=low, high=high, weight=node.weight))
    return tuple(entries)


def _reference(value: object, key: str, fetch: Fetch, reading: Reading) -> str:
    if isinstance(value, str):
        return value
    return fetch(reading.text(reading.mapping(value, key).get("path"), f"{key}.path"), f"{key}.path")
