"""The signature changes with everything that can change a score, and with nothing else."""

import itertools
from collections.abc import Callable
from typing import Any

from render.samples import EXAM, RUN, changed
from rows import each_row, tabled
from viva.designs import Design, Factor
from viva.engine.folder import EncoderRecord, ModelRecord
from viva.providers import Weights
from viva.render.result import signature
from viva.types import ExamSpec, Sampling

SPEC = EXAM.spec
PANEL = [ModelRecord(name="openai/j"), ModelRecord(name="openai/k")]
RUBRIC = {"name": "mine", "version": "1"}
ENCODER = EncoderRecord(name="roberta-large", identity={"layer": "17", "weights": "f" * 64})
COMPARED = changed(EXAM, spec=changed(SPEC, encoder="roberta-large"))


def signed(run: Any = RUN, exam: Any = EXAM, model: str = "openai/m", opened: ModelRecord | None = None) -> str:
    return signature(run, exam, model, opened)


def with_spec(**values: Any) -> str:
    return signed(exam=changed(EXAM, spec=changed(SPEC, **values)))


def with_sampling(**values: Any) -> str:
    return signed(changed(RUN, sampling=changed(RUN.sampling, **values)))


def opened(**values: Any) -> str:
    weights = Weights(**{"fingerprint": "f" * 32, **values})
    return signed(opened=ModelRecord(name="hf/m", weights=weights))


CELLS = tuple(itertools.product(range(2), range(3)))
FACTORS = (Factor("prompt", ("base", "brief")), Factor("order", ("0", "1", "2")))
CHANGES: dict[str, Callable[[], str]] = {
    "benchmark": lambda: with_spec(benchmark="cmmlu"),
    "question file": lambda: with_spec(name="mine"),
    "the exam's own samples": lambda: signed(exam=changed(EXAM, samples=10)),
    "the exam's own sampling": lambda: signed(exam=changed(EXAM, sampling=Sampling(temperature=0.2, top_p=0.9))),
    "language": lambda: with_spec(language="de"),
    "shots": lambda: with_spec(shots=5),
    "chain of thought": lambda: with_spec(chain_of_thought=True),
    "form": lambda: with_spec(form="base"),
    "only": lambda: with_spec(only="comprehension"),
    "limit": lambda: with_spec(limit=100),
    "listed questions": lambda: with_spec(questions=("1", "2")),
    "other listed questions": lambda: with_spec(questions=("1", "3")),
    "exam seed": lambda: signed(changed(RUN, seed=1), changed(EXAM, spec=changed(SPEC, seed=1))),
    "as published": lambda: with_spec(as_published=True),
    "the first letter": lambda: with_spec(extraction="first"),
    "stated letters alone": lambda: with_spec(extraction="strict"),
    "context": lambda: with_spec(context=4096),
    "data": lambda: signed(exam=changed(EXAM, fingerprint="ba9876543210")),
    "bundled sample": lambda: signed(exam=changed(EXAM, data=None)),
    "number of questions": lambda: signed(exam=changed(EXAM, questions=2182)),
    "benchmark version": lambda: signed(exam=changed(EXAM, version="2")),
    "prompts": lambda: signed(exam=changed(EXAM, templates={"en": {"choice": {"ask": "Which one?"}}})),
    "model": lambda: signed(model="openai/n"),
    "no judge": lambda: signed(changed(RUN, judges=[])),
    "judge": lambda: signed(changed(RUN, judges=[ModelRecord(name="openai/k")])),
    "a second judge": lambda: signed(changed(RUN, judges=PANEL)),
    "how the panel's verdicts become one": lambda: signed(
        changed(RUN, judges=PANEL), changed(EXAM, spec=changed(SPEC, panel="median"))
    ),
    "chosen by the next token": lambda: with_spec(choose="next-token"),
    "chosen by likelihood": lambda: with_spec(choose="likelihood"),
    "weights": opened,
    "other weights": lambda: opened(fingerprint="0" * 32),
    "their numbers": lambda: opened(dtype="bfloat16"),
    "their bits": lambda: opened(bits=4),
    "an adapter": lambda: opened(adapter="mine"),
    "a template": lambda: opened(template="qwen"),
    "a template of an endpoint": lambda: signed(opened=ModelRecord(name="openai/m", template="qwen")),
    "rationale": lambda: with_spec(rationale=True),
    "a shard": lambda: with_spec(shard="1/3"),
    "another shard": lambda: with_spec(shard="2/3"),
    "rubric": lambda: signed(exam=changed(EXAM, templates={**EXAM.templates, "rubric": RUBRIC})),
    "rubric's version": lambda: signed(
        exam=changed(EXAM, templates={**EXAM.templates, "rubric": {**RUBRIC, "version": "2"}})
    ),
    "encoder": lambda: signed(changed(RUN, encoder=ENCODER), COMPARED),
    "encoder's weights": lambda: signed(
        changed(RUN, encoder=changed(ENCODER, identity={**ENCODER.identity, "weights": "0" * 64})), COMPARED
    ),
    "encoder's layer": lambda: signed(
        changed(RUN, encoder=changed(ENCODER, identity={**ENCODER.identity, "layer": "10"})), COMPARED
    ),
    "a design": lambda: with_spec(vary=Design(FACTORS, CELLS)),
    "other cells of a design": lambda: with_spec(vary=Design(FACTORS, CELLS[:5])),
    "other levels of a design": lambda: with_spec(vary=Design(FACTORS[1:], ((0,), (1,), (2,)))),
    "another draw of exemplars": lambda: with_spec(draw=1),
    "how a judge's several verdicts become one": lambda: signed(
        changed(RUN, judge_samples=2), changed(EXAM, spec=changed(SPEC, panel="median"))
    ),
    "judge samples": lambda: signed(changed(RUN, judge_samples=3)),
    "samples": lambda: signed(changed(RUN, samples=3)),
    "repeats": lambda: signed(changed(RUN, repeats=3)),
    "temperature": lambda: with_sampling(temperature=0.7),
    "the server's temperature": lambda: with_sampling(temperature=None),
    "top-p": lambda: with_sampling(top_p=0.9),
    "max tokens": lambda: with_sampling(max_tokens=16),
    "the server's max tokens": lambda: with_sampling(max_tokens=None),
    "a seed sent to the server": lambda: with_sampling(seed=0),
    "viva": lambda: signed(changed(RUN, viva="0.2.0")),
}


def test_whatever_can_move_a_number_moves_the_signature_each_in_a_way_of_its_own() -> None:
    seen = {signed(): "nothing changed"}
    for (change, make), row in tabled(*CHANGES.items()):
        with row:
            text = make()
            assert text not in seen, f"as: {seen[text]}"
            seen[text] = change


def test_every_setting_of_an_exam_and_of_sampling_is_among_the_changes() -> None:
    """A setting that is added later must be added here, and to the signature. (Nobody can set `stop`.)"""
    assert set(ExamSpec.__struct_fields__) == {
        *("benchmark", "name", "language", "shots", "chain_of_thought", "form", "only"),
        *("limit", "seed", "as_published", "context", "rationale", "encoder", "panel", "choose", "questions"),
        *("shard", "extraction", "vary", "draw", "shuffle"),
    }
    assert set(Sampling.__struct_fields__) == {"temperature", "top_p", "max_tokens", "seed", "stop"}


def test_what_cannot_move_a_number_does_not_move_the_signature() -> None:
    changes = {
        "created": lambda: signed(changed(RUN, created="2027-01-01T00:00:00+00:00")),
        "command": lambda: signed(changed(RUN, command=["viva", "grade"])),
        "where the data lie": lambda: signed(exam=changed(EXAM, data="/elsewhere/the/same/files")),
        "the same prompts": lambda: signed(exam=changed(EXAM, templates={"en": {"choice": {"ask": "Which?"}}})),
        "the order in which questions are asked": lambda: with_spec(shuffle=True),
        "a panel of one verdict": lambda: with_spec(panel="majority"),
        "an encoder of another exam of the run": lambda: signed(changed(RUN, encoder=ENCODER)),
    }
    for (_change, make), row in tabled(*changes.items()):
        with row:
            assert make() == signed()


def test_a_signature_is_one_line_of_names_and_values() -> None:
    parts = dict(part.split(":", 1) for part in signed().split("|"))
    known = {"benchmark": "csbench.1", "judge": "openai/jx1", "panel": "none", "rubric": "none", "rationale": "no",
             "encoder": "none", "samples": "1x1", "temp": "0"}  # fmt: skip
    assert known.items() <= parts.items()
    assert "\n" not in signed()
    assert "encoder:missing" in signed(exam=COMPARED), "not opened yet"
    assert "panel:mean" in signed(changed(RUN, judge_samples=2)), "one judge that is asked twice is a panel"


def test_a_signature_names_panel_rubrics_and_encoder() -> None:
    run = changed(RUN, judges=PANEL, judge_samples=3, encoder=ENCODER)
    templates = {"judge": {"rubric": {"name": "answers", "version": "2"}}, "rationale": {"rubric": {"rubric": RUBRIC}}}
    exam = changed(COMPARED, templates=templates, spec=changed(COMPARED.spec, panel="median", rationale=True))
    assert {
        "judge": "openai/jx3+openai/kx3", "panel": "median", "rubric": "answers.2+mine.1", "rationale": "yes",
        "encoder": f"roberta-large.17.{'f' * 12}",
    }.items() <= dict(part.split(":", 1) for part in signed(run, exam).split("|")).items()  # fmt: skip


@each_row(
    ("roberta-large", "roberta-large@4f2e0a1b2c3d4e5f", "roberta-large.17.4f2e0a1b2c3d"),
    ("microsoft/deberta-base", "microsoft/deberta-base@4f2e0a1b2c3d", "microsoft/deberta-base.17.4f2e0a1b2c3d"),
    ("./models/mine", "f" * 32, f"mine.17.{'f' * 12}"),
    ("/home/ada/models/mine/", "f" * 32, f"mine.17.{'f' * 12}"),
    ("models/mine", "f" * 32, f"mine.17.{'f' * 12}"),
    (".", "f" * 32, f"folder.17.{'f' * 12}"),
)
def test_an_encoder_is_named_as_it_is_called_and_not_by_where_it_lies(name: str, weights: Any, said: str) -> None:
    found = EncoderRecord(name=name, identity={"layer": "17", "weights": weights})
    assert f"|encoder:{said}|" in signed(changed(RUN, encoder=found), COMPARED)
