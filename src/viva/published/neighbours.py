"""Published rows comparable with an exam, and how their settings differed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.languages import language_name
from viva.published.catalogue import Declared, Setting, catalogue, table
from viva.published.printed import Entry, Neighbour, called, find, plain, share
from viva.types import ExamSpec

_SHOTS = {0: "zero-shot", 1: "one exemplar", 5: "five-shot"}
NEAREST = "nearest"
NONE = "none"


def neighbours(
    spec: ExamSpec, *, sample: bool = False, answers: int = 0, questions: int = 0, template: str = ""
) -> tuple[Neighbour, ...]:
    """Return all published rows that an exam of these settings can be compared with, in the order of their table.

    `sample`: it asks Viva's bundled sample in place of the published questions. `questions`: their number, and
    `answers`: answers to each; 0 if unknown. `template`: its template family. Of the paper's settings the nearest are
    taken: by language, then by number of exemplars. Differences are in every row's `condition`. () where nothing was
    published, or the headline is another one: with rationales, if the paper asked for none.
    """
    paper = catalogue().get(spec.benchmark)
    if paper is None or not paper.settings:
        return ()
    setting = _setting(paper.settings, spec)
    if spec.rationale and not setting.rationale:
        return ()
    differs = differences(setting, spec, sample=sample, answers=answers, questions=questions, template=template)
    condition = f"{setting.said}; here: {', '.join(differs)}" if differs else setting.said
    declared = {each_table.name: each_table for each_table in paper.tables}
    ours = [declared[name] for name in setting.tables]
    shown = [table(spec.benchmark, our.name) for our in ours]
    entries = [
        {plain(entry.name): entry for entry in each_table.entries if entry.kind not in setting.without}
        for each_table in shown
    ]
    source = shown[0].source
    neighbours_found: list[Neighbour] = []
    for name, entry in entries[0].items():
        rows = [each.get(name) for each in entries]
        printed = {word: figure for row in rows if row is not None for word, figure in row.figures.items()}
        shared = _comprehension(setting, printed)
        score = share(printed[setting.headline]) if setting.headline in printed else None
        if spec.only and setting.comprehension:
            score = shared
        figures = _figures(spec, ours, rows)
        cell = setting.comprehension_cell if spec.only else setting.shared_cell
        if cell is not None and shared is not None:
            figures[cell] = shared
        neighbours_found.append(
            Neighbour(
                model=entry.name,
                source=source,
                score=score,
                figures=figures,
                condition=condition,
                differs=differs,
                kind=entry.kind,
            )
        )
    return tuple(neighbours_found)


def differences(
    setting: Setting, spec: ExamSpec, *, sample: bool, answers: int, questions: int, template: str = ""
) -> tuple[str, ...]:
    """Return the differences between an exam and the paper's setting, a phrase each."""
    listed: list[str] = []
    if spec.language != setting.language:
        listed.append(f"in {language_name(spec.language)}")
    if spec.shots not in setting.shots:
        listed.append(_SHOTS.get(spec.shots, f"{spec.shots}-shot"))
    if spec.chain_of_thought:
        listed.append("chain of thought")
    if setting.form and spec.form != setting.form:
        listed.append(f"asked as a {spec.form} model")
    if template in setting.templates:
        listed.append(f"the template {template} as its makers have it (the authors sent {setting.templates[template]})")
    if spec.choose == "likelihood":
        listed.append("options chosen by their likelihood")
    elif spec.choose and spec.choose != setting.choose:
        listed.append("options chosen by the next token")
    if spec.only:
        counted = " and ".join(f"{count:,}" for count in setting.comprehension.values())
        listed.append(f"{spec.only} only, the published parts averaged by their {counted} questions")
    if answers and setting.answers and answers != setting.answers:
        listed.append(f"{answers} answer{'s' if answers > 1 else ''} to a question")
    if sample:
        listed.append("Viva's bundled sample in place of the published questions")
    if not sample and (number := _number(setting, spec, questions)):
        listed.append(number)
    return tuple(listed)


def _number(setting: Setting, spec: ExamSpec, questions: int) -> str:
    """Return a phrase on the number of questions; "" where it is the paper's."""
    published = sum(setting.comprehension.values()) if spec.only and setting.comprehension else setting.questions
    if questions:
        return "" if questions == published else f"{questions:,} questions in place of {published:,}"
    if spec.questions:
        return f"{len(spec.questions):,} listed questions only"
    return f"{spec.limit:,} questions at most" if spec.limit is not None and spec.limit < published else ""


def _setting(settings: Sequence[Setting], spec: ExamSpec) -> Setting:
    """Return the paper's nearest setting: first by language, then by exemplars (some beat none)."""

    def distance(setting: Setting) -> tuple[bool, bool, int]:
        some = bool(max(setting.shots)) != bool(spec.shots)
        return setting.language != spec.language, some, min(abs(shots - spec.shots) for shots in setting.shots)

    return min(settings, key=distance)


def _comprehension(setting: Setting, figures: Mapping[str, float]) -> float | None:
    """Return the mean over the formats that need no judge, by their questions, as a share of 1."""
    counts = setting.comprehension
    if not counts or not set(counts) <= set(figures):
        return None
    return share(sum(figures[name] * count for name, count in counts.items()) / sum(counts.values()))


def _figures(
    spec: ExamSpec, declared: Sequence[Declared], entries: Sequence[Entry | None]
) -> dict[tuple[str, str, str], float]:
    """Return cell of the exam's tables → figure, a share of 1; for an exam of some formats, of those only."""
    figures: dict[tuple[str, str, str], float] = {}
    for each_table, entry in zip(declared, entries, strict=True):
        printed = entry.figures if entry else {}
        for block in each_table.cells:
            for cell, name in block.named().items():
                if name in printed and not (spec.only and _mixed(cell)):
                    figures[cell] = share(printed[name])
    return figures


def _mixed(cell: tuple[str, str, str]) -> bool:
    """Return whether a cell is about several formats, of which an exam of some formats asks only some."""
    layout, row, _ = cell
    return layout != "formats" or row == "Overall"


def published_rows(
    everything: Sequence[Neighbour], asked: str, score: float | None, model: str
) -> tuple[Neighbour, ...]:
    """Return the neighbours to show: for `none`, `nearest`, or names separated by commas.

    `nearest` is the same model, the next above `score` and the next below it. Raises DataError for an unknown name,
    with similar ones: among several versions none is chosen.
    """
    wanted = asked.strip()
    if not everything or wanted in ("", NONE):
        return ()
    if wanted != NEAREST:
        named = [called(everything, name.strip(), "published_rows") for name in wanted.split(",") if name.strip()]
        return tuple({row.model: row for row in named}.values())
    same = find(everything, model)
    others = [row for row in everything if row is not same and row.score is not None]
    chosen = [same] if same is not None else []
    if score is not None:
        above = min((other for other in others if _of(other) >= score), key=_of, default=None)
        below = max((other for other in others if _of(other) < score), key=_of, default=None)
        chosen = [row for row in (above, same, below) if row is not None]
    return tuple(chosen)


def _of(row: Neighbour) -> float:
    return row.score or 0.0
