"""The blocks of an answer that make the program which a test needs, without statements that only show its use.

An answer may hold the same function twice, an example that asks for input, a printed table, the code of the question.
The blocks that define names in the test count; without such a block, all blocks are the program.
"""

from __future__ import annotations

import ast
import builtins
import collections
import re
import symtable
import typing
from collections.abc import Iterable, Iterator

from viva.scorers.rubric.fences import Block
from viva.scorers.rubric.parsing import parse

LONGEST = 200_000
"""Characters of all blocks together; longer ones are not examined."""
_WORD = re.compile(r"[\w$]+")
_FUNCTION = re.compile(
    r"^[ \t]*(?:(?:export|default|async|pub|public|private|static|abstract|final)\s+){0,5}"
    r"(?:def|function\b\s?\*?|func|fn|class|struct|type|interface|enum|trait|module|record)\s+(?:\([^()\n]{0,80}\)\s?)?"
    r"(?:self\.)?([\w$]+)"
    r"|^[ \t]*(?:export\s+)?(?:(?:const|let|var|val|auto)\s+)?([\w$]+)\s{0,4}(?::[^=\n]{0,80})?(?:<-|=)\s{0,4}"
    r"(?:async\s+)?(?:function\b|\\\(|lambda\b|\[[^\]\n]{0,40}\]\s?\("
    r"|\([^()\n]{0,200}\)\s{0,4}(?::[^=\n]{0,80})?=>|[\w$]+\s{0,4}=>)"
    r"|^[ \t]*(?!(?:return|else|new|throw|do)\b)(?:[\w:<>,*&\[\]?.@]{1,80}[ \t]){1,6}[ \t]{0,4}[*&]{0,2}"
    r"(?!(?:if|for|while|switch|catch|return)\b)"
    r"([\w$]+)\s?\([^;{}()]{0,400}\)[^;{}()\n]{0,80}\s?\{",
    re.MULTILINE,
)
"""A definition of a function, a class or a type."""
_VALUE = re.compile(
    r"^(?:export[ \t]+)?(?:(?:const|let|var|val|my|our|static|final)[ \t]+)?"
    r"(?:[A-Za-z][\w:<>\[\],*&]{0,60}(?<!:)[ \t]+)?"
    r"([\w$]+)[ \t]{0,4}(?::[^=\n]{1,60})?(?::=|<-|=(?![=>]))",
    re.MULTILINE,
)
"""An assignment to a name, at the beginning of a line."""
_IMPORT = re.compile(
    r"(?:import|from|#include|using|require|library|package|use|[!%]?pip3? install)\b.*|(?://|#|%\w).*|[()]?|\"[\w./-]+\""
)
_ALTERNATIVE = re.compile(
    r"\b(?:alternativ|another\b|equivalent|can also\b|could also\b"
    r"|second (?:way|option|approach|method|version|solution)"
    r"|(?:option|method|approach|solution|way|version|variant) (?:[2-9]|[b-d]|two|three)\b)|^\W{0,4}or\b",
    re.IGNORECASE | re.MULTILINE,
)
_CORRECTION = re.compile(
    r"\b(?:correct|fix|oops|mistake|wrong|sorry|apolog|actually|wait\b|bug\b|updated)", re.IGNORECASE
)
_READERS = frozenset({"input", "raw_input", "open", "loadtxt", "genfromtxt", "imread"})
_DEEPEST = 3
"""Longest chain of calls to a function that reads input."""
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def of_the_program(blocks: list[Block], test: str, *, longest_only: bool) -> list[Block]:
    """Return the blocks that make the program which the test needs, in order; with `longest_only`, one.

    Blocks that were cut off count where no other defines what the test mentions. Of two that define the same, the
    later one replaces the earlier one, unless it is put forward as an alternative.
    """
    mentioned = set(_WORD.findall(test))
    if len(blocks) < 2 or sum(len(block.text) for block in blocks) > LONGEST:
        wanted: list[set[str]] = []
    else:
        wanted = [functions(block.text) & mentioned for block in blocks]
        if not any(wanted):
            given = values(test)
            wanted = [(values(block.text) & mentioned) - given for block in blocks]
    chosen = [number for number, names in enumerate(wanted) if names]
    chosen = [number for number in chosen if blocks[number].closed] or chosen
    if longest_only:
        pool = [blocks[number] for number in chosen] or [block for block in blocks if block.closed] or blocks
        return [max(pool, key=lambda block: block.text.count("\n"))]
    if not chosen:
        return blocks
    kept = _without_alternatives(blocks, wanted, chosen)
    return [blocks[number] for number in sorted({*kept, *_needed(blocks, kept, chosen)})]


def functions(code: str) -> set[str]:
    """Return the names of functions, classes and types that a text defines."""
    return {match[match.lastindex or 0] for match in _FUNCTION.finditer(code)}


def values(code: str) -> set[str]:
    """Return the names that a text assigns at the beginning of a line."""
    return set(_VALUE.findall(code))


def _without_alternatives(blocks: list[Block], wanted: list[set[str]], chosen: list[int]) -> list[int]:
    kept: list[int] = []
    for number in chosen:
        lead = blocks[number].lead
        same = [earlier for earlier in kept if wanted[earlier] & wanted[number]]
        offered = bool(_ALTERNATIVE.search(lead)) and not _CORRECTION.search(lead)
        if same and offered and all(wanted[number] <= wanted[earlier] for earlier in same):
            continue
        kept = [earlier for earlier in kept if not (earlier in same and wanted[earlier] <= wanted[number])]
        kept.append(number)
    return kept


def _needed(blocks: list[Block], kept: list[int], chosen: list[int]) -> Iterator[int]:
    """Yield the other blocks that the kept ones need: imports, and definitions of names that they mention."""
    used = {word for number in kept for word in _WORD.findall(blocks[number].text)}
    there = {name for number in kept for name in functions(blocks[number].text)}
    for number in range(len(blocks) - 1, -1, -1):
        block = blocks[number]
        if number in chosen or not block.closed:
            continue
        mine = functions(block.text)
        if number < kept[0] and not mine:
            mine = values(block.text) if not there & set(_WORD.findall(block.text)) else set()
        if (mine & used and not mine & there) or all(
            _IMPORT.fullmatch(line.strip()) for line in block.text.split("\n")
        ):
            used |= set(_WORD.findall(block.text))
            yield number


def without_examples(code: str, test: str, given: str) -> str:
    """Return Python code without statements that show its use and cannot work here, and without what depends on them.

    They read standard input or a file, or mention a name that neither the code nor `given` has. The code is
    unchanged where its functions or the test need what they define.
    """
    tree = parse(code)
    if tree is None or not any(isinstance(node, _DEFINITION) for node in tree.body):
        return code
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    readers = set(_READERS)
    for _ in range(_DEEPEST):
        readers |= {node.name for node in defined if _reads(node, readers)}
    own, inner = _names(code)
    there = own | {*dir(builtins), *dir(typing), *dir(collections), *_WORD.findall(given), "__file__"}
    lost: set[str] = set()
    gone: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, _DEFINITION | ast.Import | ast.ImportFrom):
            continue
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        missing = any(isinstance(each.ctx, ast.Load) and (each.id in lost or each.id not in there) for each in names)
        if missing or _reads(node, readers):
            gone.append(node)
            lost |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    removed = {line for node in gone for line in _lines(node)}
    without = set(map(id, gone))
    others = {line for node in tree.body if id(node) not in without for line in _lines(node)}
    bound, needed = _names(test)
    if not gone or lost & (inner | (needed - bound)) or removed & others:
        return code
    return "\n".join(line for number, line in enumerate(code.split("\n"), 1) if number not in removed)


def _names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a Python text binds anywhere, and those that its functions (or the text, where it binds
    nothing) take from outside.
    """
    try:
        module = symtable.symtable(code, "code", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return set(), set(_WORD.findall(code))
    tables = [module]
    for table in tables:
        tables += table.get_children()
    bound: set[str] = set()
    used: set[str] = set()
    for table in tables:
        for symbol in table.get_symbols():
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter() or symbol.is_namespace():
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (symbol.is_global() if table is not module else not symbol.is_assigned()):
                used.add(symbol.get_name())
    return bound, used


def _reads(node: ast.AST, readers: Iterable[str]) -> bool:
    nodes = list(ast.walk(node))
    called = [each.func for each in nodes if isinstance(each, ast.Call)]
    attributes = {each.attr for each in called if isinstance(each, ast.Attribute)}
    names = attributes | {each.id for each in called if isinstance(each, ast.Name)}
    standard = any(isinstance(each, ast.Attribute) and each.attr == "stdin" for each in nodes)
    return standard or not names.isdisjoint(readers) or any(name.startswith("read_") for name in attributes)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
