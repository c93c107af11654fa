"""One published case (YAML) → a question with its rubric.

Source: the InfiBench specification, sections 1 to 7. Where the authors' grader reads something in an unintended way,
both readings are here, and the difference is noted as a defect of the case.

Blank-filling sections of published cases → a template with its accepted fillings.

Source: the InfiBench specification, sections 4 and 4.5. `content` of a blank is a text or a list. Eight published cases
write a mapping there, as keyword lists have it: the authors' grader then accepts the mapping's *key names* ("or",
"content"), which nobody answers; repaired, its texts are accepted.

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
from collections.abc import Collection, Iterator
from functools import cache
from typing import Literal

from msgspec import Struct, field

from viva.benchmarks.infibench.handlers import AFTER_BLANKS, AFTER_KEYWORDS, CUSTOM
from viva.benchmarks.infibench.reading import Place, Reading, shown
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
"""Attributes of rules that items do not have."""


class _Item(Struct):
    content: Place
    weight: float = 1.0
    neg: bool = False
    to_lower: bool = False


class _Rule(Struct):
    content: Place
    regex: bool | None = None
    to_lower: bool | None = None


def read_keywords(keywords: Place) -> tuple[tuple[Keyword, ...], bool]:
    """Return the scored items, and whether the list ends with a request for a special handler."""
    items: list[Keyword] = []
    handled = False
    for place in keywords.sequence():
        if isinstance(place.value, str):
            items.append(Keyword(rule=Literally(place.value)))
        elif "post_handler" in place.mapping():
            handled = True
        else:
            items.append(_item(place))
    return tuple(items), handled


def _item(place: Place) -> Keyword:
    item, reading = place.mapping(), place.of
    misplaced = [name for name in _OF_RULES if name in item]
    for name in misplaced:
        detail = f"{place.key}.{name} stands on the item, where only a rule has it"
        reading.quirk("attribute at the wrong level", detail)
    own = place.fields(_Item, _OF_RULES)
    content, weight = own.content, own.weight
    if isinstance(content.value, dict) and "weight" in content.value and "weight" not in item:
        deep = content.at("weight").number()
        if deep != weight:
            reading.quirk("attribute at the wrong level", f"{content.key}.weight: {deep:g} belongs one level up")
            weight = weight if reading.published else deep
    if misplaced and not reading.published:
        moved = {name: item[name] for name in ("content", *_OF_RULES) if name in item}
        content = Place(reading, moved, content.key)
    return Keyword(
        rule=_rule(content, own.to_lower),
        weight=weight,
        negative=own.neg,
        ignore_case=own.to_lower,
        fold_pattern=own.to_lower and reading.published,
    )


def _rule(place: Place, ignore_case: bool, regex: bool = False, folded: bool = False) -> Rule:
    """Return one rule with inherited flags: the item's `ignore_case` for all its rules, whether texts are patterns
    (`regex`), and whether case is folded (if repaired).
    """
    node = place.value
    if isinstance(node, str):
        return _leaf(node, place, ignore_case, regex, folded)
    if not isinstance(node, dict):
        raise place.wrong(f"a text or a mapping with content, or, and belongs here, not {shown(node)}")
    own = place.fields(_Rule, (*_OF_RULES, "weight", "neg"))
    if own.to_lower and not ignore_case and not folded:
        place.of.quirk("attribute at the wrong level", f"{place.key}.to_lower counts only on the item itself")
    inherited = (
        ignore_case,
        regex if own.regex is None else own.regex,
        folded if own.to_lower is None else own.to_lower,
    )
    if "or" in node:
        rule: Rule = AnyOf(tuple(_rule(inner, *inherited) for inner in place.at("or").sequence()))
    elif "and" in node:
        rule = AllOf(tuple(_rule(inner, *inherited) for inner in place.at("and").sequence()))
    else:
        rule = _rule(own.content, *inherited)
    return When(rule, _condition(place.at("cond"))) if "cond" in node else rule


def _leaf(text: str, place: Place, ignore_case: bool, regex: bool, folded: bool) -> Rule:
    if ignore_case and regex and _FOLDED_CLASS.search(text):
        detail = f"{place.key}: the pattern itself is put in lower case, which turns \\S into \\s"
        place.of.quirk("pattern in lower case", detail)
    if regex and (problem := compile_error(text)):
        place.of.give_up("malformed pattern", f"{place.key}: {problem}")
    if folded and not ignore_case and not place.of.published:
        return Pattern(f"(?i:{text if regex else re.escape(text)})")
    return Pattern(text) if regex else Literally(text)


def _condition(place: Place) -> str:
    """Translate `context[-1].startswith('match')` and similar conditions into Viva's (conditions.py)."""
    text = place.text()
    match = _CONDITION.fullmatch(text.strip())
    index = int(match["index"]) if match else 0
    if match is None or index < -1:
        known = "context[-1].startswith('match')"
        raise place.wrong(f"the condition {shown(text)} is Python; Viva runs none and knows only {known}")
    subject = "previous matched" if index == -1 else f"item {index + 1} matched"
    negated = bool(match["not"]) != ((match["prefix"] or match["word"]) == "unmatch")
    return f"not {subject}" if negated else subject


_DEFAULTS = Blanks(template="", targets=())


class _Section(Struct):
    template: str
    targets: list[Place]
    marker: str = field(name="blank_str", default=_DEFAULTS.marker)
    strip: str = field(name="escape", default=_DEFAULTS.strip)


class _Target(Struct):
    content: Place
    weight: float = 1.0
    to_lower: bool = False
    substr_match: bool = False


class _Filling(Struct, frozen=True):
    text: str
    regex: bool
    folded: bool


def read_blanks(place: Place) -> tuple[Blanks, bool]:
    """Return the template with its blanks, and whether a special handler of the case grades them."""
    section = place.fields(_Section, ("post_handler",))
    template, marker, targets = section.template, section.marker, section.targets
    if not marker:
        raise place.at("blank_str").wrong("it is empty: nothing marks a blank")
    if (blanks := template.count(marker)) != len(targets):
        raise place.wrong(f"the template has {blanks} blanks ({marker!r}) and there are {len(targets)} targets")
    read = Blanks(template=template, targets=tuple(map(_blank, targets)), marker=marker, strip=section.strip)
    return read, "post_handler" in place.mapping()


def _blank(place: Place) -> Blank:
    if isinstance(place.value, str):
        return Blank(accepted=(Accepted(place.value),))
    target, reading = place.fields(_Target), place.of
    content, ignore_case = target.content, target.to_lower
    if isinstance(content.value, dict):
        names = ", ".join(map(str, content.value))
        detail = f"{content.key} is a mapping: its key names ({names}) are accepted"
        reading.quirk("mapping as accepted answers", detail)
    if isinstance(content.value, dict) and reading.published:
        fillings = [_Filling(name, False, False) for name in content.mapping()]
    else:
        fillings = list(_fillings(content))
    if not reading.published and fillings and all(filling.folded for filling in fillings):
        ignore_case = True
    for filling in fillings:
        if filling.regex and (problem := compile_error(filling.text)):
            reading.give_up("malformed pattern", f"{place.key}: {problem}")
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


def _fillings(place: Place, regex: bool = False, folded: bool = False) -> Iterator[_Filling]:
    """Yield every accepted text at any depth, with inherited flags."""
    value = place.value
    if isinstance(value, str):
        yield _Filling(value, regex, folded)
    elif isinstance(value, list):
        for entry in place.sequence():
            yield from _fillings(entry, regex, folded)
    elif isinstance(value, dict):
        if "cond" in value or "and" in value:
            raise place.wrong("a blank knows no `and` and no `cond`: give the texts that are accepted")
        own = place.fields(_Rule, ("or",))
        regex = regex if own.regex is None else own.regex
        folded = folded if own.to_lower is None else own.to_lower
        yield from _fillings(place.at("or") if "or" in value else own.content, regex, folded)
    else:
        raise place.wrong(f"a text, or a list of texts, belongs here, not {shown(value)}")


SECTIONS = ("keywords", "blank_filling", "unit_test", "similarity", "customized")
METRICS = SECTIONS[:4]
_HIGH: dict[Overlap, float] = {"rouge1": 0.53, "rouge2": 0.51, "rougeL": 0.51, "rougeLsum": 0.51}
_LOW = 0.30
_PUBLISHED_ID = re.compile(r"(\d{1,3})-\d{1,3}-\d{1,9}")


class Case(Struct, frozen=True, kw_only=True):
    """A question of the set, with all that grades its answers."""

    id: str
    prompt: str
    type: str
    """Question type: code completion, code debugging, knowledge question-answering, non-code debugging."""
    language: str
    """Spelling of the data set: "python", "c++/c", ..."""
    area: str
    level: str = ""
    """Difficulty, "1" to "5"; "" if the data set does not say."""
    url: str = ""
    system: Literal["plain", "brief"] = "plain"
    """The system prompt in prompts.toml."""
    rubric: Rubric
    metrics: tuple[str, ...]
    """Its metrics, of METRICS; the six questions with a special grader count under the data set's metric."""
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
    """Return the area of a language; of an unlisted one, by the first number of the published id."""
    names = {canonical(language), language.lower()}
    for area in areas():
        if names & set(area.languages):
            return area.name
    number = _PUBLISHED_ID.fullmatch(identity)
    return next((area.name for area in areas() if number and area.number == number[1]), "other")


def read_case(case: Place, prompt: str) -> Case:
    """Return a case from its YAML mapping, worth 1 like all published ones. Oddities are noted in its reading.

    Raises DataError for what cannot be read.
    """
    reading, grading = case.of, case.at("grading")
    language = case.at("lang").text()
    sections = [name for name in SECTIONS if name in grading.mapping()]
    rubric = _rubric(grading, sections, language, prompt)
    if not sections:
        raise grading.wrong(f"nothing grades this case; it needs one of {', '.join(SECTIONS)}")
    metrics = dict.fromkeys(_metric(grading.at(name)) if name == "customized" else name for name in sections)
    if not prompt.strip():
        raise reading.wrong("prompt", "the question is empty")
    return Case(
        id=reading.case,
        prompt=prompt,
        type=case.at("type").text(),
        language=language,
        area=area_of(reading.case, language),
        system="brief" if "similarity" in sections else "plain",
        rubric=rubric,
        metrics=tuple(metrics),
        invalid_gold=reading.invalid_gold,
    )


def _metric(section: Place) -> str:
    """Return the metric under which a special grader counts."""
    metric = section.mapping().get("real_metric_type", "keywords")
    if metric not in METRICS:
        known = ", ".join(METRICS)
        raise section.at("real_metric_type").wrong(f"one of {known} belongs here, not {shown(metric)}")
    return str(metric)


class _Bounds(Struct):
    max_score: float | None = None
    min_score: float | None = None


def _rubric(grading: Place, sections: Collection[str], language: str, prompt: str) -> Rubric:
    bounds = grading.fields(_Bounds, SECTIONS)
    keywords, after_keywords = read_keywords(grading.at("keywords")) if "keywords" in sections else ((), False)
    blanks, after_blanks = read_blanks(grading.at("blank_filling")) if "blank_filling" in sections else (None, False)
    rubric = Rubric(
        keywords=keywords,
        blanks=blanks,
        tests=_tests(grading.at("unit_test"), language, prompt) if "unit_test" in sections else None,
        similarity=tuple(map(_similarity, grading.at("similarity").sequence())) if "similarity" in sections else (),
        handler=_handler(grading.of, after_keywords, after_blanks, "customized" in sections),
        max_score=bounds.max_score,
        min_score=bounds.min_score,
    )
    _check_total(rubric, grading.of)
    return rubric


def _handler(reading: Reading, after_keywords: bool, after_blanks: bool, customized: bool) -> str:
    """Return the id of a case with a special grader, else ""; give the case up where Viva has no such grader."""
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
    blanks, tests = rubric.blanks.targets if rubric.blanks else (), rubric.tests.tests if rubric.tests else ()
    total = sum(item.weight for item in rubric.keywords if not item.negative)
    total += sum(blank.weight for blank in blanks) + sum(test.weight for test in tests)
    total += sum(entry.weight for entry in rubric.similarity)
    if total < rubric.max_score - 1e-9:
        reading.note("unreachable total", f"max_score is {rubric.max_score:g}, and all items together give {total:g}")


class _Tests(Struct):
    tests: list[Place]
    lang: str | None = None


class _Test(Struct):
    content: Place
    path: Place | None = None
    prefix: str = ""
    prefix_path: Place | None = None
    weight: float = 1.0
    timeout: float = 0.0
    only_longest: bool = False


class _Similarity(Struct):
    metric: Place
    references: list[Place]
    min_score: float = _LOW
    max_score: float | None = None
    weight: float = 1.0


def _tests(place: Place, language: str, prompt: str) -> UnitTests:
    section, reading = place.fields(_Tests), place.of
    language = canonical(language if section.lang is None else section.lang)
    tests = tuple(_test(test, language, prompt) for test in section.tests)
    passed = [weak_tests(reading.published).get(key_of_test(test)) for test in tests]
    if all(passed):
        reading.note(PROVES_NOTHING, f"a program passes that {passed[0]}")
    return UnitTests(language=language, tests=tests)


@cache
def weak_tests(published: bool) -> dict[str, str]:
    """Return key of a test → what a program does that passes it without solving anything. Some only as published."""
    rows = csv.DictReader(shipped_text(__file__, "weak_tests.csv").splitlines())
    return {row["test"]: row["program"] for row in rows if published or not row["only"]}


def key_of_test(test: Test) -> str:
    """Return 24 digits of the SHA-256 of everything that a test joins to a program."""
    return hashlib.sha256("\n".join((test.before, test.prefix, test.code)).encode()).hexdigest()[:24]


def _test(place: Place, language: str, prompt: str) -> Test:
    key, reading = place.key, place.of
    given = Place(reading, {"content": place.value}, key) if isinstance(place.value, str) else place
    node = given.fields(_Test, ("cleanup_path",))
    code = node.content.text() if node.path is None else node.path.file()
    before = "" if node.prefix_path is None else node.prefix_path.file()
    if node.prefix:
        reading.quirk("lost prefix", f"{key}.prefix is lost as soon as an answer has fences")
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
        raise place.at("timeout").wrong(f"{node.timeout:g} seconds; it may be up to 600")
    return Test(
        code=code if reading.published else repaired,
        prefix=node.prefix,
        before=before,
        weight=node.weight,
        seconds=node.timeout or None,
        longest_only=node.only_longest,
    )


def _similarity(place: Place) -> Similarity:
    node = place.fields(_Similarity)
    metric = next((name for name in _HIGH if name == node.metric.value), None)
    if metric is None:
        raise node.metric.wrong(f"one of {', '.join(_HIGH)} belongs here, not {shown(node.metric.value)}")
    low, high = node.min_score, _HIGH[metric] if node.max_score is None else node.max_score
    if not low < high:
        raise place.wrong(f"min_score {low:g} must be below max_score {high:g}")
    return Similarity(
        metric=metric,
        references=tuple(
            reference.value if isinstance(reference.value, str) else reference.at("path").file()
            for reference in node.references
        ),
        low=low,
        high=high,
        weight=node.weight,
    )
