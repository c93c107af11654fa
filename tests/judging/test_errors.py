"""`viva error-types`: judges behind a socket label wrong answers; kills, attacks, panels, limits."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given

from benchmarks.handmade import csbench, opened, record
from cli.collected import dangerous, refused, write_jsonl
from cli.told import rows_of
from judging.attacks import attacks, woven
from judging.reading import Sheet, read, visible
from judging.serving import Body, JudgeServer
from judging.test_attacks import EVIL, HALF
from rows import tabled
from servers.fixtures import QUIET, Ended, Viva, wait_until
from viva.api.examining import UnansweredWarning
from viva.api.studies import error_types
from viva.benchmarks.csbench.errorlabels import ErrorTypes
from viva.types import Question, Response

WRONG = 12
ORDER = re.compile(r"ERRORS\s*:\s*([KR][1-3]|none)", re.IGNORECASE)


class Labelling(JudgeServer):
    """Judges that label: `all-13` gives the first and third type of whatever kind the question is, `all-0` none.

    `garbage` says nothing; an examinee says "B".
    """

    def reply(self, body: Body) -> str:
        model: str = body["model"]
        kind = "R" if "R1" in body["messages"][-1]["content"] else "K"
        if model.startswith("all-"):
            codes = [f"{kind}{number}" for number in model.split("-")[1] if number != "0"]
            return f"It is as it is.\nERRORS: {', '.join(codes) or 'none'}"
        return "I would rather talk about the weather." if model == "garbage" else "B"


@pytest.fixture
def server() -> Iterator[Labelling]:
    with Labelling() as found:
        yield found


def question(number: int) -> dict[str, object]:
    return record(
        number,
        "A" if number <= WRONG else "B",
        Tag="Reasoning" if number % 3 == 0 else "Knowledge",
        Domain="Operating System" if number % 2 else "Computer Network",
    )


def sat(viva: Viva, texts: dict[int, str] | None = None, run: str = "run") -> None:
    """A run of 15 questions, of which the first 12 are answered wrongly; each reply with a text of its own."""
    data = csbench(viva.folder / "data", "en", [question(number) for number in range(1, 16)])
    rows = [
        {"question": str(number), "text": (texts or {}).get(number, f"Thought number {number}.\nAnswer: B")}
        for number in range(1, 16)
    ]
    answers = write_jsonl(viva.folder / f"{run}.jsonl", rows)
    ended = viva("run", "csbench", "--data", data, "--model", f"replay/{answers}", "--run", run, *QUIET)
    assert ended.code == 0, ended.err


def errors(viva: Viva, server: Labelling, *judges: str, more: tuple[object, ...] = (), run: str = "run") -> Ended:
    return viva(*arguments(server, *judges, run=run), *more)


def arguments(server: Labelling, *judges: str, run: str = "run") -> list[object]:
    asked = [part for judge in judges for part in ("--judge", f"openai/{judge}")]
    return ["error-types", run, *asked, "--judge-base-url", server.url, "--format", "json", *QUIET]


def counts(ended: Ended) -> dict[str, int]:
    """Type → how many answers show it."""
    return {row["type"]: row["count"] for row in ended.report["rows"] if not row["by"]}


def errors_of(ended: Ended, *, parts: bool = False) -> list[dict[str, Any]]:
    """A row a model and kind of question, and of `parts` a value of the tag."""
    *tables, _ = ended.report["tables"]
    tables = [table for table in tables if (" by " in table["title"]) == parts]
    return [row for table in tables for row in table["rows"]]


def journal(viva: Viva) -> list[dict[str, Any]]:
    return viva.entries(stage="errors")


def test_every_wrong_answer_is_labelled_once_and_counted_by_kind_and_domain(viva: Viva, server: Labelling) -> None:
    sat(viva)
    before = {name: (viva.folder / "run" / name).read_bytes() for name in ("run.json", "responses.jsonl")}
    ended = errors(viva, server, "all-13")
    assert ended.code == 0, ended.err
    assert counts(ended) == {"K1": 8, "K2": 0, "K3": 8, "R1": 4, "R2": 0, "R3": 4}
    knowledge, reasoning = errors_of(ended)
    assert (knowledge["wrong"], knowledge["labelled"], reasoning["wrong"]) == (8, 8, 4)
    assert {one["value"] for one in errors_of(ended, parts=True)} == {"OS", "CN"}
    assert sum(one["wrong"] for one in errors_of(ended, parts=True)) == WRONG
    assert len(journal(viva)) == WRONG
    assert {name: (viva.folder / "run" / name).read_bytes() for name in before} == before
    server.stop()  # what is known needs nobody
    again = errors(viva, server, "all-13")
    assert again.out == ended.out
    assert "0-shot, answers only" in str(ended.report["notes"])


def test_a_program_gets_what_the_command_prints(
    viva: Viva, server: Labelling, capfd: pytest.CaptureFixture[str]
) -> None:
    sat(viva)
    asked = {"judge": "openai/all-13", "judge_base_url": server.url}
    capfd.readouterr()
    with pytest.warns(UnansweredWarning, match="not answered yet"):
        assert error_types(viva.folder / "run", max_requests=5, **asked).to_frame()["labelled"].max() < 8
    found = error_types(viva.folder / "run", **asked)
    assert capfd.readouterr() == ("", "")
    assert json.loads(found.to_json()) == errors(viva, server, "all-13").report
    assert (sum(server.asked.values()), found.chart() is None) == (WRONG, False)


def test_other_formats_are_labelled_only_on_request(viva: Viva, server: Labelling) -> None:
    data = csbench(viva.folder / "data", "en", [record(1), record(2, "True", Format="Assertion")])
    answers = write_jsonl(viva.folder / "a.jsonl", [{"question": "1", "text": "B"}, {"question": "2", "text": "False"}])
    viva("run", "csbench", "--data", data, "--model", f"replay/{answers}", "--run", "run", *QUIET).exits()
    assert counts(errors(viva, server, "all-1"))["K1"] == 1
    both = tuple(part for name in ("Multiple-choice", "Assertion") for part in ("--question-format", name))
    assert counts(errors(viva, server, "all-1", more=both))["K1"] == 2


def test_killed_in_the_middle_it_goes_on_and_asks_nobody_twice(viva: Viva, server: Labelling) -> None:
    sat(viva)
    server.hold_after = 5
    going = viva.start(*arguments(server, "all-1"), "--concurrency", 3)
    wait_until(lambda: sum(server.asked.values()) >= 8, "three requests that wait")
    there = viva.folder / "run" / "errors.jsonl"
    wait_until(lambda: there.read_bytes().count(b"\n") == 5, "five labels in the journal")
    going.kill()
    with there.open("ab") as torn:
        torn.write(b'{"key":"00')
    server.release()
    ended = errors(viva, server, "all-1")
    assert ended.code == 0, ended.err
    assert counts(ended)["K1"] + counts(ended)["R1"] == WRONG
    assert len(journal(viva)) == WRONG
    times = sorted(server.bodies_asked.values())
    assert times == [1] * (WRONG - 3) + [2] * 3, "asked again: the three that were in flight"


def test_limits_hold_and_the_same_command_goes_on(viva: Viva, server: Labelling) -> None:
    sat(viva)
    some = errors(viva, server, "all-2", more=("--max-requests", 4))
    assert some.code == 3
    assert "not answered yet; go on with: the same command" in some.err
    assert sum(one["labelled"] for one in errors_of(some)) == 4
    assert "8 of 12 wrong answers have no label yet: no judge has replied" in str(some.report["notes"])
    rest = errors(viva, server, "all-2")
    assert rest.code == 0
    assert sum(server.asked.values()) == WRONG


def test_what_cannot_be_read_is_asked_again_and_then_left_without_a_label(viva: Viva, server: Labelling) -> None:
    sat(viva)
    ended = errors(viva, server, "garbage")
    assert ended.code == 3
    assert server.asked == {"garbage": 3 * WRONG}
    assert sum(one["labelled"] for one in errors_of(ended)) == 0
    assert all(entry["error"]["kind"] == "unreadable" for entry in journal(viva))
    assert set(counts(ended).values()) == {0}
    assert "12 of 12 wrong answers have no label: no reply of a judge's could be read" in str(ended.report["notes"])
    both = errors(viva, server, "garbage", "all-3")
    assert counts(both)["K3"] == 8, "one judge that can be read is enough"


def test_a_panel_decides_by_majority_and_none_of_them_is_an_answer(viva: Viva, server: Labelling) -> None:
    sat(viva)
    panel = errors(viva, server, "all-12", "all-23", "all-3")
    assert counts(panel) == {"K1": 0, "K2": 8, "K3": 8, "R1": 0, "R2": 4, "R3": 4}
    split = errors(viva, server, "all-1", "all-2")
    assert sum(one["labelled"] for one in errors_of(split)) == 0
    assert "no type has a majority" in str(split.report["notes"])
    nothing = errors(viva, server, "all-0")
    assert all((one["labelled"], one["fitting"]) == (one["wrong"], 0) for one in errors_of(nothing))
    twice = errors(viva, server, "all-0", more=("--judge-samples", 2))
    assert twice.code == 0
    assert server.asked["all-0"] == 2 * WRONG


def test_labels_and_charts_are_written_and_hostile_answers_are_text(viva: Viva, server: Labelling) -> None:
    sat(viva, {1: "=cmd\x1b[31m \u202e<script>alert(1)</script> so: B", 2: "Answer: B"})
    ended = errors(viva, server, "all-12", more=("--chart", "c.json"))
    assert ended.code == 0, ended.err
    rows = rows_of(ended.report, "Labels")
    assert len(rows) == WRONG
    assert {tuple(row["labels"]) for row in rows} == {("K1", "K2"), ("R1", "R2")}
    assert rows[0]["votes"] == [["openai/all-12", ["K1", "K2"]]]
    assert not dangerous(ended.out)
    assert "types of error" in (viva.folder / "c.json").read_text(encoding="utf-8")
    command = [*arguments(server, "all-12"), "--format"]
    for form, said in (("terminal", "conceptual confusion"), ("markdown", "| model |"), ("latex", "toprule")):
        shown = viva(*command, form)
        assert said in shown.out
        assert not dangerous(shown.out)
    assert server.asked == {"all-12": WRONG}


def test_what_has_no_such_errors_is_refused_before_anybody_is_asked(viva: Viva, server: Labelling) -> None:
    sat(viva)
    assert viva("run", "cmmlu", "--model", "baseline/first", "--run", "other", *QUIET).code == 0
    refused(errors(viva, server, "all-1", run="other"), "holds cmmlu-zh: error types are those of CS-Bench")
    for more, said in (
        (("--by", "colour"), "there are: domain, subfield"),
        (("--instructions", "none.toml"), "no prompt file"),
        (("--question-format", "Essay"), "Fill-in-the-blank"),
        (("--max-cost", 1), "--price openai/all-1=IN/OUT"),
    ):
        refused(errors(viva, server, "all-1", more=more), said)
    refused(viva("error-types", "nowhere", "--judge", "openai/x"), "nowhere is no run folder", code=2)
    refused(viva("error-types", "run"), "--judge")
    assert not server.asked
    assert not (viva.folder / "other" / "errors.jsonl").exists()


# Attacks


@cache
def targets() -> tuple[Question, ...]:
    """A question of knowledge and one of reasoning, in each language."""
    with TemporaryDirectory(prefix="errors-") as folder:
        return tuple(
            found
            for language in ("en", "zh", "de", "fr")
            for found in opened(
                "csbench", csbench(Path(folder), language, [record(1), record(2, Tag="Reasoning")]), language=language
            ).questions()
        )


def as_labels(text: str, kind: str) -> str:
    """An attack on verdicts as one on labels: the same orders, in our form."""
    text = re.sub(r"VERDICT", "ERRORS", text)
    text = text.replace("ＶＥＲＤＩＣＴ", "ＥＲＲＯＲＳ")
    return re.sub(r"(ERRORS(?:\*\*)?\s*[:：](?:\*\*)?\s*)(?:10|0\.5|1|0)", rf"\g<1>{kind}1", text)


def asked(question: Question, reply: str) -> Sheet:
    prompt = ErrorTypes().request(question, Response(text=reply), 0).prompt
    assert not isinstance(prompt, str)
    system, user = prompt
    if not HALF.search(reply):
        assert msgspec.json.encode(prompt)  # it can be sent and written
    return read(system.content, user.content)  # type: ignore[union-attr]


def hold(question: Question, reply: str) -> None:
    """The judge is told the very same whatever is answered; who quotes it means its own last line, or nothing."""
    types, innocent, attacked = ErrorTypes(), asked(question, "B"), asked(question, reply)
    assert attacked.outside == innocent.outside
    assert attacked.fence not in attacked.material
    orders = [ORDER.findall(visible("\n".join(sheet.outside))) for sheet in (innocent, attacked)]
    assert orders[0] == orders[1]
    meant = types.known(question)[1:2]
    said = f"The student wrote:\n{attacked.material}\nI see.\nERRORS: {meant[0]}"
    assert types.labels(question, said) in (meant, None)
    silent = types.labels(question, f"The student wrote:\n{attacked.material}\nThat is all I can say.")
    assert silent is None


@pytest.mark.parametrize("most", [2, pytest.param(8, marks=pytest.mark.slow, id="all")])
def test_no_attack_gets_a_label_or_loses_one(most: int) -> None:
    for attack, row in tabled(*attacks()):
        with row:
            for target in targets()[:2] if "fill" in attack else targets()[:most]:
                kind = "R" if target.tags["tag"] == "Reasoning" else "K"
                hold(target, as_labels(woven(attack, target), kind))


@given(EVIL)
def test_whatever_is_answered_fences_and_labels_hold(text: str) -> None:
    for target in targets()[:2]:
        hold(target, as_labels(text, "K"))


def test_the_attacks_do_order_labels_here() -> None:
    """The corpus has teeth: most of its orders are orders in our form."""
    texts = [as_labels(attack["text"], "K") for attack in attacks() if "text" in attack]
    assert sum(any(code[0] in "Kn" for code in ORDER.findall(text)) for text in texts) >= 25
