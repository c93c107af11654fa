"""CS-Bench's files as they are: every record with all its fields, in their order, known and unknown ones.

The loader (`viva.benchmarks.csbench.loading`) makes questions of them and mends what it can; whoever builds sets must
see what stands there, and write it back unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.csbench.loading import FOLDERS, plain
from viva.benchmarks.sets import fingerprint, holds_json_list, read_bytes
from viva.errors import DataError, option
from viva.languages import LANGUAGES
from viva.types import Language
from viva.visible import one_line

Raw = dict[str, object]
TEST, VALID = "test.json", "valid.json"
LETTERS = ("A", "B", "C", "D")
TEXTS = ("Question", *LETTERS, "Answer", "Explanation")
"""Fields that hold words."""
NAMES: dict[Language, str] = {code: language.name for code, language in LANGUAGES.items()}
"""What `Language` says in a record."""
LARGEST = 256 << 20
_NEEDED = ("ID", "Domain", "SubDomain", "Format", "Tag", "Question", "Answer")


class RawSet(Struct, frozen=True, kw_only=True):
    """One language's files. `valid` is None where there is only one file."""

    language: Language
    test: list[Raw]
    valid: list[Raw] | None
    fingerprint: str
    where: str

    @property
    def records(self) -> list[Raw]:
        """Those of both files, the test set's first."""
        return [*self.test, *(self.valid or [])]


def is_csbench(path: Path) -> bool:
    """Whether a path holds files of CS-Bench: a folder of languages, one language's folder, or one file of records."""
    if path.is_dir():
        return (path / TEST).is_file() or any((path / folder / TEST).is_file() for folder in FOLDERS.values())
    return holds_json_list(path)


def read_set(path: Path, language: Language | None) -> RawSet:
    """The records of one language. Raises DataError where they cannot be told or read."""
    if path.is_file():
        records, content = read_raw(path)
        return RawSet(
            language=language or _said(records, path),
            test=records,
            valid=None,
            fingerprint=fingerprint([content]),
            where=str(path),
        )
    folder = path
    if not (path / TEST).is_file():
        there = [code for code, name in FOLDERS.items() if (path / name / TEST).is_file()]
        if not there:
            raise DataError(f"{path} holds no CS-Bench files: expected {TEST}, or CSBench-EN/{TEST}, in it")
        if language is None and len(there) > 1:
            raise DataError(f"{path} holds several languages: choose one with {option('language')} {'|'.join(there)}")
        chosen = language or there[0]
        if chosen not in there:
            raise DataError(f"{path} has no {FOLDERS[chosen]}; it has: {', '.join(FOLDERS[code] for code in there)}")
        language, folder = chosen, path / FOLDERS[chosen]
    test, test_bytes = read_raw(folder / TEST)
    valid, valid_bytes = read_raw(folder / VALID) if (folder / VALID).exists() else (None, b"")
    by_name: dict[str, Language] = {name: code for code, name in FOLDERS.items()}
    return RawSet(
        language=language or by_name.get(folder.resolve().name) or _said(test, folder / TEST),
        test=test,
        valid=valid,
        fingerprint=fingerprint([test_bytes, valid_bytes]),
        where=str(folder),
    )


def _said(records: Sequence[Raw], path: Path) -> Language:
    said = {str(record.get("Language", "")) for record in records}
    for code, name in NAMES.items():
        if said == {name}:
            return code
    raise DataError(f"{path} does not say in which language it is: give {option('language')}")


def read_raw(path: Path) -> tuple[list[Raw], bytes]:
    """A file's records, and its bytes. Raises DataError that names the record."""
    content = read_bytes(path, LARGEST)
    try:
        found = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise DataError(f"{path} is not a CS-Bench file: {problem}") from None
    if not isinstance(found, list) or not found:
        raise DataError(f"{path} is not a CS-Bench file: it holds no list of records")
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise DataError(f"{path}, record {number} is no object: {one_line(repr(record)[:200], 60)}")
        missing = next((name for name in _NEEDED if name not in record), None)
        if missing:
            raise DataError(f"{path}, record {number} has no field {missing!r}")
        for name in (*_NEEDED, *TEXTS):
            if isinstance(record.get(name), (dict, list)):
                raise DataError(f"{path}, record {number}: {name} is no plain value")
    return found, content


def written(records: Sequence[Raw]) -> bytes:
    """Records as the published files have them: one array, indented by four, nothing escaped that need not be."""
    return msgspec.json.format(msgspec.json.encode(list(records)), indent=4) + b"\n"


def text(value: object) -> str:
    """A field as a text; "" for none."""
    return "" if value is None else plain(value)


def asked(record: Raw) -> str:
    """What an examinee is shown: the question and its options."""
    return "\n".join((text(record.get("Question")), *(text(record[name]) for name in LETTERS if name in record)))


def named(records: Sequence[Raw]) -> list[str]:
    """A name for every record: its ID, with its place where that is there twice."""
    seen: dict[str, int] = {}
    found = []
    for record in records:
        identity = text(record.get("ID"))
        seen[identity] = seen.get(identity, 0) + 1
        found.append(identity if seen[identity] == 1 else f"{identity}#{seen[identity]}")
    return found
