"""A methods paragraph ready to paste, from run.json: what was asked of whom, how it was graded, how sure it is.

Citations are the keys of the BibTeX entries beside it, as `[@key]` (Pandoc) would have them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from viva.benchmarks import find_benchmark
from viva.engine.folder import ExamRecord, RunRecord
from viva.errors import VivaError
from viva.languages import language_name
from viva.published import about, bibtex, catalogue
from viva.render.result import Result
from viva.shipped import shipped_table
from viva.types import Sampling
from viva.visible import one_line

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
INTERVALS = (
    "Intervals are at 95 %: Wilson's score interval (with Poisson's limit for few right or few wrong), for the "
    "effective number of questions where a question has several answers or scores are fractions (variance clustered by "
    "question, t quantiles); macro averages add up the variances of their parts. Replies that could not be read "
    "(unparsed, empty, truncated, refused) earn no point and stay in the denominator; what was not answered or not "
    "graded is left out of the mean and kept in its bounds."
)


class Reference(Struct, frozen=True):
    """A paper to cite."""

    key: str
    title: str
    bibtex: str


@functools.cache
def _words() -> dict[str, dict[str, str]]:
    return shipped_table(__file__, "methods.toml", dict[str, dict[str, str]])


def references(benchmarks: Sequence[str]) -> list[Reference]:
    """Return the papers of the benchmarks that have one, each once."""
    found: dict[str, Reference] = {}
    for name in dict.fromkeys(benchmarks):
        if name in catalogue():
            paper = about(name)
            found[paper.key] = Reference(paper.key, paper.title, bibtex(name).strip() + "\n")
    return list(found.values())


def methods(records: Sequence[RunRecord], results: Sequence[Result]) -> str:
    """Return one paragraph for all runs."""
    sentences: list[str] = []
    for record in records:
        models = _listed([one_line(model.shown or model.name, 80) for model in record.models])
        sentences.append(f"With Viva {one_line(record.viva, 30)} we examined {models} on {record.created[:10]}.")
        for exam in record.exams:
            sentences += _asked(record, exam)
        sentences += _judged(record)
    sentences.append(_answers(results))
    sentences.append(INTERVALS)
    return " ".join(dict.fromkeys(sentences))


def _asked(record: RunRecord, exam: ExamRecord) -> Iterator[str]:
    spec, words = exam.spec, _words()
    title, cited = _title(spec.benchmark)
    what = one_line(spec.name, 80) if spec.name else f"{title}{cited}, in {language_name(spec.language)}"
    own = "of Viva's bundled sample, not of the published set; " if exam.data is None and not spec.name else ""
    asked = "comprehension questions" if spec.only else "questions"
    yield (
        f"{what}: {exam.questions:,} {asked} ({own}data fingerprint {exam.fingerprint}, exam version {exam.version})."
    )
    shots = f"{NUMBERS[spec.shots] if spec.shots < len(NUMBERS) else spec.shots}-shot"
    parts = [f"{shots}, {words['form'][spec.form]}"]
    parts += ["with chain of thought"] if spec.chain_of_thought else []
    parts += ["with a rationale for every answer"] if spec.rationale else []
    parts += [words["choose"][spec.choose]] if spec.choose else []
    yield f"Questions were asked {', '.join(parts)}; {_drawn(record, exam)}."
    published = ", as the authors' scripts do" if spec.as_published else ""
    if spec.extraction != "stated":
        published = words["extraction"][spec.extraction]
    grading = words["grading"].get(spec.benchmark, words["grading"]["questions"])
    open_ones = words["judged"].get(spec.benchmark, "")
    left = f"; {open_ones} were not judged, since there was no judge" if open_ones and not record.judges else ""
    yield f"{grading}{published}{'' if spec.only else left}."


def _drawn(record: RunRecord, exam: ExamRecord) -> str:
    sampling: Sampling = exam.sampling or record.sampling
    samples = exam.samples or record.samples
    each = "one answer" if samples == 1 else f"{samples} answers"
    hot = "the server's temperature" if sampling.temperature is None else f"temperature {sampling.temperature:g}"
    said = [f"{each} to each was drawn at {hot}" if samples == 1 else f"{each} to each were drawn at {hot}"]
    said += [f"top-p {sampling.top_p:g}"] if sampling.top_p is not None else []
    said += [f"at most {sampling.max_tokens:,} tokens long"] if sampling.max_tokens else []
    said += [f"{record.repeats} times over (mean ± standard deviation over the repeats)"] if record.repeats > 1 else []
    return ", ".join(said)


def _judged(record: RunRecord) -> Iterator[str]:
    if record.judges:
        names = _listed([one_line(judge.shown or judge.name, 80) for judge in record.judges])
        times = f", each asked {record.judge_samples} times about an answer" if record.judge_samples > 1 else ""
        panel = record.exams[0].spec.panel if record.exams else "mean"
        several = len(record.judges) * record.judge_samples > 1
        counts = f"; {_words()['panel'][panel]}" if several else ""
        known = _words()["judged"]
        what = _listed(
            list(
                dict.fromkeys(known.get(exam.spec.benchmark, "answers that no rule can grade") for exam in record.exams)
            )
        )
        yield f"{what[:1].upper()}{what[1:]} were judged by {names}{times}{counts}."
    if record.encoder:
        yield f"Similarity is that of the encoder {one_line(record.encoder.name, 80)}."


def _answers(results: Sequence[Result]) -> str:
    total = sum(result.overall.n for result in results)
    lacking = sum(result.overall.unanswered for result in results)
    if not lacking:
        return f"All {total:,} answers came and were graded."
    return f"Of {total:,} answers {lacking:,} are missing or were not graded."


def _title(benchmark: str) -> tuple[str, str]:
    """Return what a benchmark is called, and its citation where it has a paper."""
    if benchmark in catalogue():
        paper: Any = about(benchmark)
        return paper.title, f" [@{paper.key}]"
    try:
        return find_benchmark(benchmark).about.title, ""
    except VivaError:
        return benchmark, ""


def _listed(names: Sequence[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} other models"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
