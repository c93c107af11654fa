"""`viva init`: from a table to the card that says how it is an exam, every guess with what it was guessed from.

Cards that come with Viva are tried where the table has their columns, then what the columns' names and values suggest;
the first that can grade most of a sample is written.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks import CARDS
from viva.benchmarks.card.cardmodel import TODO, Card, is_card, parse_card, read_card, yaml_flow, yaml_scalar
from viva.benchmarks.card.cardtable import file_names
from viva.benchmarks.card.cells import FILE, LETTERS, ROW, Absent, cell, cell_or_none, columns_of, text_of
from viva.benchmarks.card.guesses import (
    CODES,
    COLUMNS,
    DOUBT,
    clusters_of,
    guesses,
    is_bound,
    language_of,
    layouts,
    plain_name,
    questions,
    table_of,
    unasked,
)
from viva.benchmarks.card.questions import read_row
from viva.errors import DataError, VivaError, flag, option
from viva.files import write_whole
from viva.io.bounded import EncodingError
from viva.io.tables import SUFFIXES, files_of, plain_stem, records, split_of, suffix_of
from viva.visible import one_line, some

ENOUGH = 0.9
"""The share of sampled rows that a card must be able to grade to be taken at once."""
_MOST_KINDS = 40
_FEWEST_ROWS = 3
_CLASSES = {
    "choice": "options", "choices": "options", "truth": "truth", "number": "short", "math": "short", "exact": "short",
    "phrase": "short",    "open": "long", "rubric": "program",
}  # fmt: skip
"""Formats that are read alike: a table of short answers some of which are numbers mixes nothing."""


class Written(Struct, frozen=True):
    """A card, what it can grade of the sample, and why it says what it says."""

    card: Mapping[str, Any]
    sound: float
    notes: Mapping[str, str] = {}
    """Field → the comment behind it."""
    rows: int = 0
    """How many rows of the sample it takes."""
    lacking: str = ""
    """What the rows lack that it cannot grade."""


def dict_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def by_format(
    rows: Sequence[Mapping[str, Any]], best: Callable[[Sequence[Mapping[str, Any]]], Written]
) -> list[Written]:
    """Return a card for each kind of question, the commonest first, where a column says the kind; [] where none does.

    A column that is called so (`Format`, `type`) may part short answers from long ones; any other one, the file say,
    only questions with options from those without.
    """
    table = table_of(rows)
    tags = table.tags
    named = [name for name in tags if plain_name(name) in COLUMNS["formats"]]
    others = [name for name in tags if name not in named] if partial_options(rows) else []
    for column in [*named, *others]:
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            groups.setdefault(_value(row, column), []).append(row)
        if not 2 <= len(groups) <= _MOST_KINDS:
            continue
        found: dict[str, tuple[Written, list[str], list[Mapping[str, Any]]]] = {}
        for value, part in groups.items():
            card = best(part)
            if card.sound < ENOUGH or len(part) < _FEWEST_ROWS:
                continue
            kind = _kind(card)
            _, values, members = found.setdefault(kind, (card, [], []))
            values.append(value)
            members += part
        classes = {_CLASSES[kind.partition(" ")[0]] for kind in found}
        mixes = len(classes) > 1 if column in named else len(classes) > 1 and "options" in classes
        if mixes or (column == FILE and len({kind.partition(" ")[0] for kind in found}) > 1):
            cards = [_of(column, values, best(members)) for _, values, members in found.values()]
            return sorted(cards, key=lambda card: -card.rows)
    return []


def _kind(card: Written) -> str:
    """Return what cards must share to be one: what is graded how; short answers are one kind, whatever their columns
    hold.
    """
    form = str(card.card["format"])
    return f"{form} {card.card.get('options', '')}" if _CLASSES[form] == "options" else form


def _of(column: str, values: list[str], card: Written) -> Written:
    plain = {key: value for key, value in card.card.items() if key != "tags"}
    tags = [tag for tag in card.card.get("tags", []) if tag != column or len(values) > 1]
    return Written(
        {**plain, "where": {column: sorted(values)}, **({"tags": tags} if tags else {})},
        card.sound,
        {**card.notes, "where": "the table mixes kinds of questions"},
        card.rows,
        card.lacking,
    )


def _value(row: Mapping[str, Any], column: str) -> str:
    return text_of(cell_or_none(row, column)).strip()


def partial_options(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the columns of options that some rows fill and others leave empty; "" where there are none such."""
    table = table_of(rows)
    for question in questions(table)[:1]:
        for layout, _ in layouts(table, question):
            columns = layout if isinstance(layout, list) else [layout] if isinstance(layout, str) else []
            filled = sum(all(_value(row, name) not in ("", "[]", "{}") for name in columns[:2]) for row in rows)
            if columns and 0.03 * len(rows) < filled < 0.97 * len(rows):
                return ", ".join(columns)
    return ""


SAMPLED_FILES, SAMPLED_ROWS = 30, 2_000
HALF = 0.5
_SHOWN_ROWS = 3
REASONED = ("number", "math")
"""Formats of answers that a calculation ends with."""
_ASKED = ("test", "validation", "valid", "val", "dev", "train", "training")
"""The splits in the order in which one is asked."""
_SHOWN = ("dev", "validation", "valid", "val", "train", "training")
"""The splits in the order in which exemplars are taken from one."""
FEWEST_SHUFFLED = 20
"""So many rows of which the first option is always right are no chance."""
_NAME = re.compile(r"[a-z0-9]")
_HEADLESS = "the first row is a question: the file has no header"
_MEDIA = re.compile(
    r"\{'bytes': |data:(image|audio|video)/|\S+\.(png|jpe?g|gif|webp|bmp|svg|wav|mp3|mp4)$", re.IGNORECASE
)
"""What a cell begins with that holds no text but a file of another kind, as sets of the hub do, or names one."""
_SHIPPED = "the columns of the card "
_SAYS_NOTHING = re.compile(
    r"(?:data|test|train|training|dev|val|valid|validation|task|questions?|samples?|examples?|default|main|all|v?\d[\d.]*"
    r"|(?:test|train|validation)-\d+-of-\d+)",
    re.IGNORECASE,
)


def init_card(data: Path, out: Path | None = None) -> tuple[Path, str]:
    """Draft the cards of a table and write them: where the first lies, and what there is to say."""
    texts, said = draft_cards(data, out)
    write_cards(texts)
    return next(iter(texts)), said


def draft_cards(data: Path, out: Path | None = None) -> tuple[dict[Path, str], str]:
    """Draft a card for a table, or one for each kind of its questions: path → text, and what the user should know.

    Raises DataError for what is no table or none that a card can be guessed for, VivaError where a file is there.
    """
    split, shown = _splits(data)
    files = files_of(data, split)
    encoding = {}
    try:
        rows = _sample(files)
    except EncodingError as problem:
        if not problem.likely:
            raise
        encoding = {"encoding": problem.likely}
        rows = _sample(files, problem.likely)
    found = by_format(rows, lambda part: _best(part, data, files)) or [_best(rows, data, files)]
    first = out or Path(card_name(data))
    paths = [first, *(first.with_stem(f"{first.stem}-{one.card['format']}") for one in found[1:])]
    for path in paths:
        if path.exists():
            raise VivaError(f"{path} is there already: name another file with {option('out')}, or remove it")
    texts = {}
    cards = dict(zip(paths, found, strict=True))
    for path, best in cards.items():
        texts[path] = _text(
            {**best.card, **encoding},
            best,
            _titled(str(best.card.get("title", "")), data, files),
            pointed(data, path),
            split,
            shown,
            files,
            rows,
        )
        parse_card(texts[path].encode(), str(path))
    said = [_summed_up(path, best) for path, best in cards.items()]
    said += [f"{data} is not UTF-8, and read as {name}: {_shown(rows[0])}" for name in encoding.values()]
    return texts, "\n".join([*said, *_remarks(cards, rows)])


def card_of(table: Path) -> Path | None:
    """Find the card of an earlier draft. Raises VivaError where the file of its name is another's."""
    path = Path(card_name(table))
    if not path.exists():
        return None
    known = read_card(path).data if is_card(path) else ""
    if (path.parent / str(known)).absolute() != table.absolute():
        what = f"reads {known!r}" if known else "is no card of a table"
        raise VivaError(
            f"{path} is there already, and {what}: `viva init {table}` with {option('out', 'NAME.yaml')} writes "
            "another card"
        )
    return path


def write_cards(texts: Mapping[Path, str]) -> None:
    """Write what was drafted. Raises StorageError."""
    for path, text in texts.items():
        write_whole(path, text.encode())


def _summed_up(path: Path, best: Written) -> str:
    """Return what a card came to."""
    if best.sound < HALF:
        lacks = one_line(best.lacking, 200)
        return f"{path}: a draft; complete it where it says {TODO} ({lacks}), then `viva check {path}`"
    graded = f"{best.sound:.0%} of {best.rows:,} sampled rows can be graded"
    wanted = "; ".join(f"{column} = {', '.join(values)}" for column, values in best.card.get("where", {}).items())
    taken = f" (where {one_line(wanted, 200)})" if wanted else ""
    return f"{path}: {best.card['format']}, {graded}{taken}; `viva check {path}` looks at all of them"


def _remarks(found: Mapping[Path, Written], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return what a user should know of the cards before a run."""
    left = len(rows) - sum(card.rows for card in found.values())
    if left > 0:
        yield f"{left:,} of {len(rows):,} sampled rows are of a kind for which no card could be guessed: none asks them"
    if seen := {one_line(name, 40): None for name, value in rows[0].items() if _MEDIA.match(str(value))}:
        yield f"pictures or sounds in {some(list(seen), 3)}: only texts are asked"
    for path, card in found.items():
        if HALF <= card.sound < 1:
            left = round((1 - card.sound) * card.rows)
            yield f"{path}: {left:,} of the sampled rows stay unscored: {one_line(card.lacking, 160)}"
        if card.card["format"] in REASONED:
            yield f"{path} asks for the answer alone; a model that should work it out first is run with {flag('cot')}"
        if card.card["format"] == "open":
            yield f"{path}: no rule grades such answers: run it with {flag('judge', 'MODEL')}"
        guessed = "columns" not in card.card and not card.notes.get("format", "").startswith(_SHIPPED)
        if guessed and (apart := unasked(table_of(rows), _columns_of(card.card, rows[0]))):
            asked = str(card.card["question"])
            whole = "\n\n".join([f"{{{apart[0]}}}", asked if "{" in asked else f"{{{asked}}}"])
            names = some([one_line(name, 40) for name in apart], 3)
            yield f"{path} asks without the texts of {names}; if questions need them: question: {yaml_scalar(whole)}"
        if card.notes.get("answer") == CODES:
            yield f"{path}: {CODES}: then say in a template of `question` what each means"
        if (note := card.notes.get("answer", "")).endswith(DOUBT):
            yield f"{path}: {note} It counts from 0; change `from` if the right options are those behind 1:"
            yield from (f"  {_counted(card.card, row)}" for row in rows[:_SHOWN_ROWS])
    if any("options" in card.card or "where" in card.card for card in found.values()):
        return
    answered = {name.partition(".")[0] for card in found.values() for name in _columns_of(card.card, rows[0])}
    if (partial := partial_options(rows)) and partial.split(", ")[-1] not in answered:
        yield (
            f"{partial} hold options in some of the rows only: the table mixes kinds of questions. Add a "
            "`where` to the card (`viva docs data`), and make a card of each kind"
        )
    elif not partial and (free := ", ".join(sorted({*table_of(rows).named("options")} - answered))):
        yield f"{free} may hold options, but no answer names one of them: the card asks without them"


def _counted(card: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return a question with the options that its gold means, counted from 0 and from 1."""
    meant = []
    for start in (0, 1):
        counted = msgspec.convert({**card, "answer": {**card["answer"], "from": start}}, Card)
        question = read_row(counted, row, "", 0).question
        gold = question.answer or ""
        texts = [option for letter, option in zip(LETTERS, question.options, strict=False) if letter in gold]
        meant.append(f"from {start} {one_line(', '.join(texts), 60) or 'none'}")
    return f"{one_line(question.text, 80)}: {'; '.join(meant)}"


def _splits(data: Path) -> tuple[str, str]:
    """Return which split of a folder is asked, and which is shown; "" where it has none."""
    if not data.is_dir():
        return "", ""
    named = {split_of(file, data) for file in data.rglob("*") if suffix_of(file) in SUFFIXES and file.is_file()}
    asked = next((split for split in _ASKED if split in named), "")
    shown = next((split for split in _SHOWN if split in named and split != asked), "")
    return (asked if len(named - {""}) > 1 or ("" in named and asked) else ""), shown


def _sample(files: Sequence[Path], encoding: str = "") -> list[dict[str, Any]]:
    """Return rows of several files, evenly; with the columns that every table has. Raises DataError where there is
    none.
    """
    names = file_names(files)
    chosen = files[:: max(1, len(files) // SAMPLED_FILES)][:SAMPLED_FILES]
    most = max(20, SAMPLED_ROWS // len(chosen))
    rows: list[dict[str, Any]] = []
    for path in chosen:
        for number, row in records(path, encoding=encoding):
            if number >= most:
                break
            rows.append({**row, FILE: names[path], ROW: number})
    if not rows:
        raise DataError(f"{files[0]}: there is no row in it")
    return rows


def _best(rows: Sequence[Mapping[str, Any]], data: Path, files: Sequence[Path]) -> Written:
    """Return the card that can grade most of the rows; the first of those that can grade nearly all."""
    best: Written | None = None
    few = rows[:: max(1, len(rows) // 50)]
    for plain, notes in _candidates(rows, data, files):
        if not _gradable(plain, few)[0] or _leaves_options(plain, rows):
            continue
        sound, lacking, first = _gradable(plain, rows)
        if best is None or _rank(plain, sound) > _rank(best.card, best.sound):
            card = _shuffled(plain) if first and sound * len(rows) >= FEWEST_SHUFFLED else plain
            best = Written(card, sound, notes, len(rows), lacking)
        if sound >= ENOUGH:
            break
    return best if best is not None and best.sound >= HALF else _unsure(rows, best)


def _unsure(rows: Sequence[Mapping[str, Any]], best: Written | None) -> Written:
    """Return a card to be completed by hand: what could be told, and a TODO where nothing could."""
    asked = questions(table_of(rows))
    if best := best or _optioned(rows):
        why = (
            f"the likeliest (format {best.card['format']}, question {one_line(repr(best.card['question']), 40)}) "
            f"grades {best.sound:.0%} of the rows; of the others: {one_line(best.lacking, 120)}"
        )
    elif asked:
        why = f"{one_line(repr(asked[0]), 40)} may be the question, and no column looks like its right answer"
    else:
        why = "no column looks like a question"
    card = {"format": "exact", "question": asked[0] if asked else TODO, "answer": TODO, **(best.card if best else {})}
    notes = {**(best.notes if best else {}), "answer" if asked else "question": f"{TODO}: {why}"}
    return Written(card, best.sound if best else 0.0, notes, len(rows), why)


def _leaves_options(plain: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a card asks without the options of which its gold must be one: then that is a defect of the data."""
    gold = _gold_of(plain)
    question = columns_of(plain["question"], rows[0])[-1]
    return bool(gold) and "options" not in plain and is_bound(table_of(rows), question, gold)


def _gold_of(plain: Mapping[str, Any]) -> str:
    """Return the column of the gold answer."""
    return str(dict_of(gold := plain.get("answer", "")).get("column", gold))


def _optioned(rows: Sequence[Mapping[str, Any]]) -> Written | None:
    """Return the likeliest card with options and a gold, of which it can grade none."""
    golds = table_of(rows).golds()
    for plain, notes in guesses(rows):
        if "options" in plain and _gold_of(plain) in golds:
            return Written(plain, 0.0, notes, len(rows), _gradable(plain, rows)[1])
    return None


def _shuffled(plain: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a card with options in a drawn order: of rows in which the first one is always right."""
    options = plain.get("options")
    if not isinstance(options, str | list):
        return plain
    return {**plain, "options": {"text" if isinstance(options, str) else "columns": options, "shuffle": True}}


def _rank(plain: Mapping[str, Any], sound: float) -> tuple[bool, float]:
    """Return how good a card is. Options that fit half of the rows are no chance: without them a row whose answer is
    none of its options would count as sound.
    """
    return "options" in plain and sound >= HALF, sound


def _candidates(
    rows: Sequence[Mapping[str, Any]], data: Path, files: Sequence[Path]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    names = [name for name in rows[0] if name not in (FILE, ROW)]
    delimited = files[0].suffix.lower() in (".csv", ".tsv")
    if delimited and re.fullmatch(r"[A-J]", names[-1].strip()) and 4 <= len(names) <= 12:
        letters = list("ABCDEFGHIJ"[: len(names) - 2])
        plain = shipped()["mmlu-csv"] | {"columns": ["question", *letters, "answer"], "options": letters}
        spoken = language_of(next(iter(row.values())) for row in rows[:50])
        tagged = {"tags": [FILE]} if len(files) > 1 else {}
        yield {**plain, **spoken, **tagged}, {"columns": _HEADLESS}
    if delimited and len(names) == 2 and names[0].rstrip().endswith(("?", "？")):
        columns = ["question", "answer"]
        for guess, notes in guesses([dict(zip([*columns, FILE, ROW], row.values(), strict=False)) for row in rows]):
            yield {**guess, "columns": columns}, {**notes, "columns": _HEADLESS}
    known = [(used, name, plain) for name, plain in shipped().items() if (used := _columns_used(plain, rows[:50]))]
    spoken = language_of(text for row in rows[:50] for text in row.values())
    for _, name, plain in sorted(known, key=lambda one: (-one[0], one[1])):
        tags = [tag for tag in plain.get("tags", []) if tag != FILE or len(files) > 1]
        tags = tags or [tag for tag in table_of(rows).tags if tag not in _columns_of(plain, rows[0])][:6]
        own = {key: value for key, value in plain.items() if key not in ("language", "tags")}
        if dict_of(own.get("headline")).get("macro", "") not in ("", *tags):
            del own["headline"]
        yield {**own, **spoken, **({"tags": tags} if tags else {})}, {"format": f"{_SHIPPED}{name}"}
    yield from guesses(rows)


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """Return the cards that come with Viva as plain data, by name; without those that go by the names of a set's files,
    and those whose columns say nothing of how they are graded.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(CARDS.glob("*.yaml")):
        card = parse_card(path.read_bytes(), path.name)
        if card.where or card.shown.text or card.format in ("facts", "letters"):
            continue
        plain = msgspec.to_builtins(card)
        default = msgspec.to_builtins(Card(format=card.format, question=""))
        found[path.stem] = {
            key: _lean(value) for key, value in plain.items() if value != default.get(key) or key == "format"
        }
    return found


def _lean(value: Any) -> Any:
    """Return a mapping without what is empty in it."""
    if not isinstance(value, dict):
        return value
    return {key: one for key, one in value.items() if one not in ("", [], None, 0, False) or key == "from"}


def _columns_used(plain: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many columns of the table a card names, the table having all of them; 0 where one is missing."""
    if plain.get("columns"):
        return 0  # those of files without a header are told by their first row
    names = _columns_of(plain, rows[0]) | {tag for tag in plain.get("tags", ()) if tag != FILE}
    return len(names) if all(any(_has(row, name) for row in rows) for name in names) else 0


def _columns_of(plain: Mapping[str, Any], row: Mapping[str, Any]) -> set[str]:
    """Return the columns that a card names, but for its tags."""
    names: set[str] = set()
    for field in ("question", "id", "explanation"):
        if plain.get(field):
            names.update(columns_of(plain[field], row))
    for field in ("options", "answer", "tests"):
        names.update(_named_in(plain.get(field), row))
    return names


def _named_in(value: Any, row: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value, str):
        yield from columns_of(value, row)
    elif isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in ("column", "text", "label", "columns", "right", "wrong", "aliases", "test", "before"):
                yield from _named_in(one, row)


def _has(row: Mapping[str, Any], name: str) -> bool:
    try:
        cell(row, name)
    except Absent:
        return False
    return True


def _gradable(plain: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> tuple[float, str, bool]:
    """Return the share of rows that a card can grade, what most of the others lack, and whether the first option is
    always the right one; 0 for what is no card.
    """
    try:
        card = msgspec.convert({**plain, "columns": []}, Card)
    except msgspec.ValidationError:
        return 0.0, "", False
    columns = plain.get("columns") or []
    golds: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for given in rows:
        row = dict(zip([*columns, FILE, ROW], given.values(), strict=False)) if columns else given
        read = read_row(card, row, "0", 0)
        if read.question.answer is None:
            lacking[str(read.question.explanation)] += 1
        else:
            golds[str(read.question.answer)] += 1
    sound = len(rows) - lacking.total()
    return sound / len(rows), max(lacking, key=lacking.__getitem__, default=""), golds["A"] == sound > 0


def _called(data: Path) -> str:
    """Return a card's name, from that of its data; from the folder's where the file has a name that says nothing."""
    stem = plain_stem(data).removesuffix(".txt") if not any(sign in data.name for sign in "*?[") else data.parent.name
    if _SAYS_NOTHING.fullmatch(stem) and data.absolute().parent.name:
        stem = data.absolute().parent.name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "card"
    return name if _NAME.search(name.lower()) else "card"


def card_name(data: Path) -> str:
    """Name the file that a table's card is written to; never that of the table itself."""
    return f"{_called(data)}{'-card' * (data.suffix in ('.yaml', '.yml'))}.yaml"


def _titled(shipped_title: str, data: Path, files: Sequence[Path]) -> str:
    """Return a card's title: that of the layout where the data's name says so, too; others publish in the same
    layout.
    """
    wanted = re.sub(r"[^a-z0-9]", "", shipped_title.lower())
    for name in (plain_stem(data), data.absolute().parent.name):
        if wanted and re.sub(r"[^a-z0-9]", "", name.lower()) == wanted:
            return shipped_title
    return _called(files[0] if len(files) == 1 else data)


def pointed(data: Path, card: Path) -> str:
    """Return the data as a card names it: by a path below its folder, else by the whole one."""
    folder, there = card.parent.resolve(), Path(os.path.abspath(data))  # noqa: PTH100 - a pattern does not exist
    return str(there.relative_to(folder)) if there.is_relative_to(folder) else str(there)


def _text(
    card: dict[str, Any],
    best: Written,
    title: str,
    data: str,
    split: str,
    shown: str,
    files: Sequence[Path],
    rows: Sequence[Mapping[str, Any]],
) -> str:
    """Return the card as YAML, with comments."""
    exemplars = {key: value for key, value in dict_of(card.get("exemplars")).items() if key != "data"}
    shared, others = clusters_of(table_of(rows), str(card["question"]))
    if shared:
        card = {"cluster": shared[0], **card}
    card |= {"title": title, "data": data, "split": split}
    notes = {"cluster": "questions about one text are one observation", **best.notes}
    if len(files) > 1:
        notes["data"] = f"{len(files):,} files"
    lines = ["# How a table is an exam; `viva docs data` has every field. Comments are what a value was guessed from."]
    for key in (known.encode_name for known in msgspec.structs.fields(Card)):
        if key != "exemplars" and card.get(key, "") != "":
            note = f"  # {one_line(notes[key], 240)}" if key in notes else ""
            lines.append(f"{key}: {yaml_flow(card[key])}{note}")
    if shown:
        lines.append(f"exemplars: {yaml_flow({**exemplars, 'split': shown})}  # for {flag('shots')}")
    else:
        lines.append(f"# exemplars: {{data: FILE, by: TAG, reasoning: COLUMN}}  # rows as above, for {flag('shots')}")
    lines.append(
        f'# prompt: "Question: {{question}}\\n{{options}}"  # in place of the built-in one (viva show CARD '
        f"{flag('prompt')})"
    )
    if card["format"] in REASONED:
        lines.append(
            f"# `viva run {flag('cot')}` lets a model work the answer out; without it the answer alone is asked for"
        )
    if card.get("tags") and "headline" not in card:
        lines.append(
            f"# headline: {{macro: {yaml_scalar(card['tags'][0])}}}  # the mean over its values, not over questions"
        )
    if others and "cluster" not in card:
        lines.append(f"# cluster: {yaml_scalar(others[0])}  # if questions with one value are about one text")
    lines.append(
        "# The columns: " + ", ".join(one_line(repr(name), 40) for name in rows[0] if name not in (FILE, ROW))[:800]
    )
    if best.sound < HALF:
        lines.append("# The first rows:")
        lines += [f"#   {_shown(row)}" for row in rows[:_SHOWN_ROWS]]
    return "\n".join(lines) + "\n"


def _shown(row: Mapping[str, Any]) -> str:
    return one_line(text_of({name: value for name, value in row.items() if name not in (FILE, ROW)}), 400)
