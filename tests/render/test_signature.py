"""The signature changes with everything that can change a score, and with nothing else."""

import itertools
from collections.abc import Iterator
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
RUBRIC = EXAM.templates["rubric"]
ENCODER = EncoderRecord(name="roberta-large", identity={"layer": "17", "weights": "f" * 64})
COMPARED = changed(EXAM, spec=changed(SPEC, encoder="roberta-large"))


def signed(run: Any = RUN, exam: Any = EXAM, model: str = "openai/m", opened: ModelRecord | None = None) -> str:
    return signature(run, exam, model, opened)


def with_spec(**values: Any) -> str:
    return signed(exam=changed(EXAM, spec=changed(SPEC, **values)))


def opened(**values: Any) -> str:
    weights = Weights(**{"fingerprint": "f" * 32, **values})
    return signed(opened=ModelRecord(name="hf/m", weights=weights))


CELLS = tuple(itertools.product(range(2), range(3)))
FACTORS = (Factor("prompt", ("base", "brief")), Factor("order", ("0", "1", "2")))
SPECS: tuple[dict[str, Any], ...] = (
    {"benchmark": "cmmlu"}, {"name": "mine"}, {"language": "de"}, {"shots": 5}, {"chain_of_thought": True},
    {"form": "base"}, {"only": "comprehension"}, {"limit": 100}, {"questions": ("1", "2")}, {"questions": ("1", "3")},
    {"as_published": True}, {"extraction": "first"}, {"extraction": "strict"}, {"context": 4096}, {"rationale": True},
    {"choose": "next-token"}, {"choose": "likelihood"}, {"shard": "1/3"}, {"shard": "2/3"}, {"draw": 1},
    {"vary": Design(FACTORS, CELLS)}, {"vary": Design(FACTORS, CELLS[:5])},  # other cells, other levels
    {"vary": Design(FACTORS[1:], ((0,), (1,), (2,)))},
)  # fmt: skip
EXAMS: tuple[dict[str, Any], ...] = (
    {"samples": 10}, {"sampling": Sampling(temperature=0.2, top_p=0.9)}, {"fingerprint": "ba9876543210"},
    {"data": None}, {"questions": 2182}, {"version": "2"}, {"templates": {"en": {"choice": {"ask": "Which one?"}}}},
    {"templates": {"en": EXAM.templates["en"]}},
    {"templates": {**EXAM.templates, "rubric": {**RUBRIC, "version": "2"}}},
)  # fmt: skip
RUNS: tuple[dict[str, Any], ...] = (
    {"judges": []}, {"judges": [ModelRecord(name="openai/k")]}, {"judges": PANEL}, {"judge_samples": 3}, {"samples": 3},
    {"repeats": 3}, {"viva": "0.2.0"},
)  # fmt: skip
SAMPLINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 0.7},
    {"temperature": None},
    {"top_p": 0.9},
    {"max_tokens": 16},
    {"max_tokens": None},
    {"seed": 0},
)
WEIGHTS: tuple[dict[str, Any], ...] = (
    {},
    {"fingerprint": "0" * 32},
    {"dtype": "bfloat16"},
    {"bits": 4},
    {"adapter": "mine"},
    {"template": "qwen"},
)
ENCODERS: tuple[dict[str, Any], ...] = (
    {},
    {"identity": {**ENCODER.identity, "weights": "0" * 64}},
    {"identity": {**ENCODER.identity, "layer": "10"}},
)
MEDIAN = changed(EXAM, spec=changed(SPEC, panel="median"))


def signatures() -> Iterator[tuple[object, str]]:
    """Every change that can move a number → the signature with it."""
    yield from ((change, with_spec(**change)) for change in SPECS)
    yield from ((change, signed(exam=changed(EXAM, **change))) for change in EXAMS)
    yield from ((change, signed(changed(RUN, **change))) for change in RUNS)
    yield from ((change, signed(changed(RUN, sampling=changed(RUN.sampling, **change)))) for change in SAMPLINGS)
    yield from ((change, opened(**change)) for change in WEIGHTS)
    yield from ((change, signed(changed(RUN, encoder=changed(ENCODER, **change)), COMPARED)) for change in ENCODERS)
    yield "exam seed", signed(changed(RUN, seed=1), changed(EXAM, spec=changed(SPEC, seed=1)))
    yield "model", signed(model="openai/n")
    yield "how the panel's verdicts become one", signed(changed(RUN, judges=PANEL), MEDIAN)
    yield "how a judge's several verdicts become one", signed(changed(RUN, judge_samples=2), MEDIAN)
    yield "a template of an endpoint", signed(opened=ModelRecord(name="openai/m", template="qwen"))


def test_whatever_can_move_a_number_moves_the_signature_each_in_a_way_of_its_own() -> None:
    seen: dict[str, object] = {signed(): "nothing changed"}
    for (change, text), row in tabled(*signatures()):
        with row:
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
    for text, row in tabled(
        *(signed(changed(RUN, **change)) for change in (
            {"created": "2027-01-01T00:00:00+00:00"}, {"command": ["viva", "grade"]}, {"encoder": ENCODER},
        )),
        *(signed(exam=changed(EXAM, **change)) for change in (
            {"data": "/elsewhere/the/same/files"}, {"templates": {**EXAM.templates, "data": "/a/table"}},
        )),
        with_spec(shuffle=True), with_spec(panel="majority"),  # the order of questions; a panel of one verdict
    ):  # fmt: skip
        with row:
            assert text == signed()


def test_a_signature_is_one_line_of_names_and_values() -> None:
    parts = dict(part.split(":", 1) for part in signed().split("|"))
    known = {"benchmark": "csbench.1", "judge": "openai/jx1", "panel": "none", "rubric": "mine.1", "rationale": "no",
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
