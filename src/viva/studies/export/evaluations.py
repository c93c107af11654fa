"""`viva export RUN --to inspect|lm-eval|every-eval-ever|mlflow|wandb`: each model on every exam, a file or an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks import find_benchmark
from viva.engine.answerrecord import Answer
from viva.engine.folder import RunFolder
from viva.errors import VivaError, option
from viva.interop.writing.runrecords import EvaluationResult
from viva.render.result import settings
from viva.runs.answers import AnswerReader, Reported, read_run
from viva.runs.progress import Screen
from viva.runs.scorefile import refuse_adaptive
from viva.studies.export.exportformats import FILES, ExportConfig, Written
from viva.types import OUTCOMES, Aggregate, Question
from viva.visible import one_line


class ExportedRun(Struct, kw_only=True):
    """A run opened for export."""

    path: Path
    evaluations: list[EvaluationResult]
    """Without `gold`, their answers lack gold answers and rationales, and texts that reveal them: explanations, and
    output of judges, experts and programs."""
    read: Reported


class Source:
    """The exported source, opened as far as a format needs it."""

    def __init__(self, config: ExportConfig, stack: ExitStack) -> None:
        self.config, self._stack = config, stack
        self.runs: list[ExportedRun] = []

    def warnings(self) -> dict[str, None]:
        """Return caveats about the runs' numbers, once each."""
        return dict.fromkeys(warning for run in self.runs for warning in run.read.warnings)

    def evaluations(self) -> list[EvaluationResult]:
        """Return each model on every exam of the runs, in the order of scores.jsonl.

        Raises VivaError for an option of question sets, for a path that is no run and for two runs of one name;
        StorageError for a run that is damaged, not graded, or has answers newer than its grades.
        """
        config = self.config
        if config.data or config.language:
            raise VivaError(f"and {option('language')} are for a question set; a run knows its own", field="data")
        paths = {Path(source).resolve(): Path(source) for source in config.sources}
        named: dict[str, Path] = {}
        for whole, path in paths.items():
            other = named.setdefault(one_line(whole.name, 200), path)
            if other is not path:  # the name identifies files and rows: one run would replace the other
                raise VivaError(f"{other} and {path} are two runs of one name: rename one, or export them apart")
        self.runs = [_opened(path, self._stack, gold=config.gold) for path in paths.values()]
        return [each for run in self.runs for each in run.evaluations]


def _opened(path: Path, stack: ExitStack, *, gold: bool) -> ExportedRun:
    if path.is_dir() and not (path / "run.json").exists():
        inside = sorted(each.parent.name for each in path.glob("*/run.json"))
        if inside:
            shown = ", ".join(one_line(name) for name in inside[:3])
            more = ", …" if inside[3:] else ""
            raise VivaError(f"{path} is no run, but holds {len(inside)} ({shown}{more}): name those")
    refuse_adaptive(path, RunFolder.open(path).record)
    run = read_run(path, "none")
    reader = AnswerReader(run.folder, run.opened_run, stack, graded=True)
    counts = Counter(number // len(OUTCOMES) for number in run.strata)
    ends = accumulate((counts[number] for number in range(len(run.report.results))), initial=0)
    places = [range(*both) for both in pairwise(ends)]
    numbers = range(len(run.report.results))
    return ExportedRun(
        path=path, evaluations=[_evaluation(run, reader, number, places[number], gold) for number in numbers], read=run
    )


def _evaluation(run: Reported, reader: AnswerReader, number: int, places: range, gold: bool) -> EvaluationResult:
    opened, record, result = run.opened_run, run.folder.record, run.report.results[number]
    place, exam = next((place, each) for place, each in enumerate(record.exams) if each.spec.label == result.exam)
    names = [model.name for model in opened.models] if opened else []
    model = record.models[names.index(result.model)] if result.model in names else record.model(result.model)

    def answers() -> Iterator[Answer]:
        screen = Screen("plain")
        for count, answer in enumerate(reader.answers(places.__contains__, only=number), 1):
            yield answer if gold else _without_gold(answer)
            if count % 1024 == 0 and screen.due():  # reports progress of long exports
                screen.say(f"viva: {one_line(f'{result.exam}, {result.model}', 120)}: {count:,} answers written")

    return EvaluationResult(
        run=one_line(run.folder.path.resolve().name, 200),
        record=record,
        exam=exam,
        about=find_benchmark(exam.spec.benchmark).about,
        model=result.model,
        overall=result.overall,
        headline=opened.exams[place].headline() if opened else Aggregate("mean"),
        signature=result.signature,
        settings=settings(record, exam, result.model, model),
        answers=answers,
        warnings=tuple(run.warnings),
    )


def _without_gold(answer: Answer) -> Answer:
    question = answer.question and without_gold(answer.question)
    return replace(answer, row=replace(answer.row, explanation=""), question=question, said=())


def without_gold(question: Question) -> Question:
    """Return a question without gold answers, rationales and explanations."""
    return replace(question, answer=None, accepted=(), explanation="")


def write_inspect(source: Source, place: Path) -> Written:
    """Write a folder of .eval logs, or one log as a file."""
    from viva.interop.writing.inspectarchive import log_name, write_eval, write_json

    out, evaluations = source.config.out or place, source.evaluations()
    single = out.suffix in FILES
    if single and len(evaluations) > 1:
        raise VivaError(
            f"{out} would be one log, and a log is of one model on one exam; here are {len(evaluations)}: name a "
            "folder",
            field="out",
        )
    for each in evaluations:
        (write_json if out.suffix == ".json" else write_eval)(each, place if single else place / log_name(each))
    return f"{len(evaluations)} Inspect log{'s' * (len(evaluations) > 1)}", ()


def write_lm_eval(source: Source, folder: Path) -> Written:
    """Write a folder a model, with results_*.json and samples_*.jsonl."""
    from viva.interop.writing.lmevalfolder import write_lm_eval as write

    source.evaluations()
    return f"results of {sum(len(write(run.evaluations, folder)) for run in source.runs)} models", ()


def write_every_eval_ever(source: Source, folder: Path) -> Written:
    """Write a record a model and exam, below data/."""
    from viva.interop.writing.everyeval import write_every_eval_ever as write

    evaluations = source.evaluations()
    bare = [each for each in evaluations if write(each, folder) is None]
    if len(bare) == len(evaluations):
        raise VivaError("nothing of this is graded: the schema has no record without a score")
    lacking = [f"{each.label}, {each.model}: no mean, so no record" for each in bare]
    return f"{len(evaluations) - len(bare)} records", lacking


def write_mlflow(source: Source, _: Path) -> Written:
    """Write a run in MLflow for every model on every exam."""
    from viva.interop.writing.trackers import write_mlflow as write

    return _tracked(source, write)


def write_wandb(source: Source, _: Path) -> Written:
    """Write a run in Weights & Biases for every model on every exam."""
    from viva.interop.writing.trackers import write_wandb as write

    return _tracked(source, write)


def _tracked(source: Source, write: Callable[..., str]) -> Written:
    from viva.interop.writing.trackers import tracked

    evaluations, results = source.evaluations(), [result for run in source.runs for result in run.read.report.results]
    rows = [tracked(each, result.consumed) for each, result in zip(evaluations, results, strict=True)]
    where = write(rows, force=source.config.force)
    return f"{len(rows)} result{'s' * (len(rows) > 1)} ({where})", ()
