"""Answers collected elsewhere: allowed files, and errors for unusable ones."""

import csv
import gzip
import io
import json
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from models.asking import answer, refusal, request
from rows import table as rows_of
from viva.errors import DataError
from viva.models.answerlines import question_id
from viva.models.replay import Replay
from viva.providers import Endpoint, connect
from viva.types import Generate, Response, Sampling

ROWS = [
    {"question": "q", "sample": 0, "text": "A"},
    {"question": "q", "sample": 1, "text": '乙：B,\n"sure"'},
    {"question": "law/3", "sample": 0, "text": ""},
]


def opened(path: Path) -> Replay:
    return connect(f"replay/{path}", Endpoint())


def jsonl(*rows: object) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def table(*rows: dict[str, object]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


WAYS: dict[str, Callable[[], bytes]] = {
    "answers.jsonl": lambda: jsonl(*ROWS),
    "answers.json": lambda: jsonl(*ROWS),
    "answers.jsonl.gz": lambda: gzip.compress(jsonl(*ROWS)),
    "answers.csv": lambda: table(*ROWS),
    "answers.csv.gz": lambda: gzip.compress(table(*ROWS)),
    "a long cell.csv": lambda: table(*({**row, "note": "x" * 200_000} for row in ROWS)),  # Python's csv has a limit
    "bom.csv": lambda: b"\xef\xbb\xbf" + table(*ROWS),
    "blank lines.jsonl": lambda: b"\n" + jsonl(*ROWS).replace(b"\n", b"\n\r\n") + b"  \n",
    "old line ends.jsonl": lambda: jsonl(*ROWS).replace(b"\n", b"\r"),
    "no last line end.jsonl": lambda: jsonl(*ROWS)[:-1],
}


def test_every_form_of_file_gives_the_same_answers(tmp_path: Path) -> None:
    wanted = {(one["question"], one["sample"]): one["text"] for one in ROWS}
    with rows_of() as row:
        for name, content in WAYS.items():
            with row(name):
                path = tmp_path / name
                path.write_bytes(content())
                model = opened(path)
                assert model.samples == 2
                assert {key: reply.text for key, reply in model.answers.items()} == wanted
                assert answer(model, request(sample=1)) == Response(text=str(ROWS[1]["text"]))


def test_the_columns_may_be_called_as_others_call_them_and_failures_be_null(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with rows_of() as row:
        for question in ("question", "question_id", "id", "ID", "case"):
            for text in ("text", "reply", "response", "answer", "output", "completion"):
                with row((question, text)):
                    path.write_bytes(jsonl({question: 17, text: "B", "model": "x", "latency": 3.2}))
                    assert opened(path).answers == {("17", 0): Response(text="B")}
                    assert opened(path).question_column == question, "as the file calls it"
        with row("stop reasons"):
            reasons = ("length", "tired", None)
            path.write_bytes(
                jsonl(*({"id": str(n), "text": "B", "stop_reason": each} for n, each in enumerate(reasons)))
            )
            assert [reply.stop_reason for reply in opened(path).answers.values()] == ["length", "other", "stop"]
        with row("null is how tools write down a request that failed"):
            path.write_bytes(jsonl({"question": "q", "text": None}, {"question": "r", "text": ""}))
            assert opened(path).answers == {("r", 0): Response(text="")}
        with row("a failure that is told needs no text"):
            path.write_bytes(jsonl({"question": "q", "error": "gone"}, {"question": "r", "text": "B"}))
            assert (opened(path).answers, opened(path).errors) == ({("r", 0): Response(text="B")}, {("q", 0): "gone"})


def test_a_question_without_an_answer_is_missing_and_not_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(jsonl(*ROWS))
    model = opened(path)
    asked = Generate(question="law/4", sample=0, prompt="?", sampling=Sampling())
    problem = refusal(model, asked)
    assert (problem.kind, problem.retry, problem.fatal) == ("missing", False, False)
    assert "law/4" in problem.message


GOOD = b'{"question": "q", "text": "A"}\n'


def bad_files() -> dict[str, tuple[str, bytes, str]]:
    """Name, content and what is said of it."""
    zipped = gzip.compress(GOOD)
    return {
        "no JSON": ("a.jsonl", GOOD + b"A, B, C\n", r"line 2"),
        "a torn line": ("a.jsonl", GOOD * 1 + b'{"question": "r", "te', r"line 2"),
        "a list": ("a.jsonl", GOOD + b'["q", "A"]\n', r"line 2"),
        "no question": ("a.jsonl", GOOD + b'{"text": "A"}\n', r"line 2.*'question'.*'text'"),
        "no text": ("a.jsonl", GOOD + b'{"question": "r", "error": null}\n', r"line 2.*'text'"),
        "a sample that is none": ("a.jsonl", b'{"question": "q", "text": "A", "sample": "two"}\n', r"line 1.*'two'"),
        "a negative sample": ("a.jsonl", b'{"question": "q", "text": "A", "sample": -1}\n', r"line 1.*-1"),
        "half a sample": ("a.jsonl", b'{"question": "q", "text": "A", "sample": 0.5}\n', r"line 1.*0\.5"),
        "a sample in another script": ("a.csv", "question,sample,text\nq,²,A\n".encode(), r"line 2.*²"),
        "a second answer": ("a.jsonl", GOOD + b"\n" + GOOD, r"line 3.*second answer.*q"),
        "a second answer in a table": ("a.csv", b"question,text\nq,A\nq,B\n", r"line 3.*second answer"),
        "a table without its columns": ("a.csv", b"number,letter\nq,A\n", r"line 2.*'question'.*'number'"),
        "a row that is too short": ("a.csv", b"question,sample,text\nq,0,A\nr\n", r"line 3"),
        "a row that is too long": ("a.csv", b"question,text\nq,A,surely\n", r"line 2"),
        "a table that is no UTF-8": ("a.csv", "question,text\nq,é\n".encode("latin-1"), r"UTF-8"),
        "lines that are no UTF-8": ("a.jsonl", b'{"question": "q", "text": "\xe9"}\n', r"line 1"),
        "an open quote": ("a.csv", b'question,text\nq,"A\n', r"CSV"),
        "nothing": ("a.jsonl", b"\n\n", r"no answers"),
        "a table of nothing": ("a.csv", b"question,text\n", r"no answers"),
        "no gzip": ("a.jsonl.gz", GOOD, r"a\.jsonl\.gz"),
        "a bomb": ("a.jsonl.gz", gzip.compress(b" " * (40 << 20)), r"unpacks to more than 200 times"),
        "half a gzip": ("a.jsonl.gz", gzip.compress(GOOD * 50)[:30], r"a\.jsonl\.gz"),
        "a gzip with a hole": ("a.jsonl.gz", zipped[:12] + b"\xff\xff" + zipped[14:], r"a\.jsonl\.gz"),
    }  # fmt: skip


def test_a_file_that_cannot_be_used_is_named_with_the_line(tmp_path: Path) -> None:
    with rows_of() as row:
        for what, (name, content, said) in bad_files().items():
            with row(what):
                path = tmp_path / name
                path.write_bytes(content)
                with pytest.raises(DataError, match=f"(?s){said}") as problem:
                    _ = opened(path).answers
                assert str(path) in str(problem.value)


def test_a_file_that_is_not_there_or_a_folder_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            opened(path)


def test_other_content_is_another_model_to_the_keys(tmp_path: Path) -> None:
    file, folder = tmp_path / "answers.jsonl", tmp_path / "answers"
    folder.mkdir()
    identities = []
    for content in (b"A", b"B", b"B"):
        file.write_bytes(GOOD.replace(b"A", content))
        (folder / "q.txt").write_bytes(content)
        identities.append([dict(opened(path).identity) for path in (file, folder)])
    assert identities[1] == identities[2]
    assert not any(one == other for one, other in zip(*identities[:2], strict=True))


# Folders of text files


def test_a_folder_of_text_files_is_read_by_their_names(tmp_path: Path) -> None:
    names = (
        ("0-0-1.txt", "0-0-1", 0),
        ("0-0-1_7.txt", "0-0-1", 7),
        ("0-0-1/7.txt", "0-0-1", 7),
        ("0-0-1/answer_7.txt", "0-0-1", 7),
        ("gpt/0-0-1/7.txt", "0-0-1", 7),
    )
    with rows_of() as row:
        for number, (name, question, sample) in enumerate(names):
            with row(name):
                folder = tmp_path / f"answers-{number}"
                (folder / name).parent.mkdir(parents=True)
                (folder / name).write_bytes(b" ein\r\nzwei\rdrei \n")
                assert opened(folder).answers == {(question, sample): Response(text=" ein\nzwei\ndrei \n")}


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no answers"):
        opened(tmp_path)
    (tmp_path / "q.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"q\.txt is not UTF-8"):
        opened(tmp_path)
    (tmp_path / "q").mkdir()
    for name in ("q.txt", "q_1.txt", "q/1.txt"):
        (tmp_path / name).write_text("A")
    with pytest.raises(DataError, match="second answer to question q, sample 1"):
        opened(tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "q.txt").write_text("A")
    (folder / "p.txt").symlink_to(tmp_path / "secret.txt")
    assert opened(folder).answers.keys() == {("q", 0)}


def test_a_file_is_read_for_its_identity_and_decoded_when_an_answer_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(b"no JSON\n")
    model = opened(file)
    assert len(model.identity["sha256"]) == 16, "tables of a finished run need no answer of it"
    file.write_bytes(GOOD)
    with pytest.raises(DataError, match="was changed while it was in use"):
        _ = model.answers


def test_a_large_file_is_read_where_it_lies_in_any_order(tmp_path: Path) -> None:
    count, text = 3000, "Thinking about it for some time. " * 30
    file = tmp_path / "answers.jsonl"
    file.write_bytes(jsonl(*({"question": f"q{at}", "text": f"{text}{at}"} for at in range(count))))
    tracemalloc.start()
    model = opened(file)
    assert model.samples == 1
    taken, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 100 * count, "a key and a place each"
    assert peak < file.stat().st_size / 4
    for at in (*range(100), *random.Random(0).sample(range(count), 200), 0, count - 1):
        assert model.answers[f"q{at}", 0].text == f"{text}{at}"
    assert [question for question, _ in model.answers] == [f"q{at}" for at in range(count)]


# InfiBench's answers as the authors' own programs leave them


def kept(path: Path) -> set[tuple[str, int]]:
    replay = opened(path)
    return {(name, sample) for name in replay.questions() for sample in replay.sample_numbers}


def test_a_question_is_named_by_its_case() -> None:
    for name in ("0-0-1", "eval_0-0-1", "eval_0-0-1.yaml", "cases_dev/eval_0-0-1.yaml", "a/b/eval_0-0-1.yml"):
        assert question_id(name) == "0-0-1"
    for name in ("eval_0-0", "eval_0-0-1-2", "my_eval_0-0-1", "eval_arts/0", "eval_0-0-1.txt", ""):
        assert question_id(name) == name


def test_thirty_answers_in_a_folder_with_its_parameters_or_packed_as_a_row_each(tmp_path: Path) -> None:
    folder, packed = tmp_path / "answers", tmp_path / "packed.csv"
    folder.mkdir()
    (folder / "params.yaml").write_text("temperature: 0.2\n", encoding="utf-8")
    wanted = [(case, sample) for sample in range(30) for case in ("0-0-0", "3-12-561")]
    for case, sample in wanted:
        (folder / f"eval_{case}_{sample}.txt").write_text(f"{case} {sample}", encoding="utf-8")
    rows = [f'eval_{case}.yaml,"answer {case}, {sample}"' for case, sample in wanted]
    packed.write_text("\n".join(["filename,completion", *rows]), encoding="utf-8")
    assert kept(folder) == kept(packed) == set(wanted)


def test_a_file_that_changes_between_two_answers_is_said_to_have_changed(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(jsonl(*({"question": f"q{at}", "text": "x" * 1000} for at in range(200))))
    model = opened(file)
    assert model.answers["q0", 0].text == "x" * 1000
    file.write_bytes(jsonl(*({"question": f"q{at}", "text": "other"} for at in range(200))))
    with pytest.raises(DataError, match="was changed while it was in use"):
        _ = model.answers["q199", 0]
