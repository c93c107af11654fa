"""The InfiBench data set, as its authors publish it → cases.

Two forms are read: one CSV (suite_v2.1_data.csv: prompt, grading specification as YAML, the files it refers to as
JSON), and a folder of YAML cases under a suite file (suite_*.yaml). difficulty_levels.yaml and case_urls.csv are read
from the same folder. Input is untrusted: sizes are bounded, no path leaves the folder, no code is run.

A set of `viva build infibench export`, question files with a manifest, is read, too. Its questions are in Viva's own
grading language (docs/data.md), like those of the bundled sample.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks.basics import decoded, read_bytes, table_rows
from viva.benchmarks.custom.questionloading import sound_questions
from viva.benchmarks.custom.questionmodel import OwnQuestion
from viva.benchmarks.infibench.cases import Case, read_case
from viva.benchmarks.infibench.reading import Place, Reading, shown
from viva.errors import DataError, MissingDataError, option
from viva.files import UNREADABLE
from viva.types import Defect

MANIFEST = "build.json"
KIND = "infibench set"
"""Kind of the manifest, since a pool has a build.json, too."""
FORMAT = 1
"""Version of the folder's layout."""
MOST_BYTES = 64_000_000
_FILE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}\.yaml")


class Named(Struct, kw_only=True):
    """Fields of build.json that an exam needs."""

    kind: str = ""
    format: int = 0
    files: tuple[str, ...] = ()
    urls: dict[str, str] = {}
    """Question → address of its original."""


def find_built(data: Path) -> Path | None:
    """Return the folder of a built set: `data` itself, or infibench/ in it; None for anything else."""
    for folder in (data, data / "infibench"):
        named = _manifest(folder / MANIFEST)
        if named is not None and named.kind == KIND:
            return folder
    return None


def _manifest(path: Path) -> Named | None:
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(read_bytes(path, MOST_BYTES), type=Named)
    except UNREADABLE as problem:
        raise DataError(f"{path} is damaged: {problem}; export the set anew") from None


def read_built(folder: Path) -> tuple[list[OwnQuestion], dict[str, str], list[bytes]]:
    """Return the questions, their originals' addresses, and the bytes of the question files. Raises DataError."""
    named = _manifest(folder / MANIFEST)
    if named is None:
        raise DataError(f"{folder} holds no set: it has no {MANIFEST}; `viva build infibench export` writes one")
    if named.format != FORMAT:
        raise DataError(f"{folder / MANIFEST} has the format {named.format}; this Viva reads {FORMAT}")
    if not named.files:
        raise DataError(f"{folder / MANIFEST} names no question file")
    questions: list[OwnQuestion] = []
    contents: list[bytes] = []
    seen: dict[str, str] = {}
    for name in named.files:
        if not _FILE.fullmatch(name):
            raise DataError(
                f"{folder / MANIFEST} names the file {name[:80]!r}; it should be a plain name ending in .yaml"
            )
        read = sound_questions(folder / name)
        for question in read.questions:
            if question.id in seen:
                raise DataError(f"{folder / name}: {question.id} stands in {seen[question.id]}, too")
            seen[question.id] = name
        questions += read.questions
        contents += [read_bytes(path) for path in (folder / name, *read.files)]
    return questions, named.urls, contents


DATA_CSV = "suite_v2.1_data.csv"
SUITE_YAML = "suite_v2.1.yaml"
LEVELS = "difficulty_levels.yaml"
URLS = "case_urls.csv"
MAX_FILE = 64_000_000
MAX_FIELD = 4_000_000
MAX_CASES = 20_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LEVEL = re.compile(r"level-([0-9]{1,2})")


def read_cases(data: Path, *, published: bool = False) -> tuple[list[Case], list[Defect], list[bytes]]:
    """Return the cases in the order of the suite, what is odd about them, and the files' bytes (for the
    fingerprint).

    `data` is the CSV, a suite file, or a folder that holds one of them (or holds it in a folder infibench/).
    `published` reads every oddity like the authors' grader; otherwise as intended, with defects marked "repaired".
    Raises DataError naming file, case and key; MissingDataError where there is no data set.
    """
    file = find_set(data)
    contents = [read_bytes(file, MAX_FILE)]
    if file.suffix == ".csv":
        cases, defects = _from_csv(file, contents[0], published)
    else:
        cases, defects = _from_suite(file, contents, published)
    if not cases:
        raise DataError(f"{file} holds no cases")
    levels, urls = _levels(file.with_name(LEVELS), contents), _urls(file.with_name(URLS), contents)
    described = [replace(case, level=levels.get(case.id, ""), url=urls.get(case.id, "")) for case in cases]
    return described, defects, contents


def find_set(data: Path) -> Path:
    """Return the file that lists the cases: the CSV, else the only suite_*.yaml. Raises (Missing)DataError."""
    if data.is_file():
        return data
    if not data.exists():
        raise DataError(f"there is no data folder {data}")
    for folder in (data, data / "infibench"):
        if (folder / DATA_CSV).is_file():
            return folder / DATA_CSV
        suites = sorted([*folder.glob("suite*.yaml"), *folder.glob("suite*.yml")])
        named = [suite for suite in suites if suite.name == SUITE_YAML] or suites
        if len(named) == 1:
            return named[0]
        if named:
            names = ", ".join(suite.name for suite in named)
            raise DataError(f"{folder} holds several suites: {names}; say which with {option('data')} {named[0]}")
    raise MissingDataError(
        f"{data} holds no infibench data: expected {DATA_CSV} or a suite_*.yaml in it or in infibench/; "
        "`viva fetch infibench` says where to get it"
    )


# --- one CSV ---


def _from_csv(file: Path, content: bytes, published: bool) -> tuple[list[Case], list[Defect]]:
    cases: list[Case] = []
    defects: list[Defect] = []
    seen: set[str] = set()
    rows = table_rows(file, content, ("prompt", "eval_spec"), MAX_FIELD)
    for number, (_, row) in enumerate(rows, start=2):  # the header is row 1, and blank lines are none
        where = f"{file.name}, row {number}"
        case = _open_case(row["eval_spec"], where, published, seen)
        files = _dependencies(row.get("dependencies", ""), f"{where}, case {case.of.case}, dependencies")
        case.of.fetch = partial(_dependency, files)
        cases.append(read_case(case, row["prompt"]))
        defects.extend(case.of.defects)
    return cases, defects


def _dependency(files: dict[str, str], place: Place) -> str:
    if (path := place.text()) not in files:
        raise place.wrong(f"{shown(path)} is not among the dependencies of the case")
    return files[path]


def _dependencies(text: str, where: str) -> dict[str, str]:
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except UNREADABLE as problem:
        raise DataError(f"{where} should be a JSON object of file names and contents: {problem}") from None


# --- a suite file and a folder of cases ---


def _from_suite(file: Path, contents: list[bytes], published: bool) -> tuple[list[Case], list[Defect]]:
    suite = Reading(str(file), published=published).document(decoded(file, contents[0]), "the suite")
    cases: list[Case] = []
    defects: list[Defect] = []
    seen: set[str] = set()
    for entry in suite.at("cases").sequence():
        name = (entry if isinstance(entry.value, str) else entry.at("path")).text()
        path = _inside(file.parent, file.parent, name, f"{file}, {entry.key}")
        contents.append(read_bytes(path, MAX_FILE))
        case = _open_case(decoded(path, contents[-1]), str(path), published, seen)

        def fetch(place: Place, path: Path = path) -> str:
            where = f"{place.of.file}, case {place.of.case}, {place.key}"
            file_read = _inside(file.parent, path.parent, place.text(), where)
            empty = "unit_test" in place.key  # an empty test requires only that the answer runs
            contents.append(read_bytes(file_read, MAX_FILE, empty=empty))
            return decoded(file_read, contents[-1]).replace("\r\n", "\n").replace("\r", "\n")

        case.of.fetch = fetch
        cases.append(read_case(case, case.at("prompt_path").file()))
        defects.extend(case.of.defects)
    return cases, defects


def _inside(root: Path, folder: Path, name: str, where: str) -> Path:
    """Return a file by its path relative to `folder`. Raises DataError if it lies outside `root`, also by links."""
    if "\0" in name or len(name) > 1000:
        raise DataError(f"{where}: {shown(name)} is no path")
    try:
        file_there = (folder / name).resolve()
        if Path(name).is_absolute() or not file_there.is_relative_to(root.resolve()):
            raise DataError(f"{where}: {shown(name)} leads out of the data folder {root}")
        regular = file_there.is_file()
    except (OSError, RuntimeError) as problem:  # a loop of links, a name that is too long
        raise DataError(f"{where}: cannot follow {shown(name)}: {problem}") from None
    if not regular:
        raise DataError(f"{where}: there is no file {shown(name)} (looked for {file_there})")
    return file_there


# --- both ---


def _open_case(text: str, where: str, published: bool, seen: set[str]) -> Place:
    """Return a case with a reading that knows its id."""
    case = Reading(where, published=published).document(text, "the case")
    identity = case.at("id").value
    if not isinstance(identity, str) or not _ID.fullmatch(identity):
        raise case.at("id").wrong(f"letters, digits, dots and hyphens belong here, not {shown(identity)}")
    if len(seen) >= MAX_CASES:
        raise DataError(f"{where}: more than {MAX_CASES:,} cases")
    if identity in seen:
        raise case.at("id").wrong(f"{identity} stands twice in this set")
    seen.add(identity)
    case.of.case = identity
    return case


def _levels(file: Path, contents: list[bytes]) -> dict[str, str]:
    """Return case id → difficulty level."""
    if not file.is_file():
        return {}
    contents.append(read_bytes(file, MAX_FILE))
    listed = Reading(str(file), published=True).document(decoded(file, contents[-1]), "the file")
    levels: dict[str, str] = {}
    for name in listed.mapping():
        level = _LEVEL.fullmatch(name)
        if level is None:
            raise listed.at(name).wrong("levels are called level-1, level-2, ...")
        levels |= {_id_of(path.text()): level[1] for path in listed.at(name).sequence()}
    return levels


def _urls(file: Path, contents: list[bytes]) -> dict[str, str]:
    """Return case id → the question's web address."""
    if not file.is_file():
        return {}
    contents.append(read_bytes(file, MAX_FILE))
    rows = table_rows(file, contents[-1], ("case", "url"), MAX_FIELD)
    return {_id_of(row["case"]): row["url"] for _, row in rows}


def _id_of(path: str) -> str:
    """Return the case id of a path: 0-0-1 for cases/eval_0-0-1.yaml."""
    return path.rpartition("/")[2].removesuffix(".yaml").removeprefix("eval_")
