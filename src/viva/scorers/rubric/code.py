"""Extraction of code from an answer, and assembly of the program that tests it.

Source: the InfiBench specification, sections 5.1 and 5.2. With `published`, character for character as the authors'
grader; without, as a reader of Markdown would (fences.py finds the blocks), and no unneeded import can fail a
program. Languages are data: code_languages.toml.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from itertools import takewhile

import msgspec

from viva.files import shipped_table
from viva.scorers.lexicon import after_thinking, closed
from viva.scorers.rubric.fences import Block, read_blocks, without_fence_lines
from viva.scorers.rubric.parsing import parse
from viva.scorers.rubric.programblocks import functions, of_the_program, without_examples
from viva.scorers.rubric.rubrics import Test

_FENCES = ("```", "\\begin{code}", "\\end{code}")
_SENTENCE = re.compile(
    r"(?:[A-Z][a-z'’]*|`[^`]+`)(?:[!:.]|[,!:.]? (?:[^={};`]|`[^`]*`)*[.:!?])"
    r"|\*\*[^*]+\*\*:?|(?:[-*•]|\d+[.)]) [^={};]*[.:]"
    r"|(?:[Yy]es|[Nn]o|YES|NO)[.,!]?"
)
"""A line of prose: it begins and ends like a sentence, with nothing between that only code has."""
_CODE_BEGINS = re.compile(r"^(?:def|class|import|from|async def|@\w)", re.MULTILINE)
_BRACE = re.compile("[{}]")
_INDENTED = re.compile(r"((?:^(?: {4}|\t)[^\S\n]*\S.*\n?(?:[^\S\n]*\n)*)+)", re.MULTILINE)
_LISTED = r"""//.*|/\*(?s:.*?)(?:\*/|\Z)|((?:(?<![\w.])[\w.]++[ \t]++)?["`][^"`\n]+["`])"""
"""A comment, or a package of a list."""
_TRIED = 100
"""Lines behind a program without fences that are tried as prose."""


class Import(msgspec.Struct, frozen=True):
    """A line put before every program of a language; see code_languages.toml."""

    line: str
    when: str = ""
    meant: str = ""


class CodeLanguage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of a language; see code_languages.toml."""

    names: frozenset[str]
    related: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    indented: bool = False
    depth: int = 0
    session: tuple[str, ...] = ()
    kept: str = "(?!)"
    first: tuple[str, ...] = ()
    rewritten: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    imports: tuple[Import, ...] = ()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    other: frozenset[str]
    wrappers: frozenset[str]
    languages: dict[str, CodeLanguage]


@cache
def _table() -> _Table:
    return shipped_table(__file__, "code_languages.toml", _Table)


@cache
def _names() -> dict[str, str]:
    return {name: key for key, language in _table().languages.items() for name in (key, *language.names)}


def canonical(language: str) -> str:
    """Return a language by the name that Viva uses: "c++", "C/C++" and "cpp" are all "cpp". Unknown ones in lower
    case.
    """
    name = language.strip().lower()
    return _names().get(name, name)


def default_seconds(language: str) -> float:
    """Return the default time limit, in seconds, of a test in this language, compiling included."""
    return _language(language).seconds or 20.0


@cache
def languages_of_tests() -> list[str]:
    """Return the languages that tests can be in: those whose tests have a time limit."""
    return sorted(name for name, language in _table().languages.items() if language.seconds)


def _language(name: str) -> CodeLanguage:
    return _table().languages.get(canonical(name), CodeLanguage(frozenset()))


# --- the program ---


def assemble(test: Test, text: str, language: str, *, published: bool = False) -> tuple[str, str]:
    """Return the program that tests an answer, in two parts: everything before the test, and the test.

    The program as run is the two joined by a line feed. `text` is the answer as the model gave it.
    """
    key = canonical(language)
    known_language = _language(key)
    lines = [entry.line for entry in known_language.imports]
    if published:
        code = extract_code(f"{test.prefix}\n{text}", key, longest_only=test.longest_only, published=True)
        program = f"{test.before}\n{code}"
        if lines:
            program = "\n".join([*lines, program]).strip()
    else:
        asks = "\n".join((test.code, *(call.call for call in test.calls)))
        code = extract_code(text, key, longest_only=test.longest_only, test=asks)
        if key == "python":
            code = without_examples(code, asks, f"{' '.join(lines)} {test.before} {test.prefix}")
        body = _program_in("\n".join(part for part in (test.before, test.prefix, code) if part.strip()), key)
        words = {"", *re.findall(r"\w+", f"{body}\n{test.code}")}
        program = "\n".join(
            [*(entry.meant or entry.line for entry in known_language.imports if entry.when in words), body]
        )
    if not known_language.first or (published and key != "python"):
        return program, test.code
    pattern, *always = known_language.first
    code = "" if key == "python" else test.code  # a test in Python may be compiled apart, and keeps its own
    top = dict.fromkeys(always)
    for entry in filter(None, re.findall(f"(?m){known_language.kept}|{pattern}", f"{program}\n{code}")):
        listed = re.findall(_LISTED, entry.partition("(")[2])  # Go takes no package twice
        top |= dict.fromkeys([f"import {name}" for name in listed if name] or [entry])
    program, code = (re.sub(f"(?m)({known_language.kept})|{pattern}", r"\1", text) for text in (program, code))
    return "\n".join([*top, program]), code or test.code


# --- the examinee's code ---


def extract_code(
    text: str, language: str, *, longest_only: bool = False, published: bool = False, test: str = ""
) -> str:
    """Return the code in an answer: its fenced blocks, or the code in an unfenced answer; "" without any.

    `longest_only` takes the block with most lines (the first of equals) instead of all; of several blocks, those that
    define names in `test` count.
    """
    key = canonical(language)
    if published:
        return _extract_as_published(text, key, longest_only)
    text = re.sub(r"\r\n?", "\n", text).removeprefix("\ufeff")
    start, unfinished = after_thinking(text)
    if unfinished:
        return ""
    text = text[start:]
    blocks = read_blocks(text, tags=_names().keys(), wrappers=_table().wrappers) or _indented(text)
    if blocks:
        # A block that was cut off is used only if there is no other, or if it names the language.
        whole = [block for block in blocks if block.closed or canonical(block.tag) == key]
        chosen = of_the_program(_of_language(whole or blocks, key), test, longest_only=longest_only)
        return "\n\n".join(_program_in(block.text, *dict.fromkeys((canonical(block.tag), key))) for block in chosen)
    return _program_in(_unfenced(text, key), key)


def _program_in(text: str, *languages: str) -> str:
    """Return a text without what is no code of a program: prompts, commands of a notebook, marks of changes."""
    for language in map(_language, languages):
        if language.session and re.match(language.session[0], text):
            text = "\n".join(re.findall(rf"^(?:{'|'.join(language.session)})(?: |$)(.*)", text, re.MULTILINE))
        for pattern, instead in language.rewritten:
            without = re.sub(
                f"(?m)({language.kept})|{pattern}",
                lambda match: match[1] or match.expand(instead),  # noqa: B023  it is called at once
                text,
            )
            if not language.indented or (without != text and not any(map(parse, (text, f"if 1:\n{text}")))):
                text = without
    return text


def _of_language(blocks: list[Block], key: str) -> list[Block]:
    """Return the blocks tagged with the language; without one, those not tagged with another."""
    wanted = {key, *_language(key).related}
    if mine := [block for block in blocks if canonical(block.tag) in wanted]:
        return mine
    foreign = _table().other | _names().keys()
    return [block for block in blocks if block.tag not in foreign] or blocks


def _unfenced(text: str, key: str) -> str:
    """Return an answer without fences, without the sentences around the code."""
    text = re.sub(r"\A\s*`([^`]+)`\s*\Z", r"\1", without_fence_lines(text))
    language = _language(key)
    if language.indented:
        if parse(text) is not None and not _is_prose(text.split("\n", 1)[0]):
            return text
        if inner := _python_in(text):
            return inner
        body = _extract_as_published("\n" + text, key, longest_only=False)
        if body.strip():
            return body[1:]
    lines = text.split("\n")
    code = [number for number, line in enumerate(lines) if not _is_prose(line)]
    trimmed = "\n".join(lines[code[0] : code[-1] + 1]) if code else ""
    return trimmed[: closed(_BRACE.finditer(trimmed), language.depth)] if language.depth else trimmed


def _indented(text: str) -> list[Block]:
    """Return the blocks that Markdown indents by four columns, in a text that is otherwise prose and begins with it."""
    parts = _INDENTED.split(text)
    outside, inside = parts[::2], parts[1::2]
    begun = all(part and not part[:-1].rpartition("\n")[2].strip() for part in outside[:-1])  # behind a blank line
    if not inside or not begun or not all(_is_prose(line) for part in outside for line in part.split("\n")):
        return []
    return [Block("", textwrap.dedent(part).strip("\n")) for part in inside]


def _python_in(text: str) -> str:
    """Return the Python in a text, without the prose around it; "" where there is none."""
    start = _CODE_BEGINS.search(text)
    if start is None:
        return ""
    lines = text[start.start() :].split("\n")
    if len(lines) > 2_000:
        return ""
    for end in range(len(lines), max(0, len(lines) - _TRIED), -1):
        code = "\n".join(lines[:end])
        if lines[end - 1].strip() and parse(code) is not None:
            return code if functions(code) else ""
    return ""


def _is_prose(line: str) -> bool:
    """Return whether a line is blank, a sentence, or a word that answers before any code comes."""
    line = line.strip()
    return not line or _SENTENCE.fullmatch(line) is not None


# --- as published ---


def _extract_as_published(text: str, key: str, longest_only: bool) -> str:
    if sum(text.count(fence) for fence in _FENCES) < 2:
        return _cut_as_published(text, key)
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if any(fence in line for fence in _FENCES)]
    blocks = [lines[first + 1 : last] for first, last in zip(fences[::2], fences[1::2], strict=False)]
    if longest_only and blocks:
        blocks = [max(blocks, key=len)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _cut_as_published(code: str, key: str) -> str:
    language = _language(key)
    for stop in language.stops:
        code = code.partition(stop)[0]
    if language.indented:
        return "\n".join(takewhile(lambda line: not line.strip() or line[0] in " \t", code.split("\n")))
    if not language.depth:
        return code
    end = closed(_BRACE.finditer(code), language.depth)
    if end is not None:
        return code[:end]
    if key == "java":
        code = re.sub(r"public static void main(?s:.*)", "}", code)
    code = code[: code.rfind("}") + 1] or code
    return code + "\n}" if key == "java" and code.count("{") == code.count("}") + 1 else code
