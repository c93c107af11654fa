"""Bias tests of judges: their marks of a run's answers, and of the same answers in other forms."""

from __future__ import annotations

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from viva.commands import command
from viva.engine.asking import Tally, Task
from viva.engine.folder import RunFolder
from viva.engine.journal import Journal
from viva.engine.stages import Evaluation, EvidenceStore, Judge, JudgePanel, is_kept
from viva.errors import VivaError, flag, option
from viva.fields import note, pick
from viva.lab.judges.probes import (
    AGAIN,
    EMPTY,
    POSITION,
    UNRELATED,
    control_of,
    material,
    probes,
    quoted,
    variants,
)
from viva.runs.ask import ask_judges, open_batch_dispatcher, refuse_unbatched
from viva.runs.config import JudgeKey, JudgeUrl, LimitOptions, RejudgeOptions
from viva.runs.forecast import estimate_verdicts
from viva.runs.open import OpenRun, confirm_endpoints, open_evidence, open_judge_panel, prepare
from viva.runs.scorefile import open_run_folder
from viva.runs.session import rejudge_records
from viva.types import CUT_OFF, Generate, Opinion, Question, Response

if TYPE_CHECKING:
    from viva.lab.judges.effects import Effect, Pair
    from viva.lab.judges.tables import JudgeEffects
    from viva.render.findings import Findings

STAGE = "judge-bias"
BATCHES = f"{STAGE}.batches.jsonl"
SELF = "self-preference"
Confirm = Callable[[RunFolder, LimitOptions], None]
"""Raises VivaError unless the user agreed to the addresses in a run."""


class JudgeBiasConfig(LimitOptions, frozen=True, kw_only=True):
    """Examine the judge of RUN, without any expert: it marks the same answers as they are and in another form (padded,
    as Markdown, with an invented authority, after the question repeated, with an order to the judge, before the
    reference), the same answer twice, and what is no answer. Replies are kept in judge-bias.jsonl of the run folder:
    the same command goes on where it stopped, and asks nobody twice.

    \b
    viva judge-bias runs/NAME --estimate
    viva judge-bias runs/NAME --max-cost 2                       the run's own judges, 100 answers
    viva judge-bias runs/NAME --judge openai/OTHER --answers 300
    """

    run: Annotated[Path, note("A run with answers that a judge can grade.", argument=True, metavar="RUN")]
    judge: Annotated[
        tuple[str, ...], note("Judge to examine; repeatable.  [default: the run's]", metavar="MODEL[@URL]")
    ] = ()
    judge_base_url: JudgeUrl = None
    judge_key_env: JudgeKey = None
    answers: Annotated[
        int, Meta(ge=2, le=100_000, description="Answers, drawn at random of those that are judged.")
    ] = 100
    seed: Annotated[int, Meta(ge=0, description="Draws the answers.")] = 0
    estimate: Annotated[bool, note("Say how many requests it takes and what they cost, and ask nobody.")] = False


class Probed(Struct, frozen=True):
    """One aspect of an answer: the requests to a judge for the original, and for each other form."""

    evaluation: Evaluation
    question: Question
    sample: int
    response: Response
    request: Generate
    forms: dict[str, Generate]


@command(JudgeBiasConfig)
def study(config: JudgeBiasConfig, confirm: Confirm = confirm_endpoints) -> Findings[tuple[JudgeEffects, ...]]:
    """Whether a judge's mark depends on what should not matter: length, Markdown, authority, the question repeated, an
    order to the judge, the order of answer and reference, its own model; and whether it gives one answer one mark, and
    none to what is no answer. The same answers are put to the same judge in another form; style, authority, echo and
    instruction are compared with as much neutral text, so that a liking of long answers passes for none of them.
    Replies are kept in the run: the same call goes on where it stopped, and verdicts that it has are not asked for
    again.

    Raises VivaError for a run without a judge or without answers to judge, and where nobody agreed to the addresses in
    somebody's run.
    """
    folder = open_run_folder(config.run)
    with folder.lock():
        return _examined(folder, config, confirm)


def _examined(folder: RunFolder, config: JudgeBiasConfig, confirm: Confirm) -> Findings[tuple[JudgeEffects, ...]]:
    """Ask judges for missing marks, and return the findings on all marks."""
    from viva.lab.judges.tables import findings

    limits = pick(LimitOptions, asdict(config))
    opened = prepare(folder)
    records = rejudge_records(folder.record, pick(RejudgeOptions, asdict(config)))
    if not records:
        raise VivaError(f"{folder.path} has no judge: name the one to examine with {option('judge', 'MODEL')}")
    if limits.batch is None and folder.batched(BATCHES):
        limits = replace(limits, batch=True)
    if not config.judge_base_url:  # a judge uses the addresses of the run's judges or models
        confirm(folder, limits)
    panel = open_judge_panel(records, 1, folder.record.seed, limits)
    judge_panel = replace(panel, verdicts=folder.record.verdicts, seed=folder.record.base_seed)
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened, stack)  # by the run's own judges
        count, items = _drawn(opened, answers, config)
        earlier = [("annotations", evidence_store.verdicts)] if evidence_store.verdicts else []
        if config.estimate:
            journal = folder.journal(STAGE, write=False)
            stack.callback(journal.close)
            there = (journal, *(kept for _, kept in earlier))
            requests = [
                [
                    request
                    for key, (_, request) in _requests(judge_panel, judge, items).items()
                    if not any(key in kept.answered for kept in there)
                ]
                for judge in judge_panel.judges
            ]
            merged = "Equal answers to a question are judged once, and what has a verdict is not asked again."
            lines = (*estimate_verdicts(judge_panel.judges, records, requests), merged)
            return findings((), lines)
        opened.limits, opened.judge_panel = limits, judge_panel
        refuse_unbatched(opened, [judge.model for judge in judge_panel.judges])
        journal = folder.journal(STAGE)
        stack.callback(journal.close)

        def wanted(judge: Judge, tally: Tally) -> Iterator[Task | None]:
            for key, (item, request) in _requests(judge_panel, judge, items).items():
                if not is_kept(key, journal, earlier, tally):
                    yield judge_panel.task(judge, item.evaluation.exam, item.question, key, request)

        total = sum(len(_requests(judge_panel, judge, items)) for judge in judge_panel.judges)
        dispatcher = open_batch_dispatcher(opened, stack, BATCHES)
        code = ask_judges(opened, STAGE, "judging", judge_panel, journal, wanted, total, dispatcher)
        effects = [
            effect
            for judge in judge_panel.judges
            for effect in _effects(judge_panel, judge, items, journal, evidence_store)
        ]
    few = len({(item.evaluation.label, item.evaluation.model.name, item.question.id, item.sample) for item in items})
    verdict = (
        f"{few:,} of {count:,} judged answers, drawn at random ({flag('answers')}, {flag('seed')} "
        f"{config.seed}). Marks are shares "
        "of the full mark.",
    )
    return findings(effects, verdict, code)


def _drawn(opened: OpenRun, journal: Journal, config: JudgeBiasConfig) -> tuple[int, list[Probed]]:
    """Return the number of answers usable for the tests, and the drawn ones in every form.

    Raises VivaError if there are none.
    """
    count = 0

    def judged() -> Iterator[tuple[bytes, int, Evaluation, Question, int, Response, list[Generate]]]:
        nonlocal count
        for evaluation in opened.evaluations:
            for question, sample, entry in evaluation.answers(journal):
                if entry is None or entry.error:
                    continue
                response = entry.response()
                requests = [
                    request
                    for request in evaluation.exam.judgements(question, response, 1, {})
                    if quoted(request) is not None
                ]
                if requests:
                    count += 1
                    drawn = f"{config.seed}/{evaluation.label}/{evaluation.model.name}/{question.id}/{sample}"
                    digest = hashlib.blake2b(drawn.encode("utf-8", "replace")).digest()
                    yield digest, count, evaluation, question, sample, response, requests

    chosen = heapq.nsmallest(config.answers, judged(), key=lambda judged_answer: judged_answer[:2])
    if not chosen:
        raise VivaError(
            f"{opened.folder.path}: no answer of this run is graded by a judge with a rubric that quotes it (a rule "
            "grades them, or they are graded as published); `viva docs judges` says what is judged"
        )
    plain = [(judged_answer, request) for judged_answer in chosen for request in judged_answer[6]]
    items = []
    for number, (judged_answer, request) in enumerate(plain):
        _, _, evaluation, question, sample, response, _ = judged_answer
        other = next(
            (
                material(request, place)
                for (_, _, whose, asked, *_), request in (*plain[number:], *plain[:number])
                if request.aspect == plain[number][1].aspect
                and (asked.id, asked.language) != (question.id, question.language)
                and asked.kind == question.kind
                and whose.label == evaluation.label
                and (place := quoted(request)) is not None
                and asked.answer != question.answer
            ),
            None,
        )
        forms = dict(variants(request, question, other))
        items.append(Probed(evaluation, question, sample, response, request, forms))
    return count, items


def _requests(judge_panel: JudgePanel, judge: Judge, items: Sequence[Probed]) -> dict[bytes, tuple[Probed, Generate]]:
    """Return all requests to one judge, by key."""
    return {
        judge_panel.key(judge.model, item.evaluation.exam, request): (item, request)
        for item in items
        for request in (item.request, *item.forms.values())
    }


def _effects(
    judge_panel: JudgePanel, judge: Judge, items: Sequence[Probed], journal: Journal, evidence_store: EvidenceStore
) -> Iterator[JudgeEffects]:
    """Yield the effects on one judge, aspect by aspect."""
    from viva.lab.judges.effects import Pair, asked_again, corrected, effect, negative_control
    from viva.lab.judges.tables import JudgeEffects

    def mark(item: Probed, request: Generate) -> float | None:
        exam = item.evaluation.exam
        entry = journal.read(judge_panel.key(judge.model, exam, request))
        if entry is None or entry.error or entry.stop_reason in CUT_OFF:
            return None
        return exam.mark(item.question, Opinion(judge.model.name, request.aspect, entry.text, entry.nonce))

    aspect_of = attrgetter("request.aspect")
    for aspect, group in groupby(sorted(items, key=aspect_of), aspect_of):
        mine = list(group)
        plain = [mark(item, item.request) for item in mine]
        pairs: dict[str, list[Pair]] = defaultdict(list)
        for item, before in zip(mine, plain, strict=True):
            given = {name: mark(item, request) for name, request in item.forms.items()}
            for name, after in given.items():
                other = given.get(control_of(name), before)
                pairs[name].append(
                    Pair(f"{item.evaluation.label} {item.question.cluster or item.question.id}", other, after)
                )
        effects = [effect(name, pairs[name]) for name in (*probes(), POSITION)]
        effects.append(_self_preference(judge, mine, plain, evidence_store))
        requests = _requests(judge_panel, judge, mine)
        entries = [journal.read(key) for key, (item, request) in requests.items() if mark(item, request) is None]
        unanswered = [reply for reply in entries if reply is None or (reply.error and reply.error.kind != "unreadable")]
        yield JudgeEffects(
            judge=judge.model.name,
            aspect=aspect,
            requests=len(requests),
            unanswered=len(unanswered),
            unreadable=len(entries) - len(unanswered),
            effects=corrected(effects),
            controls=(
                asked_again(AGAIN, pairs[AGAIN]),
                *(negative_control(name, pairs[name]) for name in (EMPTY, UNRELATED)),
            ),
        )


def _self_preference(
    judge: Judge, items: Sequence[Probed], marks: Sequence[float | None], evidence_store: EvidenceStore
) -> Effect:
    """Return a judge's self-preference: marks of its own model's answers and of others' against those of experts, else
    of other judges; a judge whose model is among those that answered may prefer these answers, so it is no reference.
    """
    from viva.lab.judges.effects import Effect, self_preference

    answered = [dict(item.evaluation.model.identity) for item in items]
    own = [identity == dict(judge.model.identity) for identity in answered]
    if not any(own):
        return Effect(probe=SELF, answers=0, reason="none of these answers is of its own model")
    judges = {
        each.model.name
        for each in (evidence_store.judge_panel.judges if evidence_store.judge_panel else ())
        if each.model.name != judge.model.name and dict(each.model.identity) not in answered
    }
    reason = "no expert and no judge whose model answered nothing has marked these answers"
    effect = Effect(probe=SELF, answers=0, reason=reason)
    for references in zip(*(_references(item, judges, evidence_store) for item in items), strict=True):
        known = [
            (mine, mark, reference, f"{item.evaluation.label} {item.question.id}")
            for item, mine, mark, reference in zip(items, own, marks, references, strict=True)
            if mark is not None and reference is not None
        ]
        if known and effect.change is None:
            effect = self_preference(SELF, *zip(*known, strict=True))
    return effect


def _references(item: Probed, judges: Collection[str], evidence_store: EvidenceStore) -> tuple[float | None, ...]:
    """Return the mean mark of experts and that of judges; None where there is none."""
    exam, aspect = item.evaluation.exam, item.request.aspect
    evidence = evidence_store.about(item.evaluation, item.question, item.sample, item.response)
    people = [mark.value for mark in evidence.marks if mark.aspect == aspect]
    others = [
        mark
        for opinion in evidence.opinions
        if opinion.aspect == aspect
        and opinion.judge in judges
        and (mark := exam.mark(item.question, opinion)) is not None
    ]
    return tuple(round(sum(marks) / len(marks), 9) if marks else None for marks in (people, others))
