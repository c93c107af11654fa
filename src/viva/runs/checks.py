"""Checks before anything is asked: gold answers graded as replies, rationales, rubrics, question files, and abilities
of models and servers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks.basics import spread
from viva.benchmarks.custom.examples import check_examples
from viva.benchmarks.custom.questionmodel import OwnQuestion, Problem
from viva.benchmarks.custom.traps import Patience, Trap, traps
from viva.benchmarks.judged import JudgedExam
from viva.benchmarks.rationale.combining import Q_A
from viva.benchmarks.rubric_exam import RubricExam
from viva.contracts import Exam
from viva.engine.evidence import program_key
from viva.engine.stages import Evaluation
from viva.errors import VivaError, option
from viva.fields import changed
from viva.files import shipped_table
from viva.prompting import prompt_text
from viva.runs.config import WeightsOptions
from viva.runs.open import OpenRun
from viva.runs.progress import notify
from viva.sandbox.narrow import proposed
from viva.scorers.rubric.code import canonical
from viva.scorers.rubric.rubrics import Graded
from viva.scorers.rubric.trivial import PROVES_NOTHING, trivial_programs
from viva.types import (
    ANSWER,
    RATIONALE,
    Choose,
    Defect,
    Evidence,
    Execute,
    Execution,
    Kind,
    Likelihood,
    Opinion,
    Question,
    Response,
    Sampling,
    outcome_name,
)
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.models.openaiapi.serverprobes import Finding, Report


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SAID = shipped_table(__file__, "golden.toml", dict[str, dict[str, tuple[str, ...]]])
_SPAN = ("{0}", "“{0}”", "The answer is “{0}”.", "**{0}**")  # "Answer: none" may mean that there is none
_OTHER = "987654321"
_TERM = ("{0}", "{0}.", "**{0}**", "The answer is {0}")
_ANYWHERE = ("{0}", "{0}.", "**{0}**", "\\boxed{{{0}}}")


def sample(exam: Exam, at_most: int) -> list[Question]:
    """Return at most `at_most` questions of an exam, evenly spread, and the first of each kind."""
    chosen = frozenset(spread(len(exam), at_most))
    kinds: set[Kind] = set()
    drawn = []
    for index, question in enumerate(exam.questions()):
        if index in chosen or question.kind not in kinds:
            kinds.add(question.kind)
            drawn.append(question)
    return drawn


def failures(exam: Exam, questions: Iterable[Question] | None = None) -> list[str]:
    """Return the failures of the self-test of these questions (None: all), in words."""
    return [
        f"question {escape_invisible(question.id)}: {problem}"
        for question in (exam.questions() if questions is None else questions)
        for problem in _problems(exam, question)
    ]


def _problems(exam: Exam, question: Question) -> Iterator[str]:
    request = exam.request(question, 0, Sampling())
    if not request.prompt:
        yield "its prompt is empty"
    if isinstance(request, Choose):
        yield from _chosen_problems(exam, question, len(request.continuations))
    else:
        yield from _written_problems(exam, question)


def _written_problems(exam: Exam, question: Question) -> Iterator[str]:
    """Yield failures of a question with a written answer: in every phrasing the gold must score 1, a wrong one 0."""
    if question.answer is None:
        score = exam.score(question, Response(text="A"))
        if score.outcome != "unsound":
            yield f"has no usable gold answer, yet an answer is {outcome_name(score.outcome)}"
        return
    if exam.spec.as_published:
        return  # --as-published reproduces the authors' readings, which are wrong for some gold answers
    empty = exam.score(question, Response(text=" \n"))
    if empty.value is not None or empty.outcome != "empty":
        yield f"an empty reply is {outcome_name(empty.outcome)}, not empty"
    if exam.spec.rationale:
        yield from explained_problems(exam, question)
        return
    if question.kind == "free":
        return  # rubrics are checked by example answers: see `example_problems`
    if question.kind in ("blank", "open"):
        yield from _judged_problems(exam, question)
        return
    for what, answer, value in (("gold", question.answer, 1.0), ("wrong", wrong_answer(question), 0.0)):
        for reply in phrasings(question, answer) if answer else ():  # "": all options are right, no wrong answer exists
            score = exam.score(question, Response(text=reply))
            # --strict is meant not to read some phrasings.
            if score.value != value and not (exam.spec.extraction == "strict" and score.outcome == "unparsed"):
                shown = f"{what} {one_line(answer, 60)} as {one_line(reply, 60)!r}"
                yield f"{shown} scores {score.value} ({outcome_name(score.outcome)})"


def phrasings(question: Question, answer: str) -> Sequence[str]:
    """Return replies that give `answer` to a question that a rule grades, in the question's language."""
    if question.kind == "span":
        return [template.format(answer) for template in _SPAN]
    if question.kind == "truth":
        return _SAID.get(question.language, _SAID["en"])[answer]
    if question.kind == "term":
        return [template.format(accepted) for accepted in _wordings(question, answer) for template in _TERM]
    if question.kind == "choices":
        named = [f"{letter}. {question.options[LETTERS.index(letter)]}" for letter in answer]
        return [", ".join(answer), answer, " and ".join(f"({letter})" for letter in answer), "\n".join(named)]
    text = question.options[LETTERS.index(answer)]
    return [
        template.format(answer, text)
        for template in (*_ANYWHERE, *_SAID.get(question.language, {"choice": ()})["choice"])
    ]


def _wordings(question: Question, answer: str) -> Sequence[str]:
    return (answer, *question.accepted) if answer == question.answer else (answer,)


def wrong_answer(question: Question) -> str:
    """Return an answer other than the gold one."""
    if question.kind == "span":
        return "xyzzy"  # shares no word with any phrase
    if question.kind == "term" and re.fullmatch("[A-G]+(?: [A-G]+)*", str(question.answer)):  # letters: the next ones
        return str(question.answer).translate(str.maketrans("ABCDEFG", "BCDEFGA"))
    if question.kind == "term":  # numbers: return another one
        return _OTHER if re.search(r"\d", str(question.answer)) else "xyzzy"
    if question.kind == "choices":
        rest = [letter for letter in LETTERS[: len(question.options)] if letter not in str(question.answer)]
        return "".join(rest)  # "" where every option is right
    if question.kind == "truth":
        return "false" if question.answer == "true" else "true"
    letters = LETTERS[: len(question.options)]
    return letters[(letters.index(str(question.answer)) + 1) % len(letters)]


def _chosen_problems(exam: Exam, question: Question, options: int) -> Iterator[str]:
    """Yield failures of a question answered by probability: of all options, made likely in turn, one must be right."""
    scores = [
        exam.score(
            question,
            Response(likelihoods=tuple(Likelihood(-0.1 if place == sure else -9.0) for place in range(options))),
        )
        for sure in range(options)
    ]
    if question.answer is None:
        if any(score.outcome != "unsound" for score in scores):
            yield "has no usable gold answer, yet a choice is graded"
        return
    right = [score.answer for score in scores if score.value == 1.0]
    if right != [question.answer] or any(score.value not in (0.0, 1.0) for score in scores):
        yield f"gold {one_line(question.answer, 60)}, and what scores 1 is {right}"


def _judged_problems(exam: Exam, question: Question) -> Iterator[str]:
    """Yield failures of a judged question: the best and worst verdicts on the gold answer must count as such."""
    gold = Response(text=str(question.answer))
    requests = exam.judgements(question, gold, 1, {})
    if len(requests) != 1 or str(question.answer) not in prompt_text(requests[0].prompt):
        yield "the judge would not see the gold answer"
    scale = exam.marks(question) if isinstance(exam, JudgedExam) else (0, 1) if question.kind == "blank" else (1, 10)
    for mark, wanted in ((scale[-1], 1.0), (scale[0], scale[0] / scale[-1])):
        score = exam.score(question, gold, said(f"Reason.\nVERDICT: {mark}"))
        if score.value != wanted:
            yield f"the verdict {mark} scores {score.value}, not {wanted}"
    if exam.score(question, gold).outcome != "ungraded":
        yield "without a verdict it is graded all the same"


JUDGED = ("blank", "open")


def said(verdict: str, *aspects: str) -> Evidence:
    """Return evidence with one judge's `verdict` on the answer (and other aspects)."""
    return Evidence(opinions=[Opinion("self-test", aspect, verdict) for aspect in (aspects or (ANSWER,))])


def explained_problems(exam: Exam, question: Question) -> Iterator[str]:
    """Yield failures of one question with a rationale: its gold must earn full marks, a wrong answer none for Q→A."""
    rationale = question.explanation or "It follows from the definition, as every other reading contradicts it."
    gold = str(question.answer)
    if question.kind in JUDGED:
        yield from _judged(exam, question, reply_of(rationale, gold))
        return
    full = said("Reason.\nVERDICT: 1", RATIONALE)
    for what, answer, value in (("gold", gold, 1.0), ("wrong", wrong_answer(question), 0.0)):
        for reply in phrasings(question, answer) if answer else ():
            score = exam.score(question, Response(text=reply_of(rationale, reply)), full)
            if score.parts.get(Q_A) != value or (what == "gold" and score.value != value):
                shown = f"{what} {one_line(reply, 60)!r} with a rationale"
                yield f"{shown} scores {score.value} ({score.explanation}), its answer {score.parts.get(Q_A)}"
    bare = exam.score(question, Response(text=reply_of("", gold)))
    if bare.value != 0.0:
        yield f"the gold answer without a rationale scores {bare.value}"


def _judged(exam: Exam, question: Question, reply: str) -> Iterator[str]:
    requests = exam.judgements(question, Response(text=reply), 1, {})
    if len(requests) != 2 or not all(str(question.answer) in prompt_text(request.prompt) for request in requests):
        yield "the judge would not see the gold answer, once for the answer and once for the rationale"
    verdicts = [Opinion("self-test", ANSWER, f"VERDICT: {mark}") for mark in ("10", "1")]
    best = [verdict for verdict in verdicts if exam.mark(question, verdict) == 1.0]
    if not best:
        yield "no verdict gives the answer full marks"
        return
    full = Evidence(opinions=[best[0], Opinion("self-test", RATIONALE, "VERDICT: 1")])
    score = exam.score(question, Response(text=reply), full)
    if score.value != 1.0:
        yield f"gold answer and rationale with full verdicts score {score.value}"
    if exam.score(question, Response(text=reply)).outcome != "ungraded":
        yield "without a verdict it is graded all the same"


def reply_of(rationale: str, answer: str) -> str:
    """Return a reply in the form that the prompt asks for."""
    return json.dumps({"Rationale": rationale, "Answer": answer}, ensure_ascii=False)


ECHO = ("the question said back, in full", "the question said back, in part")
"""Kinds of defects: an answer that repeats the question earns points."""
_BRIEF = 5.0
"""Most CPU seconds of a program that is nobody's answer: two published questions said back in C++ never return."""
_TOLD_OTHERWISE = ("the question's own text matches", "unreachable total")
"""Kinds of traps that the echo check or the loader of cases reports already."""


class RubricCheck(Struct, frozen=True, kw_only=True):
    """Defects found, and what repeating questions earns: `echo`, the mean score (0 to 1) of `asked` questions."""

    defects: tuple[Defect, ...]
    asked: int
    echo: float
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line about the score of repeating the questions."""
        full, part = (sum(defect.kind == kind for defect in self.defects) for kind in ECHO)
        if not full and not part:
            return "saying the question back earns nothing anywhere"
        return (
            f"saying every question back earns {self.echo:.1%} ({full} questions in full, {part} in part); "
            "as a model: baseline/echo"
        )


def check_rubrics(exam: RubricExam, *, unsafe: bool = False) -> RubricCheck:
    """Return every trap of an exam's rubrics; tests are run on the questions' own text, in the sandbox."""
    wanted: dict[bytes, Execute] = {}
    sound = [question for question in exam.questions() if question.answer is not None]
    for question in sound:
        for request in exam.executions(question, Response(text=question.text)):
            wanted[program_key(request)] = replace(request, seconds=min(request.seconds, _BRIEF))
    weak = {question.id: _trivial(exam, question) for question in sound}
    wanted |= _requests(weak)
    notes: list[str] = []
    fared = run_programs(wanted, notes, unsafe=unsafe)
    noted = {defect.question for defect in exam.defects if defect.kind == PROVES_NOTHING}
    defects = [defect for defect in _weak(weak, fared) if defect.question not in noted]
    earned = 0.0
    for question in sound:
        patience = Patience()
        defects += [
            Defect(question.id, trap.kind, _placed(trap), "noted")
            for trap in traps(exam.rubric_of(question), question.text, patience)
            if trap.kind not in _TOLD_OTHERWISE
        ]
        requests = exam.executions(question, Response(text=question.text))
        evidence = Evidence(executions=[fared.get(program_key(request)) for request in requests])
        graded = exam.graded(question, question.text, evidence)
        earned += graded.share or 0
        if graded.share and graded.share > 0:
            defects.append(Defect(question.id, ECHO[graded.share < 1], _earned(graded), "noted"))
    return RubricCheck(
        defects=tuple(defects), asked=len(sound), echo=earned / len(sound) if sound else 0.0, notes=tuple(notes)
    )


def weak_tests(exam: RubricExam, *, unsafe: bool = False) -> list[Defect]:
    """Return the questions whose tests pass for a program that solves nothing."""
    requests = {question.id: _trivial(exam, question) for question in exam.questions() if question.answer is not None}
    return list(_weak(requests, run_programs(_requests(requests), [], unsafe=unsafe)))


def proposed_calls(exam: RubricExam) -> list[list[str]]:
    """Describe, for every test that runs in its program's process, the calls that can replace it, or why none can."""
    proposals = []
    for question in exam.questions():
        tests = exam.rubric_of(question).tests
        for number, test in enumerate(tests.tests if tests else (), 1):
            if tests is None or test.calls:
                continue
            calls, why = proposed(canonical(tests.language), test.code)
            where = f"{question.id}: test {number} may share its program's process"
            if calls:
                written = [f"    - {json.dumps(call, ensure_ascii=False)}" for call in calls]
                proposals.append([f"{where}; as calls it never does:", "  calls:", *written])
            elif why:
                proposals.append([f"{where} ({one_line(why, 150)}): write `calls`"])
    return proposals


Trivial = Mapping[str, Mapping[str, tuple[Execute, ...]]]
"""Question → trivial program, in words → its requests, one a test."""


def _requests(trivial: Trivial) -> dict[bytes, Execute]:
    return {
        program_key(request): request for each in trivial.values() for requests in each.values() for request in requests
    }


def _weak(trivial: Trivial, fared: Mapping[bytes, Execution]) -> Iterator[Defect]:
    for question, programs in trivial.items():
        passing = [
            does
            for does, requests in programs.items()
            if all((ran := fared.get(program_key(request))) and ran.verdict == "passed" for request in requests)
        ]
        if passing:
            yield Defect(question, PROVES_NOTHING, f"a program passes that {' or '.join(passing)}", "noted")


def _trivial(exam: RubricExam, question: Question) -> dict[str, tuple[Execute, ...]]:
    """Return trivial program, in words → its requests, one a test; {} for a question without tests."""
    tests = exam.rubric_of(question).tests
    if tests is None:
        return {}
    code = "\n".join(text for test in tests.tests for text in (test.before, test.code))
    return {
        does: exam.executions(question, Response(text=f"```{tests.language}\n{program}\n```"))
        for does, program in trivial_programs(canonical(tests.language), code).items()
    }


def _placed(trap: Trap) -> str:
    where = f"{trap.part}[{trap.index}] " if trap.index >= 0 else f"{trap.part}: " if trap.part else ""
    return f"{where}{trap.text}"


def _earned(graded: Graded) -> str:
    """Return the points and the lines that gave them, in words."""
    lines = [f"{name}: {line}" for name, part in graded.parts.items() for line in part.details]
    giving = [line for line in lines if ": +" in line and ": +0 " not in line]
    return f"{graded.points:g} of {graded.total:g} points: {'; '.join(giving)}"


def example_problems(
    questions: Sequence[OwnQuestion], exam: RubricExam, notes: list[str], *, unsafe: bool = False
) -> list[Problem]:
    """Return the problems of all examples that do not score as stated; tests are run in the sandbox."""
    answers = ((own, example.answer) for own in questions for example in own.examples)
    grade = grader(exam, answers, notes, unsafe=unsafe)
    return [problem for own in questions for problem in check_examples(own, grade)]


def grader(
    exam: RubricExam,
    answers: Iterable[tuple[OwnQuestion, str]],
    notes: list[str],
    *,
    unsafe: bool,
    announced: bool = False,
) -> Callable[[OwnQuestion, str], Graded]:
    """Return a grader of these answers. Their programs run once, in one sandbox; without one, `notes` gets a
    sentence.
    """
    asked = {question.id: question for question in exam.questions()}
    wanted: dict[bytes, Execute] = {}
    for own, answer in answers:
        for request in exam.executions(asked[own.id], Response(text=answer)):
            wanted[program_key(request)] = request
    if announced and wanted:
        notify(f"running {len(wanted):,} test programs {'WITHOUT a sandbox' if unsafe else 'in the sandbox'}")
    fared = run_programs(wanted, notes, unsafe=unsafe)

    def grade(own: OwnQuestion, answer: str) -> Graded:
        question = asked[own.id]
        requests = exam.executions(question, Response(text=answer))
        executions = [fared.get(program_key(request)) for request in requests]
        return exam.graded(question, answer, Evidence(executions=executions))

    return grade


def run_programs(wanted: dict[bytes, Execute], notes: list[str], *, unsafe: bool) -> dict[bytes, Execution]:
    """Run each program once. Without a sandbox, none is run and `notes` gets a sentence."""
    if not wanted:
        return {}
    from viva.sandbox import Sandbox

    async def everything() -> dict[bytes, Execution]:
        sandbox = Sandbox(unsafe_host_execution=unsafe)
        try:
            fared = await asyncio.gather(*(sandbox.run(request) for request in wanted.values()))
        finally:
            await sandbox.close()
        return dict(zip(wanted, fared, strict=True))

    try:
        return asyncio.run(everything())
    except VivaError as problem:
        notes.append(f"{len(wanted)} test programs were not run: {problem}")
        return {}


def check_supported(opened: OpenRun, samples: Sequence[Sequence[Question]]) -> None:
    """Check that every model supports a question of each kind; `samples`: questions of each exam, of every kind.

    Raises VivaError where a model supports none. Where it supports some, the user is told that others stay unanswered.
    """
    firsts = {id(exam): _first_of_each_kind(some) for exam, some in zip(opened.exams, samples, strict=True)}
    for evaluation in opened.evaluations:
        troubles = _troubles(evaluation, firsts[id(evaluation.exam)])
        if troubles and all(troubles.values()):
            raise VivaError(next(iter(troubles.values())))
        for kind, trouble in troubles.items():
            if trouble:
                consequence = (
                    f"{evaluation.model.name} on {evaluation.label}: questions of the kind {kind!r} stay unanswered"
                )
                notify(f"{consequence}: {trouble}")


def refuse_unopened(opening: WeightsOptions, form: str, models: Sequence[str]) -> None:
    """Refuse options of weights where no model has any, and a template together with --form base."""
    if opening.template and form == "base":
        raise VivaError(
            f"{opening.template!r} writes messages, and {option('form', 'base')} sends a text as it is: leave one out",
            field="template",
        )
    if any(name.startswith("hf/") for name in models):
        return
    for name in changed(opening):
        if name in ("dtype", "device", "bits", "adapter", "trust_remote_code", "batch_size"):
            raise VivaError(
                f"is for weights on a disk ({option('model')} hf/FOLDER); here is only {', '.join(models)}", field=name
            )


def _first_of_each_kind(questions: Sequence[Question]) -> dict[Kind, Question]:
    first: dict[Kind, Question] = {}
    for question in questions:
        first.setdefault(question.kind, question)
    return first


def _troubles(evaluation: Evaluation, firsts: Mapping[Kind, Question]) -> dict[Kind, str]:
    """Return kind of question → why the model cannot answer it; "" where it can."""
    troubles: dict[Kind, str] = {}
    for kind, question in firsts.items():
        request = evaluation.request(question, 0)
        try:
            evaluation.model.check_supported(request)
        except VivaError as problem:
            troubles[kind] = str(problem)
        else:
            troubles[kind] = ""
    return troubles


class Works(Struct, frozen=True):
    """A command of Viva, whether it works with a server, and why."""

    command: str
    works: bool
    why: str


def commands(report: Report) -> list[Works]:
    """Return which commands work with a server, by the report of its probes."""
    findings = report.findings
    chat, text = findings["chat"].usable, findings["completions"].usable

    def has(name: str) -> bool:
        return name in findings and findings[name].usable

    echo = has("echo with logprobs")
    scored = "it scores a text that it is sent" if echo else "it does not score a text that it is sent"
    return [
        Works("viva run", chat, "it answers messages" if chat else _instead(text)),
        Works(option("form", "base"), text, "it continues texts" if text else "it does not continue texts"),
        Works(option("answer_by", "next-token"), *_next_token(has("logprobs in chat"), has("logprobs in completions"))),
        Works(
            option("answer_by", "likelihood"),
            echo,
            f"{scored}; with {option('form', 'base')}, or {option('template', 'FAMILY')}" if echo else scored,
        ),
        Works("viva perplexity", echo, scored),
        Works(option("samples"), chat or text, _samples(findings)),
    ]


def _instead(text: bool) -> str:
    return (
        f"it has no chat; {option('form', 'base')} or {option('template', 'FAMILY')} do without"
        if text
        else "it answers nothing"
    )


def _next_token(chat: bool, text: bool) -> tuple[bool, str]:
    listed = "it lists the most probable tokens"
    if chat and text:
        return True, f"{listed}, in chat and with {option('form', 'base')}; letters that it does not list are bounded"
    if chat:
        return True, f"{listed} in chat, not with {option('form', 'base')}; letters that it does not list are bounded"
    if text:
        return (
            True,
            f"{listed} with {option('form', 'base')} (or {option('template', 'FAMILY')}), not in chat; letters not "
            "listed are bounded",
        )
    return False, "it lists no probable tokens"


def _samples(findings: Mapping[str, Finding]) -> str:
    seed = findings["seed"].verdict if "seed" in findings else "unknown"
    again = {
        "yes": f"with {option('seed')} they can be drawn again",
        "no": "they cannot be drawn again, since it ignores the seed",
        "refused": f"leave {option('seed')} out, which it refuses",
    }
    return (
        f"each is a request of its own, at a temperature above 0; {again.get(seed, 'what its seed does is not clear')}"
    )
