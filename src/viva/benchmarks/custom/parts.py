"""What a question file says besides words: unit tests, similarity, choice, truth, judge → the rubric's structs."""

from __future__ import annotations

import base64
import re
import stat
from collections.abc import Collection
from pathlib import Path
from typing import get_args

from msgspec import UNSET, UnsetType

from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar
from viva.benchmarks.custom.strictfields import FLAGS, Notes, Section, shown, to_text
from viva.scorers.rubric.code import canonical
from viva.scorers.rubric.rubrics import ChoicePart, JudgePart, Overlap, Similarity, Test, TruthPart, UnitTests
from viva.types import VALUE_TAGS, Call

MOST_CALLS = 1_000
"""Calls in one test."""
_NAME = re.compile(r"[^\W\d][\w$]*[?!]?(?:\.[^\W\d][\w$]*[?!]?)*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".nan": "nan", ".inf": "inf", "-.inf": "-inf"}
_UNCLEAR = re.compile(r"(?i:yes|no|on|off|y|n)|[-+]?[0-9][0-9_.]*|0[xob][0-9a-fA-F]+")
"""What YAML's readers disagree about."""


def read_calls(section: Section) -> tuple[Call, ...]:
    """Return the calls of one test."""
    items = section.items("calls", "every call", "no call in it: any program that runs would pass")
    if len(items) > MOST_CALLS:
        section.error("calls", f"{len(items):,} calls; a test has at most {MOST_CALLS:,}")
    calls = tuple(_call(section.notes, node, where) for node, where in items)
    if calls and all(call.returns is UNSET and not call.raises for call in calls):
        section.error("calls", "none says what it `returns` or `raises`: any program that runs would pass")
    return calls


def _call(notes: Notes, node: Node, where: str) -> Call:
    section = Section(notes, node, where, "call")
    section.need("call", "the name of the function")
    name = section.text("call")
    if name and (len(name) > 200 or not _NAME.fullmatch(name)):
        section.error("call", f"{shown(name)}: the name of a function, or `Class.method`; arguments belong into `args`")
    if "returns" in section and "raises" in section:
        section.error("raises", "`returns` and `raises` beside each other: it does one of them")
    returns: object | UnsetType = UNSET
    if "returns" in section:
        returns = to_value(notes, section.known["returns"], section.at("returns"))
    if "within" in section and "returns" not in section:
        section.error("within", "says how far numbers may be off, and needs `returns`")
    raises: str | bool = ""
    if "raises" in section:
        written = section.known["raises"]
        if isinstance(written, Scalar) and not written.quoted and written.value in FLAGS:
            raises = section.flag("raises")
            if not raises:
                section.error("raises", "true, or the name of an exception; leave it out where there is none")
        else:
            raises = section.text("raises")
            if raises and not re.fullmatch(r"\w+", raises):
                section.error("raises", f"{shown(raises)}: the bare name of an exception's class, or true for any")
    return Call(
        call=name,
        args=tuple(to_value(notes, item, place) for item, place in section.items("args", "every argument")),
        returns=returns,
        raises=raises,
        within=section.number("within", 0.0),
    )


def to_value(notes: Notes, node: Node, where: str) -> object:
    """Return a value as it is written, with the tags of `VALUE_TAGS`."""
    if isinstance(node, Listing):
        return [to_value(notes, item, f"{where}, item {number}") for number, item in enumerate(node.items, 1)]
    if isinstance(node, Scalar):
        return _scalar(notes, node, where)
    value = {key.value: to_value(notes, inner, f"{where}, {shown(key.value)}") for key, inner in node.entries}
    if len(value) < len(node.entries):
        notes.error(node, where, "a key stands there twice")
    tags = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if tags and (problem := _wrong(tags[0], value)):
        notes.error(node, where, problem)
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


def _scalar(notes: Notes, node: Scalar, where: str) -> object:  # noqa: PLR0911  a list of kinds
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
        notes.error(node, where, f"{shown(text)}: a text needs quotes, a truth value is true or false")
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
        """What was read, by the name in the question file."""

    def text(self, notes: Notes, node: Node, where: str) -> str:
        """Return the text of the file that `node` names; "" (and an error) where there is none."""
        before = notes.errors
        name = to_text(notes, node, where)
        if notes.errors > before:
            return ""
        try:
            return self._text(name)
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
            notes.error(node, where, f"cannot use the file {shown(name)}: {reason}")
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


def read_tests(notes: Notes, node: Node, where: str, folder: Folder, languages: Collection[str]) -> UnitTests:
    """Unit tests of the answer's code."""
    section = Section(notes, node, where, "tests")
    section.need("language", "what the answer's code and its tests are written in")
    if "calls" not in section:
        section.need("cases", "a list of tests (or `calls`, one test that calls functions)")
    language = canonical(section.text("language"))
    if language and language not in languages:
        listed = ", ".join(sorted(languages))
        section.error("language", f"tests cannot be in {shown(language)}; they can be in {listed}")
    items = section.items("cases", "every test", "no test in it")
    cases = tuple(_case(notes, item, place, folder) for item, place in items)
    if "calls" in section:
        cases += (Test(code="", calls=read_calls(section)),)
    return UnitTests(language=language, tests=cases, files=_files(section, folder))


def _case(notes: Notes, node: Node, where: str, folder: Folder) -> Test:
    if not isinstance(node, Mapping):
        code = to_text(notes, node, where)
        if isinstance(node, Scalar) and not node.null and not code.strip():
            notes.error(node, where, "an empty test: any program that runs would pass")
        return Test(code=code)
    section = Section(notes, node, where, "case")
    code = section.text("code")
    calls: tuple[Call, ...] = ()
    if "calls" in section:
        calls = read_calls(section)
        for key in ("code", "file"):
            if key in section:
                section.error(key, f"`{key}` and `calls` beside each other: a test is one of them")
    elif "code" in section and "file" in section:
        section.error("file", "`code` and `file` beside each other: the test is in one of them")
    elif "file" in section:
        code = folder.text(notes, section.known["file"], section.at("file"))
    else:
        section.need("code", "the test itself (or `file`, the name of a file that holds it, or `calls`)")
    if "code" in section and isinstance(section.known["code"], Scalar) and not code.strip():
        section.error("code", "an empty test: any program that runs would pass")
    seconds = section.number("seconds", 0.0, least=0.1, most=MAX_SECONDS)
    return Test(
        code=code,
        calls=calls,
        before=section.text("before"),
        weight=section.weight(),
        seconds=seconds or None,
        longest_only=section.flag("longest_block"),
    )


def _files(section: Section, folder: Folder) -> tuple[tuple[str, str], ...]:
    node = section.known.get("files")
    if node is None:
        return ()
    notes, where = section.notes, section.at("files")
    if not isinstance(node, Mapping):
        notes.error(node, where, "expected a mapping of file names to what is in the files")
        return ()
    found: dict[str, str] = {}
    for key, value in node.entries:
        place = f"{where}, {shown(key.value)}"
        if key.value in found:
            notes.error(key, place, "stands here already")
        if not _FILE_NAME.fullmatch(key.value) or key.value.endswith((" ", ".")):
            notes.error(key, place, "not a plain file name: letters, digits, `_`, `-`, `+`, `.`; no folders")
        if isinstance(value, Mapping):
            inner = Section(notes, value, place, "content")
            inner.need("file", "the name of the file to put there")
            content = folder.text(notes, inner.known["file"], inner.at("file")) if "file" in inner else ""
        elif isinstance(value, Scalar) and not value.quoted and value.null:
            content = ""
        else:
            content = to_text(notes, value, place)
        found[key.value] = content
    return tuple(found.items())


def read_similarity(notes: Notes, node: Node, where: str) -> Similarity:
    """Return one comparison with reference texts."""
    section = Section(notes, node, where, "similarity")
    section.need("metric", f"one of {', '.join(_METRICS)}")
    section.need("references", "a list of texts")
    written = section.text("metric", _METRICS[2])
    metric: Overlap = "rougeL"
    if written in _METRICS:
        metric = written  # type: ignore[assignment]  # it is one of them
    elif "metric" in section and written:
        section.error("metric", f"{shown(written)} is no metric: {', '.join(_METRICS)}")
    references: list[str] = []
    for item, place in section.items("references", "every reference", "no reference in it"):
        references.append(to_text(notes, item, place))
        if len(references[-1]) > MAX_REFERENCE:
            notes.error(item, place, f"{len(references[-1]):,} characters; a reference has at most {MAX_REFERENCE:,}")
        elif references[-1] and not re.search("[A-Za-z0-9]", references[-1]):
            notes.error(
                item, place, "ROUGE compares runs of a-z and 0-9, and there is none in it: nothing can be alike"
            )
    low = section.number("low", 0.30, most=1.0)
    high = section.number("high", _HIGH.get(metric, _USUAL_HIGH), most=1.0)
    if low >= high:
        key = "high" if "high" in section else "low"
        section.error(key, f"`low` ({low:g}) must be less than `high` ({high:g})")
    return Similarity(metric=metric, references=tuple(references), low=low, high=high, weight=section.weight())


def read_choice(notes: Notes, node: Node, where: str) -> ChoicePart:
    """Return options with the letter of the right one."""
    section = Section(notes, node, where, "choice")
    section.need("options", "a list of texts")
    section.need("answer", "the letter of the right one, A for the first")
    items = section.items("options", "every option")
    options = tuple(to_text(notes, item, place) for item, place in items)
    answer = section.text("answer", "A")
    letters = LETTERS[: len(options)]
    if isinstance(section.known.get("options"), Listing):
        _check_options(section, options)
        if "answer" in section and answer and (answer not in letters or len(answer) != 1):
            section.error("answer", _not_an_option(answer, options, letters))
    return ChoicePart(options=options, answer=answer, weight=section.weight())


def _check_options(section: Section, options: tuple[str, ...]) -> None:
    if len(options) < 2:
        section.error("options", f"{len(options)} options: at least two are needed")
    if len(options) > len(LETTERS):
        section.error("options", f"{len(options)} options: there are {len(LETTERS)} letters")
        return
    written = [" ".join(option.split()) for option in options]  # case counts: Y^l and Y^L are two
    for index, option in enumerate(written):
        if option in written[:index]:
            section.error("options", f"options {written.index(option) + 1} and {index + 1} read alike")


def _not_an_option(answer: str, options: tuple[str, ...], letters: str) -> str:
    if answer in options:
        return f"the answer is a letter: {LETTERS[options.index(answer)]} for {shown(answer)}"
    if len(answer) == 1 and answer.upper() in letters:
        return f"the answer is a capital letter: {answer.upper()}"
    span = f"A to {letters[-1]}" if len(letters) > 1 else "a letter"
    return f"{shown(answer)} is none of the options; the answer is their letter ({span})"


def read_truth(notes: Notes, node: Node, where: str) -> TruthPart:
    """Tell whether a statement is true."""
    section = Section(notes, node, where, "truth")
    section.need("answer", "true or false")
    return TruthPart(answer=section.flag("answer"), weight=section.weight())


def read_judge(notes: Notes, node: Node, where: str) -> JudgePart:
    """Return what a judge model compares the answer with."""
    section = Section(notes, node, where, "judge")
    reference = section.text("reference")
    if section.need("reference", "what a good answer says") and not reference.strip():
        node = section.known["reference"]
        if isinstance(node, Scalar) and not node.null:
            section.error("reference", "an empty reference: there is nothing to compare with")
    return JudgePart(reference=reference, instructions=section.text("instructions"), weight=section.weight())
