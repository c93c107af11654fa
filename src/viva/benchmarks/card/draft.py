"""`viva init`: from a table to the card that makes it an exam, with the evidence for every guess.

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
from msgspec.structs import replace

from viva.benchmarks import CARDS
from viva.benchmarks.card.cardmodel import (
    TODO,
    Card,
    GoldForm,
    Macro,
    Options,
    is_card,
    parse_card,
    read_card,
    yaml_flow,
    yaml_scalar,
)
from viva.benchmarks.card.cardtable import file_names
from viva.benchmarks.card.cells import FILE, LETTERS, ROW, Absent, cell, cell_or_none, columns_of, text_of
from viva.benchmarks.card.guesses import (
    CODES,
    COLUMNS,
    DOUBT,
    Guess,
    Row,
    as_template,
    clusters_of,
    columns_of_options,
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
"""Formats that are one kind of question: short answers may be numbers or words in the same table."""


class Written(Struct, frozen=True):
    """A drafted card, the share of the sample that it can grade, and the reasons for its fields."""

    card: Card
    sound: float
    notes: Mapping[str, str] = {}
    """Field → the comment behind it."""
    rows: int = 0
    """Number of rows of the sample that it asks."""
    lacking: str = ""
    """Why it cannot grade the other rows."""


class Sample(Struct, frozen=True):
    """Sampled rows of a table that a card is drafted for, and their files."""

    data: Path
    files: Sequence[Path]
    rows: Sequence[Row]
    split: str = ""
    """The split of a folder that is asked."""
    shown: str = ""
    """The split of a folder from which exemplars are taken."""
    encoding: str = ""


def by_format(rows: Sequence[Row], best: Callable[[Sequence[Row]], Written]) -> list[Written]:
    """Return a card for each kind of question, the commonest first, where a column says the kind; [] where none does.

    A column with such a name (`Format`, `type`) may separate short from long answers; any other column (the file, say)
    only questions with options from those without.
    """
    table = table_of(rows)
    tags = table.tags
    named = [name for name in tags if plain_name(name) in COLUMNS["formats"]]
    others = [name for name in tags if name not in named] if partial_options(rows) else []
    for column in [*named, *others]:
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(_value(row, column), []).append(row)
        if not 2 <= len(groups) <= _MOST_KINDS:
            continue
        by_kind: dict[str, tuple[list[str], list[Row]]] = {}
        for value, part in groups.items():
            card = best(part)
            if card.sound < ENOUGH or len(part) < _FEWEST_ROWS:
                continue
            values, members = by_kind.setdefault(_kind(card.card), ([], []))
            values.append(value)
            members += part
        classes = {_CLASSES[kind.partition(" ")[0]] for kind in by_kind}
        mixes = len(classes) > 1 if column in named else len(classes) > 1 and "options" in classes
        if mixes or (column == FILE and len({kind.partition(" ")[0] for kind in by_kind}) > 1):
            cards = [_of(column, values, best(members)) for values, members in by_kind.values()]
            return sorted(cards, key=lambda card: -card.rows)
    return []


def _kind(card: Card) -> str:
    """Return the kind of questions that a card grades; short answers are one kind, whatever their columns hold."""
    return f"{card.format} {card.options}" if _CLASSES[card.format] == "options" else card.format


def _of(column: str, values: list[str], best: Written) -> Written:
    tags = [tag for tag in best.card.tags if tag != column or len(values) > 1]
    return replace(
        best,
        card=replace(best.card, where={column: sorted(values)}, tags=tags),
        notes={**best.notes, "where": "the table mixes kinds of questions"},
    )


def _value(row: Row, column: str) -> str:
    return text_of(cell_or_none(row, column)).strip()


def partial_options(rows: Sequence[Row]) -> str:
    """Return the columns of options that some rows fill and others leave empty; "" without any."""
    table = table_of(rows)
    for question in questions(table)[:1]:
        for layout, _ in layouts(table, question):
            columns = columns_of_options(layout)
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
"""Rows from which on it is no coincidence that the first option is always right."""
_NAME = re.compile(r"[a-z0-9]")
_HEADLESS = "the first row is a question: the file has no header"
_MEDIA = re.compile(
    r"\{'bytes': |data:(image|audio|video)/|\S+\.(png|jpe?g|gif|webp|bmp|svg|wav|mp3|mp4)$", re.IGNORECASE
)
"""Beginning of a cell that holds or names a file of another kind instead of text, as in sets of the Hub."""
_SHIPPED = "the columns of the card "
_SAYS_NOTHING = re.compile(
    r"(?:data|test|train|training|dev|val|valid|validation|task|questions?|samples?|examples?|default|main|all|v?\d[\d.]*"
    r"|(?:test|train|validation)-\d+-of-\d+)",
    re.IGNORECASE,
)


def init_card(data: Path, out: Path | None = None) -> tuple[Path, str]:
    """Draft the cards of a table and write them; return the first path, and a message."""
    texts, summary = draft_cards(data, out)
    write_cards(texts)
    return next(iter(texts)), summary


def draft_cards(data: Path, out: Path | None = None) -> tuple[dict[Path, str], str]:
    """Draft a card for a table, or one for each kind of its questions: path → text, and a message to the user.

    Raises DataError where it is no table or no card can be guessed, VivaError where a file exists already.
    """
    split, shown = _splits(data)
    files = files_of(data, split)
    encoding = ""
    try:
        rows = _sample(files)
    except EncodingError as problem:
        if not problem.likely:
            raise
        encoding = problem.likely
        rows = _sample(files, encoding)
    sample = Sample(data, files, rows, split, shown, encoding)
    written_cards = by_format(rows, lambda part: _best(replace(sample, rows=part))) or [_best(sample)]
    first = out or Path(card_name(data))
    paths = [first, *(first.with_stem(f"{first.stem}-{written.card.format}") for written in written_cards[1:])]
    cards = dict(zip(paths, written_cards, strict=True))
    texts = {}
    for path, best in cards.items():
        if path.exists():
            raise VivaError(f"{path} is there already: name another file with {option('out')}, or remove it")
        texts[path] = _text(best, sample, path)
        parse_card(texts[path].encode(), str(path))
    lines = [_summed_up(path, best) for path, best in cards.items()]
    if encoding:
        lines.append(f"{data} is not UTF-8, and read as {encoding}: {_shown(rows[0])}")
    return texts, "\n".join([*lines, *_remarks(cards, rows)])


def card_of(table: Path) -> Path | None:
    """Find the card of an earlier draft. Raises VivaError where its path holds another file."""
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
    """Write drafted cards. Raises StorageError."""
    for path, text in texts.items():
        write_whole(path, text.encode())


def _summed_up(path: Path, best: Written) -> str:
    """Return a summary of a drafted card."""
    if best.sound < HALF:
        lacks = one_line(best.lacking, 200)
        return f"{path}: a draft; complete it where it says {TODO} ({lacks}), then `viva check {path}`"
    graded = f"{best.sound:.0%} of {best.rows:,} sampled rows can be graded"
    wanted = "; ".join(f"{column} = {', '.join(values)}" for column, values in best.card.where.items())
    taken = f" (where {one_line(wanted, 200)})" if wanted else ""
    return f"{path}: {best.card.format}, {graded}{taken}; `viva check {path}` looks at all of them"


def _remarks(cards: Mapping[Path, Written], rows: Sequence[Row]) -> Iterator[str]:
    """Yield remarks on the cards for the user to read before a run."""
    left = len(rows) - sum(card.rows for card in cards.values())
    if left > 0:
        yield f"{left:,} of {len(rows):,} sampled rows are of a kind for which no card could be guessed: none asks them"
    if seen := {one_line(name, 40): None for name, value in rows[0].items() if _MEDIA.match(str(value))}:
        yield f"pictures or sounds in {some(list(seen), 3)}: only texts are asked"
    for path, best in cards.items():
        yield from _remarks_on(path, best, rows)
    if any(best.card.options or best.card.where for best in cards.values()):
        return
    answered = {name.partition(".")[0] for best in cards.values() for name in _columns_of(best.card, rows[0])}
    if (partial := partial_options(rows)) and partial.split(", ")[-1] not in answered:
        yield (
            f"{partial} hold options in some of the rows only: the table mixes kinds of questions. Add a "
            "`where` to the card (`viva docs data`), and make a card of each kind"
        )
    elif not partial and (free := ", ".join(sorted({*table_of(rows).named("options")} - answered))):
        yield f"{free} may hold options, but no answer names one of them: the card asks without them"


def _remarks_on(path: Path, best: Written, rows: Sequence[Row]) -> Iterator[str]:
    """Yield remarks on one card."""
    card, note = best.card, best.notes.get("answer", "")
    if HALF <= best.sound < 1:
        left = round((1 - best.sound) * best.rows)
        yield f"{path}: {left:,} of the sampled rows stay unscored, for instance: {one_line(best.lacking, 160)}"
    if card.format in REASONED:
        yield f"{path} asks for the answer alone; a model that should work it out first is run with {flag('cot')}"
    if card.format == "open":
        yield f"{path}: no rule grades such answers: run it with {flag('judge', 'MODEL')}"
    guessed = not card.columns and not best.notes.get("format", "").startswith(_SHIPPED)
    if guessed and (apart := unasked(table_of(rows), _columns_of(card, rows[0]))):
        whole = f"{{{apart[0]}}}\n\n{as_template(card.question)}"
        names = some([one_line(name, 40) for name in apart], 3)
        yield f"{path} asks without the texts of {names}; if questions need them: question: {yaml_scalar(whole)}"
    if note == CODES:
        yield f"{path}: {CODES}: then say in a template of `question` what each means"
    if other := _other_form(card, rows):
        yield f"{path}: every answer may be a place of an option or its text: change `as` to {other} if it is that"
    if note.endswith(DOUBT):
        yield f"{path}: {note} It counts from 0; change `from` if the right options are those behind 1:"
        yield from (f"  {_counted(card, row)}" for row in rows[:_SHOWN_ROWS])


def _counted(card: Card, row: Row) -> str:
    """Return a question with the options that its gold means, counted from 0 and from 1."""
    meant = []
    for start in (0, 1):
        question = read_row(replace(card, answer=replace(card.gold, start=start)), row, "", 0).question
        gold = question.answer or ""
        texts = [option for letter, option in zip(LETTERS, question.options, strict=False) if letter in gold]
        meant.append(f"from {start} {one_line(', '.join(texts), 60) or 'none'}")
    return f"{one_line(question.text, 80)}: {'; '.join(meant)}"


def _other_form(card: Card, rows: Sequence[Row]) -> str:
    """Return another reading of all rows' golds, by which other options would be right; "" if there is none."""
    if card.gold.form not in ("index", "text"):
        return ""
    form: GoldForm = "text" if card.gold.form == "index" else "index"
    ways = (card, replace(card, answer=replace(card.gold, form=form, start=1)))
    golds = [[read_row(way, row, "", 0).question.answer for row in rows] for way in ways]
    return form.replace("index", "index, from: 1") if None not in golds[1] and golds[0] != golds[1] else ""


def _splits(data: Path) -> tuple[str, str]:
    """Return the splits of a folder that are asked and shown; "" where there is none."""
    if not data.is_dir():
        return "", ""
    named = {split_of(file, data) for file in data.rglob("*") if suffix_of(file) in SUFFIXES and file.is_file()}
    asked = next((split for split in _ASKED if split in named), "")
    shown = next((split for split in _SHOWN if split in named and split != asked), "")
    return (asked if len(named - {""}) > 1 or ("" in named and asked) else ""), shown


def _sample(files: Sequence[Path], encoding: str = "") -> list[dict[str, Any]]:
    """Return rows sampled evenly from files, with the columns that every table has. Raises DataError without any."""
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


def _best(sample: Sample) -> Written:
    """Return the card that can grade most of the rows; the first of those that can grade nearly all."""
    best: Written | None = None
    rows = sample.rows
    few = rows[:: max(1, len(rows) // 50)]
    for card, notes in _candidates(rows, sample.files):
        if not _gradable(card, few)[0] or _leaves_options(card, rows):
            continue
        sound, lacking, first = _gradable(card, rows)
        if best is None or _rank(card, sound) > _rank(best.card, best.sound):
            shuffled = first and sound * len(rows) >= FEWEST_SHUFFLED
            best = Written(_shuffled(card) if shuffled else card, sound, notes, len(rows), lacking)
        if sound >= ENOUGH:
            break
    return best if best is not None and best.sound >= HALF else _unsure(rows, best)


def _unsure(rows: Sequence[Row], best: Written | None) -> Written:
    """Return a card to be completed by hand, with a TODO for what could not be guessed."""
    asked = questions(table_of(rows))
    if best := best or _optioned(rows):
        why = (
            f"the likeliest (format {best.card.format}, question {one_line(repr(best.card.question), 40)}) "
            f"grades {best.sound:.0%} of the rows; of the others: {one_line(best.lacking, 120)}"
        )
    elif asked:
        why = f"{one_line(repr(asked[0]), 40)} may be the question, and no column looks like its right answer"
    else:
        why = "no column looks like a question"
    best = best or Written(Card(format="exact", question=asked[0] if asked else TODO), 0.0, rows=len(rows))
    notes = {**best.notes, "answer" if asked else "question": f"{TODO}: {why}"}
    return replace(best, card=replace(best.card, answer=best.card.answer or TODO), notes=notes, lacking=why)


def _leaves_options(card: Card, rows: Sequence[Row]) -> bool:
    """Tell whether a card lacks the options that its gold must be one of: then that is a defect of the data."""
    question = columns_of(card.question, rows[0])[-1]
    return bool(card.gold.column) and not card.options and is_bound(table_of(rows), question, card.gold.column)


def _optioned(rows: Sequence[Row]) -> Written | None:
    """Return the likeliest card with options and a gold, though it can grade no row."""
    golds = table_of(rows).golds()
    likely = [guess for guess in guesses(rows) if guess[0].options and guess[0].gold.column in golds]
    same = [guess for guess in likely if guess[0].gold.column == likely[0][0].gold.column]
    if not same:
        return None
    card, notes = min(same, key=lambda guess: guess[0].gold.form == "text")  # a number is not the text of an option
    return Written(card, 0.0, notes, len(rows), _gradable(card, rows)[1])


def _shuffled(card: Card) -> Card:
    """Return a card with shuffled options, for rows in which the first one is always right."""
    if not card.options or isinstance(card.options, Options):
        return card
    return replace(card, options=replace(card.layout, shuffle=True))


def _rank(card: Card, sound: float) -> tuple[bool, float]:
    """Return the rank of a card. One with options that fit half of the rows comes first: without options, a row whose
    answer is none of them would count as sound.
    """
    return bool(card.options) and sound >= HALF, sound


def _candidates(rows: Sequence[Row], files: Sequence[Path]) -> Iterator[Guess]:
    names = [name for name in rows[0] if name not in (FILE, ROW)]
    delimited = suffix_of(files[0]) in (".csv", ".tsv", ".txt")
    if delimited and re.fullmatch(r"[A-J]", names[-1].strip()) and 4 <= len(names) <= 12:
        letters = list("ABCDEFGHIJ"[: len(names) - 2])
        headless = replace(
            shipped()["mmlu-csv"],
            columns=["question", *letters, "answer"],
            options=letters,
            language=language_of(next(iter(row.values())) for row in rows[:50]),
        )
        yield replace(headless, tags=[FILE]) if len(files) > 1 else headless, {"columns": _HEADLESS}
    if delimited and len(names) == 2 and names[0].rstrip().endswith(("?", "？")):
        columns = ["question", "answer"]
        for guess, notes in guesses([dict(zip([*columns, FILE, ROW], row.values(), strict=False)) for row in rows]):
            yield replace(guess, columns=columns), {**notes, "columns": _HEADLESS}
    known = [(used, name, card) for name, card in shipped().items() if (used := _columns_used(card, rows[:50]))]
    spoken = language_of(text for row in rows[:50] for text in row.values())
    for _, name, card in sorted(known, key=lambda candidate: (-candidate[0], candidate[1])):
        tags = [tag for tag in card.tags if tag != FILE or len(files) > 1]
        tags = tags or [tag for tag in table_of(rows).tags if tag not in _columns_of(card, rows[0])][:6]
        lost = isinstance(card.headline, Macro) and card.headline.macro not in tags
        own = replace(card, language=spoken, tags=tags, headline="micro" if lost else card.headline)
        yield own, {"format": f"{_SHIPPED}{name}"}
    yield from guesses(rows)


@cache
def shipped() -> dict[str, Card]:
    """Return the cards that come with Viva by name, without those that depend on file names, and those whose columns do
    not show how they are graded.
    """
    cards = {path.stem: parse_card(path.read_bytes(), path.name) for path in sorted(CARDS.glob("*.yaml"))}
    return {
        name: card
        for name, card in cards.items()
        if not (card.where or card.shown.text or card.format in ("facts", "letters"))
    }


def _columns_used(card: Card, rows: Sequence[Row]) -> int:
    """Return the number of columns that a card names; 0 where the table lacks one."""
    if card.columns:
        return 0  # a card of files without a header is recognised by the first row
    names = _columns_of(card, rows[0]) | {tag for tag in card.tags if tag != FILE}
    return len(names) if all(any(_has(row, name) for row in rows) for name in names) else 0


def _columns_of(card: Card, row: Row) -> set[str]:
    """Return the columns that a card names, except its tags."""
    layout, gold = card.layout, card.gold
    wrong = [layout.wrong] if isinstance(layout.wrong, str) else layout.wrong
    tests = [card.tests.test, card.tests.before] if card.tests else []
    of_options = [layout.text, layout.label, *layout.columns, layout.right, *wrong]
    named = [card.question, card.id, card.explanation, *of_options, gold.column, *gold.aliases, *tests]
    return {column for name in filter(None, named) for column in columns_of(name, row)}


def _has(row: Row, name: str) -> bool:
    try:
        cell(row, name)
    except Absent:
        return False
    return True


def _gradable(card: Card, rows: Sequence[Row]) -> tuple[float, str, bool]:
    """Return the share of rows that a card can grade, the commonest defect of the others, and whether the first option
    is always right.
    """
    golds: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for given in rows:
        row = dict(zip([*card.columns, FILE, ROW], given.values(), strict=False)) if card.columns else given
        read = read_row(card, row, "0", 0)
        if read.question.answer is None:
            lacking[str(read.question.explanation)] += 1
        else:
            golds[str(read.question.answer)] += 1
    sound = len(rows) - lacking.total()
    return sound / len(rows), max(lacking, key=lacking.__getitem__, default=""), golds["A"] == sound > 0


def _called(data: Path) -> str:
    """Return a card's name, from that of its data; from the folder's where the file's name is generic."""
    stem = plain_stem(data).removesuffix(".txt") if not any(sign in data.name for sign in "*?[") else data.parent.name
    if _SAYS_NOTHING.fullmatch(stem) and data.absolute().parent.name:
        stem = data.absolute().parent.name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "card"
    return name if _NAME.search(name.lower()) else "card"


def card_name(data: Path) -> str:
    """Return the name of the file for a table's card; never that of the table itself."""
    return f"{_called(data)}{'-card' * (data.suffix in ('.yaml', '.yml'))}.yaml"


def _titled(shipped_title: str, data: Path, files: Sequence[Path]) -> str:
    """Return a card's title: the shipped card's if the data's name agrees, since other sets use the same layout."""
    wanted = re.sub(r"[^a-z0-9]", "", shipped_title.lower())
    for name in (plain_stem(data), data.absolute().parent.name):
        if wanted and re.sub(r"[^a-z0-9]", "", name.lower()) == wanted:
            return shipped_title
    return _called(files[0] if len(files) == 1 else data)


def pointed(data: Path, card: Path) -> str:
    """Return the path of the data for a card: relative if below its folder, else absolute."""
    folder, there = card.parent.resolve(), Path(os.path.abspath(data))  # noqa: PTH100 - a pattern does not exist
    return str(there.relative_to(folder)) if there.is_relative_to(folder) else str(there)


def _text(best: Written, sample: Sample, path: Path) -> str:
    """Return the card as YAML, with comments."""
    card, files, rows = best.card, sample.files, sample.rows
    shared, others = clusters_of(table_of(rows), card.question)
    card = replace(
        card,
        title=_titled(card.title, sample.data, files),
        data=pointed(sample.data, path),
        split=sample.split,
        encoding=sample.encoding or card.encoding,
        cluster=card.cluster or next(iter(shared), ""),
    )
    notes = {"cluster": "questions about one text are one observation", **best.notes}
    if len(files) > 1:
        notes["data"] = f"{len(files):,} files"
    lines = ["# How a table is an exam; `viva docs data` has every field. Comments are what a value was guessed from."]
    for key, value in _said(card).items():
        if key != "exemplars":
            lines.append(f"{key}: {yaml_flow(value)}{f'  # {one_line(notes[key], 240)}' if key in notes else ''}")
    if sample.shown:
        exemplars = _lean(msgspec.to_builtins(replace(card.shown, data="", split=sample.shown)))
        lines.append(f"exemplars: {yaml_flow(exemplars)}  # for {flag('shots')}")
    else:
        lines.append(f"# exemplars: {{data: FILE, by: TAG, reasoning: COLUMN}}  # rows as above, for {flag('shots')}")
    lines.append(
        f'# prompt: "Question: {{question}}\\n{{options}}"  # in place of the built-in one (viva show CARD '
        f"{flag('prompt')})"
    )
    if card.format in REASONED:
        lines.append(
            f"# `viva run {flag('cot')}` lets a model work the answer out; without it the answer alone is asked for"
        )
    if card.tags and card.headline == "micro":
        lines.append(
            f"# headline: {{macro: {yaml_scalar(card.tags[0])}}}  # the mean over its values, not over questions"
        )
    if others and not card.cluster:
        lines.append(f"# cluster: {yaml_scalar(others[0])}  # if questions with one value are about one text")
    lines.append(
        "# The columns: " + ", ".join(one_line(repr(name), 40) for name in rows[0] if name not in (FILE, ROW))[:800]
    )
    if best.sound < HALF:
        lines.append("# The first rows:")
        lines += [f"#   {_shown(row)}" for row in rows[:_SHOWN_ROWS]]
    return "\n".join(lines) + "\n"


def _said(card: Card) -> dict[str, Any]:
    """Return the non-empty fields of a card, as in its file."""
    plain, silent = (msgspec.to_builtins(each) for each in (card, Card(format=card.format)))
    return {key: _lean(value) for key, value in plain.items() if key == "format" or value != silent[key]}


def _lean(value: Any) -> Any:
    """Return a mapping without empty values."""
    if not isinstance(value, dict):
        return value
    counts = value.get("as") == "index"
    return {
        key: item for key, item in value.items() if item not in ("", [], None, 0, False) or (counts and key == "from")
    }


def _shown(row: Row) -> str:
    return one_line(text_of({name: value for name, value in row.items() if name not in (FILE, ROW)}), 400)
