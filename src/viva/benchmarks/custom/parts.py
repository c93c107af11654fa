"""Sections of a question file other than keywords and blanks (tests, similarity, choice, truth, judge) → structs."""

from __future__ import annotations

import base64
import re
import stat
from pathlib import Path
from typing import get_args

from msgspec import UNSET

from viva.benchmarks.custom.positions import Listing, Mapping, Scalar
from viva.benchmarks.custom.strictfields import FLAGS, Field, Section, shown
from viva.scorers.rubric.code import canonical, languages_of_tests
from viva.scorers.rubric.rubrics import ChoicePart, JudgePart, Overlap, Similarity, Test, TruthPart, UnitTests
from viva.types import VALUE_TAGS, Call

MOST_CALLS = 1_000
"""Calls in one test."""
_NAME = re.compile(r"[^\W\d][\w$]*[?!]?(?:\.[^\W\d][\w$]*[?!]?)*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".nan": "nan", ".inf": "inf", "-.inf": "-inf"}
_UNCLEAR = re.compile(r"(?i:yes|no|on|off|y|n)|[-+]?[0-9][0-9_.]*|0[xob][0-9a-fA-F]+")
"""Values on which YAML parsers disagree."""


def read_calls(section: Section) -> tuple[Call, ...]:
    """Return the calls of one test."""
    items = section.items("calls", "every call", "no call in it: any program that runs would pass")
    if len(items) > MOST_CALLS:
        section["calls"].error(f"{len(items):,} calls; a test has at most {MOST_CALLS:,}")
    calls = tuple(map(_call, items))
    if calls and all(call.returns is UNSET and not call.raises for call in calls):
        section["calls"].error("none says what it `returns` or `raises`: any program that runs would pass")
    return calls


def _call(field: Field) -> Call:
    section = Section(field, "call")
    name = section.text("call")
    if name and (len(name) > 200 or not _NAME.fullmatch(name)):
        section["call"].error(f"{shown(name)}: the name of a function, or `Class.method`; arguments belong into `args`")
    if "returns" in section and "raises" in section:
        section["raises"].error("`returns` and `raises` beside each other: it does one of them")
    returns = to_value(section["returns"]) if "returns" in section else UNSET
    if "within" in section and "returns" not in section:
        section["within"].error("says how far numbers may be off, and needs `returns`")
    raises: str | bool = ""
    if "raises" in section:
        written = section["raises"].node
        if isinstance(written, Scalar) and not written.quoted and written.value in FLAGS:
            raises = section.flag("raises")
            if not raises:
                section["raises"].error("true, or the name of an exception; leave it out where there is none")
        else:
            raises = section.text("raises")
            if raises and not re.fullmatch(r"\w+", raises):
                section["raises"].error(f"{shown(raises)}: the bare name of an exception's class, or true for any")
    return Call(
        call=name,
        args=tuple(map(to_value, section.items("args", "every argument"))),
        returns=returns,
        raises=raises,
        within=section.number("within", 0.0),
    )


def to_value(field: Field) -> object:
    """Return a value in its written form, with the tags of `VALUE_TAGS`."""
    node = field.node
    if isinstance(node, Listing):
        return [to_value(item) for item in field.items("every value")]
    if isinstance(node, Scalar):
        return _scalar(field, node)
    value = {key.value: to_value(field.at(inner, shown(key.value))) for key, inner in node.entries}
    if len(value) < len(node.entries):
        field.error("a key stands there twice")
    tags = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if tags and (problem := _wrong(tags[0], value)):
        field.error(problem)
        return {}
    return value


def _wrong(tag: str, value: dict[str, object]) -> str:
    """Return what is wrong with a tagged value; "" if nothing is."""
    inner = value[tag]
    if len(value) > 1 or tag not in VALUE_TAGS:
        return f"{shown(tag)} is no tag ({', '.join(VALUE_TAGS)}); a key that begins with $ is written with two"
    if tag == "$float":
        return "" if inner in _SPECIAL.values() else "a $float is nan, inf or -inf"
    if tag == "$bytes":
        try:
            base64.b64decode(str(inner), validate=True)
        except ValueError:
            return "$bytes are written in base64"
        return ""
    if not isinstance(inner, list):
        return f"{tag} has a list"
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in inner)
    return "" if tag != "$map" or pairs else "a $map has a list of pairs, each a key and a value"


def _scalar(field: Field, node: Scalar) -> object:  # noqa: PLR0911  a list of kinds
    text = node.value
    if node.null:
        return None
    if node.quoted or node.block:
        return text
    if text in FLAGS:
        return FLAGS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _SPECIAL:
        return {"$float": _SPECIAL[text]}
    if _NUMBER.fullmatch(text) and abs(number := float(text)) != float("inf"):
        return number
    if _UNCLEAR.fullmatch(text):
        field.error(f"{shown(text)}: a text needs quotes, a truth value is true or false")
    return text


MAX_FILE = 1_000_000
"""Bytes of a file that a question file names."""
MAX_REFERENCE = 20_000
"""Characters of a reference text: comparing costs its length times the answer's."""
MAX_SECONDS = 600.0
"""The longest that one test may take, compiling included."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_METRICS: tuple[str, ...] = get_args(Overlap)
_HIGH = {"rouge1": 0.53}
_USUAL_HIGH = 0.51
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. +-]{0,99}")


class Folder:
    """The folder of a question file. Nothing outside it is read, whatever the file says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self.read: dict[str, Path] = {}
        """Files that were read, by their names in the question file."""

    def text(self, field: Field) -> str:
        """Return the text of the file that a field names; "" (and an error) where there is none."""
        name = field.text()
        if not field.is_text:
            return ""
        try:
            return self._text(name)
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
            field.error(f"cannot use the file {shown(name)}: {reason}")
            return ""

    def _text(self, name: str) -> str:
        parts = re.split(r"[/\\]", name)
        if not name or "\0" in name or Path(name).is_absolute() or ".." in parts or ":" in parts[0]:
            raise ValueError("a path goes from the question file's folder downwards, without `..`")
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise ValueError("it leads out of the question file's folder")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is not a plain file")
        if about.st_size > MAX_FILE:
            raise ValueError(f"{about.st_size:,} bytes; at most {MAX_FILE:,}")
        try:
            content = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise ValueError(f"it is not UTF-8 (byte {problem.start + 1:,})") from None
        self.read[name] = path
        return content.replace("\r\n", "\n").replace("\r", "\n")


def read_tests(field: Field, folder: Folder) -> UnitTests:
    """Return the unit tests of the answer's code."""
    section = Section(field, "tests")
    if "calls" not in section:
        section.need("cases", "a list of tests (or `calls`, one test that calls functions)")
    language = canonical(section.text("language"))
    if language and language not in languages_of_tests():
        section["language"].error(
            f"tests cannot be in {shown(language)}; they can be in {', '.join(languages_of_tests())}"
        )
    cases = tuple(_case(item, folder) for item in section.items("cases", "every test", "no test in it"))
    if "calls" in section:
        cases += (Test(code="", calls=read_calls(section)),)
    return UnitTests(
        language=language, tests=cases, files=_files(section["files"], folder) if "files" in section else ()
    )


def _case(field: Field, folder: Folder) -> Test:
    if not isinstance(field.node, Mapping):
        code = field.text()
        if field.is_text and not code.strip():
            field.error("an empty test: any program that runs would pass")
        return Test(code=code)
    section = Section(field, "case")
    code = section.text("code")
    calls: tuple[Call, ...] = ()
    if "calls" in section:
        calls = read_calls(section)
        for key in ("code", "file"):
            if key in section:
                section[key].error(f"`{key}` and `calls` beside each other: a test is one of them")
    elif "code" in section and "file" in section:
        section["file"].error("`code` and `file` beside each other: the test is in one of them")
    elif "file" in section:
        code = folder.text(section["file"])
    else:
        section.need("code", "the test itself (or `file`, the name of a file that holds it, or `calls`)")
    if "code" in section and isinstance(section["code"].node, Scalar) and not code.strip():
        section["code"].error("an empty test: any program that runs would pass")
    seconds = section.number("seconds", 0.0, least=0.1, most=MAX_SECONDS)
    return Test(
        code=code,
        calls=calls,
        before=section.text("before"),
        weight=section.weight(),
        seconds=seconds or None,
        longest_only=section.flag("longest_block"),
    )


def _files(field: Field, folder: Folder) -> tuple[tuple[str, str], ...]:
    if not isinstance(field.node, Mapping):
        field.error("expected a mapping of file names to what is in the files")
        return ()
    contents: dict[str, str] = {}
    for key, value in field.node.entries:
        name, inside = field.at(key, shown(key.value)), field.at(value, shown(key.value))
        if key.value in contents:
            name.error("stands here already")
        if not _FILE_NAME.fullmatch(key.value) or key.value.endswith((" ", ".")):
            name.error("not a plain file name: letters, digits, `_`, `-`, `+`, `.`; no folders")
        if isinstance(value, Mapping):
            named = Section(inside, "content")
            contents[key.value] = folder.text(named["file"]) if "file" in named else ""
        else:
            empty = isinstance(value, Scalar) and not value.quoted and value.null
            contents[key.value] = "" if empty else inside.text()
    return tuple(contents.items())


def read_similarity(field: Field) -> Similarity:
    """Return one comparison with reference texts."""
    section = Section(field, "similarity")
    section.need("metric", f"one of {', '.join(_METRICS)}")
    section.need("references", "a list of texts")
    written = section.text("metric", _METRICS[2])
    metric: Overlap = "rougeL"
    if written in _METRICS:
        metric = written  # type: ignore[assignment]  # it is one of them
    elif "metric" in section and written:
        section["metric"].error(f"{shown(written)} is no metric: {', '.join(_METRICS)}")
    references: list[str] = []
    for item in section.items("references", "every reference", "no reference in it"):
        references.append(item.text())
        if len(references[-1]) > MAX_REFERENCE:
            item.error(f"{len(references[-1]):,} characters; a reference has at most {MAX_REFERENCE:,}")
        elif references[-1] and not re.search("[A-Za-z0-9]", references[-1]):
            item.error("ROUGE compares runs of a-z and 0-9, and there is none in it: nothing can be alike")
    low = section.number("low", 0.30, most=1.0)
    high = section.number("high", _HIGH.get(metric, _USUAL_HIGH), most=1.0)
    if low >= high:
        section["high" if "high" in section else "low"].error(f"`low` ({low:g}) must be less than `high` ({high:g})")
    return Similarity(metric=metric, references=tuple(references), low=low, high=high, weight=section.weight())


def read_choice(field: Field) -> ChoicePart:
    """Return options with the letter of the right one."""
    section = Section(field, "choice")
    options = tuple(item.text() for item in section.items("options", "every option"))
    answer = section.text("answer", "A")
    letters = LETTERS[: len(options)]
    if "options" in section and isinstance(section["options"].node, Listing):
        _check_options(section["options"], options)
        if "answer" in section and answer and (answer not in letters or len(answer) != 1):
            section["answer"].error(_not_an_option(answer, options, letters))
    return ChoicePart(options=options, answer=answer, weight=section.weight())


def _check_options(field: Field, options: tuple[str, ...]) -> None:
    if len(options) < 2:
        field.error(f"{len(options)} options: at least two are needed")
    if len(options) > len(LETTERS):
        field.error(f"{len(options)} options: there are {len(LETTERS)} letters")
        return
    written = [" ".join(option.split()) for option in options]  # case counts: Y^l and Y^L are two
    for index, option in enumerate(written):
        if option in written[:index]:
            field.error(f"options {written.index(option) + 1} and {index + 1} read alike")


def _not_an_option(answer: str, options: tuple[str, ...], letters: str) -> str:
    if answer in options:
        return f"the answer is a letter: {LETTERS[options.index(answer)]} for {shown(answer)}"
    if len(answer) == 1 and answer.upper() in letters:
        return f"the answer is a capital letter: {answer.upper()}"
    span = f"A to {letters[-1]}" if len(letters) > 1 else "a letter"
    return f"{shown(answer)} is none of the options; the answer is their letter ({span})"


def read_truth(field: Field) -> TruthPart:
    """Return whether a statement is true, for grading."""
    section = Section(field, "truth")
    return TruthPart(answer=section.flag("answer"), weight=section.weight())


def read_judge(field: Field) -> JudgePart:
    """Return the reference and instructions for a judge model."""
    section = Section(field, "judge")
    reference = section.text("reference")
    if "reference" in section and section["reference"].is_text and not reference.strip():
        section["reference"].error("an empty reference: there is nothing to compare with")
    return JudgePart(reference=reference, instructions=section.text("instructions"), weight=section.weight())
