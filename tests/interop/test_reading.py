"""Files of OpenCompass and of `datasets`, tables with columns of any name; and hostile files of any kind."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import opened
from cli.collected import dangerous, read_jsonl, write_csv, write_jsonl
from interop.command import command, direct, grade
from interop.replies import reply_to
from rows import each_row
from viva.errors import DataError
from viva.interop.reading import FORMS, read_logs
from viva.interop.reading.detecting import form_of
from viva.interop.reading.rows import Columns
from viva.types import Question


def cmmlu() -> list[Question]:
    return list(opened("cmmlu").questions())


def asked(question: Question) -> str:
    options = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", question.options, strict=True))
    return f"以下是单项选择题，请直接给出正确答案的选项。\n题目：{question.text}\n{options}\n答案是: "


def prediction(question: Question, sample: int = 0) -> dict[str, Any]:
    """An entry as OpenCompass's GenInferencer writes it."""
    prompt = [{"role": "HUMAN", "prompt": asked(question)}]
    return {"origin_prompt": prompt, "prediction": reply_to(question, sample), "gold": question.answer}


def write_predictions(path: Path, entries: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {str(number): entry for number, entry in enumerate(entries)}
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same answers graded from a plain file."""
    return direct(tmp_path_factory.mktemp("plain"), "cmmlu")


def test_predictions_of_opencompass_also_in_shards_of_a_folder(tmp_path: Path, plain: dict[str, Any]) -> None:
    folder = tmp_path / "20261121_120000" / "predictions" / "a-model"
    questions = cmmlu()
    for number, start in enumerate(range(0, len(questions), 9)):
        write_predictions(
            folder / f"cmmlu_{number}.json", [prediction(question) for question in questions[start : start + 9]]
        )
    (tmp_path / "20261121_120000" / "summary.json").write_text('{"accuracy": 1}')
    ended = grade(tmp_path, "cmmlu", "20261121_120000")
    assert (ended.code, ended.overall) == (0, plain), ended.err
    assert "96 by text" in ended.err
    assert ended.report["results"][0]["model"] == "a-model"


def test_the_order_is_that_of_shards_and_entries(tmp_path: Path, plain: dict[str, Any]) -> None:
    entries = [{"prediction": reply_to(question), "gold": question.answer} for question in cmmlu()]
    write_predictions(tmp_path / "p" / "x_0.json", entries[:12])
    for number in range(1, 12):
        write_predictions(tmp_path / "p" / f"x_{number}.json", entries[12 * number : 12 * number + 12])
    refused = grade(tmp_path, "cmmlu", "p")
    assert refused.code == 2
    assert "neither an id nor a text" in refused.err
    ended = grade(tmp_path, "cmmlu", "p", "--by-order")
    assert ended.overall == plain
    assert "96 by order" in ended.err
    (tmp_path / "p" / "x_7.json").unlink()
    short = grade(tmp_path, "cmmlu", "p", "--by-order")
    assert short.code == 2
    assert "must be as many" in short.err


def test_an_option_chosen_by_perplexity(tmp_path: Path) -> None:
    entries = []
    for question in cmmlu():
        said = asked(question)
        labels = {
            f"label: {letter}": {"testing input": said, "prompt": f"...{said}{letter}", "PPL": 2.0} for letter in "ABCD"
        }
        entries.append({"in-context examples": "", **labels, "prediction": question.answer, "gold": question.answer})
    ended = grade(tmp_path, "cmmlu", write_predictions(tmp_path / "ppl.json", entries))
    assert ended.overall["mean"] == 1.0


def test_several_predictions_are_samples_and_none_is_no_zero(tmp_path: Path) -> None:
    entries = [prediction(question) for question in cmmlu()]
    for entry, question in zip(entries, cmmlu(), strict=True):
        entry["prediction"] = [str(question.answer), None]
    ended = grade(tmp_path, "cmmlu", write_predictions(tmp_path / "two.json", entries))
    assert ended.overall["outcomes"] == {"right": 96, "error": 96}
    assert ended.overall["mean"] == 1.0


def test_what_is_not_matched_is_listed_and_ends_with_3(tmp_path: Path) -> None:
    entries = [prediction(question) for question in cmmlu()]
    for entry in entries[:30]:
        entry["origin_prompt"] = "An \x1b[31munknown\x1b[0m question, \u202ewhatever it is"
    ended = grade(tmp_path, "cmmlu", write_predictions(tmp_path / "some.json", entries), "--run", "run")
    assert ended.code == 3
    assert "66 by text, 0 by order; 30 not matched" in ended.err
    assert ended.err.count("viva: not matched:") == 20
    assert "10 more: unmatched.jsonl" in ended.err
    assert not dangerous(ended.err)
    rows = read_jsonl(tmp_path / "run" / "unmatched.jsonl")
    assert len(rows) == 30
    none = write_predictions(tmp_path / "none.json", entries[:30])
    assert grade(tmp_path, "cmmlu", none, "--run", "other").code == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.peers("datasets")
def test_data_sets_of_parquet_and_as_saved_to_disk(tmp_path: Path, plain: dict[str, Any]) -> None:
    from datasets import Dataset, DatasetDict

    rows = [{"asked": asked(q), "said": reply_to(q), "note": number} for number, q in enumerate(cmmlu())]
    (tmp_path / "parquet" / "data").mkdir(parents=True)
    for part in range(2):
        pl.DataFrame(rows[part::2]).write_parquet(tmp_path / "parquet" / "data" / f"train-0000{part}.parquet")
    DatasetDict({"test": Dataset.from_list(rows)}).save_to_disk(str(tmp_path / "saved"))
    for name, called in (("parquet/data/..", "replay/parquet"), ("saved", "replay/saved")):
        ended = grade(tmp_path, "cmmlu", name, "--question-column", "asked", "--text-column", "said")
        assert (ended.code, ended.overall, called in ended.err) == (0, plain, True), ended.err
    wrong = grade(tmp_path, "cmmlu", "saved", "--question-column", "asked", "--text-column", "nothing")
    assert wrong.code == 2
    assert "no column 'nothing'; it has: 'asked', 'said', 'note'" in wrong.err


def test_the_table_of_the_questions_is_no_model_that_knows_them_all(tmp_path: Path, plain: dict[str, Any]) -> None:
    golds = [{"id": q.id, "question": q.text, "answer": q.answer} for q in cmmlu()]
    write_csv(tmp_path / "set.csv", golds, ("id", "question", "answer"))
    assert "every reply is the gold answer" in grade(tmp_path, "cmmlu", "set.csv").err
    (tmp_path / "rows.csv").write_text(",asked\n0,x\n")
    assert "which column holds the replies?" in grade(tmp_path, "cmmlu", "rows.csv").err, "not the one without a name"
    refused = grade(tmp_path, "cmmlu", "set.csv", "--text-column", "question")
    assert (refused.code, "its question's own text" in refused.err) == (2, True)
    first, second, *_ = opened("infibench").questions()  # which have no golds
    write_jsonl(tmp_path / "echo.jsonl", ({"question": q.id, "text": first.text} for q in (first, second)))
    assert "its question's own text" not in grade(tmp_path, "infibench", "echo.jsonl").err
    (tmp_path / "set").mkdir()  # beside answers it is passed over
    pl.DataFrame([{"question": q.id, "reply": reply_to(q)} for q in cmmlu()]).write_parquet(tmp_path / "set/a.parquet")
    golds = [{"question": q.id, "text": q.text, "answer": q.answer} for q in cmmlu()]
    pl.DataFrame(golds).write_parquet(tmp_path / "set/q.parquet")
    assert grade(tmp_path, "cmmlu", "set").overall == plain


def batched(question: Question) -> dict[str, Any]:
    """A line of the results of a batch, as OpenAI writes them."""
    body = {"model": "gpt-x", "choices": [{"index": 0, "message": said(question), "finish_reason": "stop"}]}
    return {"id": "batch_1", "custom_id": question.id, "response": {"status_code": 200, "body": body}, "error": None}


def messaged(question: Question) -> dict[str, Any]:
    """The same as Anthropic writes them, with a thought before the reply."""
    content = [{"type": "thinking", "thinking": "A? B? C? D?"}, {"type": "text", "text": reply_to(question)}]
    message = {"role": "assistant", "model": "claude-x", "content": content, "stop_reason": "end_turn"}
    return {"custom_id": question.id, "result": {"type": "succeeded", "message": message}}


def said(question: Question) -> dict[str, str]:
    return {"role": "assistant", "content": reply_to(question)}


def chat(question: Question) -> list[dict[str, str]]:
    return [{"role": "user", "content": asked(question)}, said(question)]


COLUMNS = ("--question-column", "ask", "--text-column", "out")


@each_row(
    ("openai.jsonl", batched),
    ("anthropic.jsonl", messaged),
    ("asked.jsonl", lambda q: {"id": 5, "question": q.text, "gold": "A", "prediction": reply_to(q)}),
    ("gold.jsonl", lambda q: {"id": q.id, "answer": q.answer, "model_answer": reply_to(q)}),
    ("eee.jsonl", lambda q: {"model_id": "x/y", "sample_id": q.id, "output": {"raw": [reply_to(q)]}}),
    ("chat.jsonl", lambda q: {"messages": chat(q)}),
    ("own.parquet", lambda q: {"ask": q.id, "out": chat(q)}),
    ("own.csv", lambda q: {"ask": asked(q), "out": reply_to(q)}),
    ("own.jsonl.gz", lambda q: {"ask": asked(q), "out": reply_to(q)}),
    ("drawn.jsonl", lambda q: {"question_id": q.id, "outputs": [reply_to(q), reply_to(q)]}),
    ("helm.json", lambda q: {"request": {"prompt": asked(q)}, "result": {"completions": [{"text": reply_to(q)}]}}),
    ("lighteval.jsonl", lambda q: {"doc": {"query": asked(q)}, "model_response": {"text": [reply_to(q)]}}),
    ("parts.jsonl", lambda q: {"id": q.id, "reply": [{"type": "text", "text": part} for part in (reply_to(q), "")]}),
    ("several.jsonl", lambda q: {"id": q.id, "response": {"choices": [{"text": reply_to(q)}, {"text": reply_to(q)}]}}),
    ("list.json", lambda q: {"id": q.id, "completion": reply_to(q)}),
    ("pairs.json", lambda q: (q.id, reply_to(q))),
    ("semicolons.csv", lambda q: f"{q.id};{reply_to(q)!r}"),
)
def test_whatever_people_keep_answers_in_is_read(name: str, row: Any, *, tmp_path: Path, plain: dict[str, Any]) -> None:
    rows, path = [row(question) for question in cmmlu()], tmp_path / name
    if name.endswith(".jsonl"):
        write_jsonl(path, rows)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(write_jsonl(tmp_path / "rows", rows).read_bytes()))
    elif name.endswith(".parquet"):
        pl.DataFrame(rows).write_parquet(path)
    elif name == "own.csv":
        write_csv(path, rows, ("ask", "out"))
    elif name.endswith(".csv"):
        path.write_text("\n".join(["id;reply", *rows]))
    else:
        kept = {"pairs.json": dict, "helm.json": lambda rows: {"request_states": rows}}.get(name, list)
        path.write_text(json.dumps(kept(rows)))
    ended = grade(tmp_path, "cmmlu", name, *(COLUMNS if name.startswith("own.") else ()))
    assert (ended.code, ended.overall["mean"]) == (0, plain["mean"]), ended.err
    assert ended.overall["n"] == (2 if name in ("drawn.jsonl", "several.jsonl") else 1) * len(rows)


def test_a_conversation_without_a_reply_has_none(tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "asked.jsonl", [{"id": q.id, "messages": [{"role": "user", "content": asked(q)}]} for q in cmmlu()]
    )
    ended = grade(tmp_path, "cmmlu", "asked.jsonl")
    assert (ended.code, ended.overall["outcomes"]) == (3, {"error": 96}), ended.err
    write_jsonl(tmp_path / "scores.jsonl", [{"question": q.id, "outcome": "error", "answer": ""} for q in cmmlu()])
    refused = grade(tmp_path, "cmmlu", "scores.jsonl")
    assert (refused.code, "which column holds the replies?" in refused.err) == (2, True), "what was read is no reply"


def test_letters_of_a_shuffled_exam_are_refused_where_nobody_knows_the_order(tmp_path: Path) -> None:
    options = ["one", "two", "three", "four"]
    write_jsonl(
        tmp_path / "t.jsonl",
        [{"id": f"q{n}", "question": f"Is it {n}?", "options": options, "answer": "A"} for n in range(9)],
    )
    (tmp_path / "t.yaml").write_text(
        "data: t.jsonl\nformat: choice\nid: id\nquestion: question\nanswer: answer\n"
        "options: {text: options, shuffle: true}\n"
    )
    write_jsonl(tmp_path / "bare.jsonl", [{"id": f"q{n}", "reply": "A"} for n in range(9)])
    write_jsonl(tmp_path / "shown.jsonl", [{"id": f"q{n}", "options": options[::-1], "reply": "D"} for n in range(9)])
    ended = command(tmp_path, "grade", "t.yaml", "bare.jsonl")
    assert (ended.code, "shuffle: false" in ended.err) == (2, True), ended.err
    ended = command(tmp_path, "run", "t.yaml", "--model", "replay/bare.jsonl", "--progress", "quiet")
    assert (ended.code, "order of Viva's own" in ended.err) == (0, True), ended.err
    command(tmp_path, "run", "t.yaml", "--model", "baseline/random", "--run", "own", "--progress", "quiet")
    command(tmp_path, "export", "own", "--to", "hf", "--out", "hf")
    scored = (command(tmp_path, "score", "own", "--format", "json"), grade(tmp_path, "t.yaml", "hf", "--run", "back"))
    assert scored[0].overall == scored[1].overall, "an export says which options were shown"
    pairs = [[[value, "False"]] for value in ("-1.0", "-2.0", "-3.0", "-4.0")]
    logged = [{"doc_id": n, "doc": {"id": f"q{n}"}, "target": "0", "resps": pairs, "arguments": {
        f"gen_args_{at}": {"arg_0": f"Is it {n}?", "arg_1": f" {text}"} for at, text in enumerate(options)
    }} for n in range(9)]  # fmt: skip
    write_jsonl(tmp_path / "samples_t.jsonl", logged)
    ended = grade(tmp_path, "t.yaml", "samples_t.jsonl", "--run", "compared")
    assert (ended.code, ended.overall["mean"]) == (0, 1.0), "options that competed by their texts have no letters"
    ended = grade(tmp_path, "t.yaml", "shown.jsonl")
    assert (ended.code, ended.overall["mean"]) == (0, 1.0), ended.err


def test_rows_that_name_their_model_are_that_models(tmp_path: Path) -> None:
    rows = [{"id": q.id, "model": f"m{n}", "response": reply_to(q)} for q in cmmlu() for n in (1, 2)]
    write_jsonl(tmp_path / "both.jsonl", rows)
    ended = command(tmp_path, "grade", "cmmlu", "both.jsonl", "--format", "csv")
    assert ended.code == 0, ended.err
    assert {line.split(",")[1] for line in ended.out.splitlines()[1:] if line} == {"m1", "m2"}


def sample(**more: Any) -> dict[str, Any]:
    """A line as lm-eval writes it."""
    question = cmmlu()[0]
    return {
        "doc_id": 0,
        "doc": {"Question": question.text},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": asked(question), "arg_1": {"until": ["\n"]}}},
        "resps": [["B"]],
        "filtered_resps": ["B"],
        **more,
    }


DEEP = '{"doc_id": 0, "doc": ' + '{"a": ' * 100_000 + "1" + "}" * 100_000 + ', "resps": [["B"]]}'


@each_row(  # lm-eval's are named samples_*, OpenCompass's *.json
    ("samples_deep.jsonl", DEEP, "nested too deep"),
    ("samples_cut.jsonl", json.dumps(sample())[:200], "is no JSON"),
    ("samples_list.jsonl", '["doc_id", "resps"]\n', "is no JSON object"),
    ("samples_none.jsonl", json.dumps(sample(doc_id=None)), "nobody could tell which document it is"),
    ("samples_else.jsonl", '{"doc_id": 1}\n', "no `doc_id` and `resps`"),
    ("empty.json", '{"0": {}}', "has no `prediction`"),
    ("text.json", '{"0": {"prediction": "B"}, "../x": {"prediction": "B"}}', "no prediction of OpenCompass"),
    ("broken.parquet", "PAR1 and nothing of a table", "is no table"),
    ("no_table.arrow", "no table", "is no table"),
)
def test_a_hostile_file_is_refused_with_a_sentence(name: str, content: str, said: str, *, tmp_path: Path) -> None:
    (folder := tmp_path / Path(name).stem).mkdir(exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")
    form = "lm-eval" if name.startswith("samples_") else "opencompass" if name.endswith(".json") else None
    ended = command(folder, "grade", "cmmlu", name, *(("--from", form) if form else ()))
    assert ended.code == 2, ended.err
    assert said in ended.err
    assert name in ended.err
    assert "Traceback" not in ended.err
    assert [path.name for path in folder.iterdir()] == [name], "nothing was written"


def test_numbers_that_are_none_are_no_choice(tmp_path: Path) -> None:
    choices = {f"gen_args_{n}": {"arg_0": asked(cmmlu()[0]), "arg_1": f" {letter}"} for n, letter in enumerate("ABCD")}
    for pair, outcome in ((["NaN", "False"], "error"), (["-inf", "False"], "wrong")):
        line = sample(arguments=choices, resps=[[pair], [["-2.5", "False"]], [["-2.0", "False"]], [["-9", "False"]]])
        (tmp_path / "samples_x.jsonl").write_text(json.dumps(line | {"acc": float("nan")}))
        ended = grade(tmp_path, "cmmlu", "samples_x.jsonl", "--limit", 1)
        assert ended.overall["outcomes"] == {outcome: 1}, ended.err


def test_a_line_of_any_length_is_not_read_into_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "samples_packed.jsonl.gz", "wb", compresslevel=1) as packed:
        packed.write(b'{"doc_id": 0, "resps": "')
        for _ in range(66):
            packed.write(b"0" * (1 << 20))
    with pytest.raises(DataError, match="line 1 is longer than 64 MiB"):
        read_logs("lm-eval", [tmp_path / "samples_packed.jsonl.gz"], Columns())


def test_a_zip_bomb_is_refused_before_anybody_reads_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", b"{}")
        packed.writestr("samples/1_epoch_1.json", b"0" * (64 << 20))
    ended = command(tmp_path, "grade", "cmmlu", "bomb.eval")
    assert ended.code == 2
    assert "unpacks to far more than it should" in ended.err


def test_a_wrong_flag_says_what_there_is(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [sample()])
    ended = command(tmp_path, "grade", "cmmlu", "a.jsonl", "--from", "helm")
    assert (ended.code, ", ".join(FORMS) in ended.err) == (2, True)
    ended = command(tmp_path, "grade", "cmmlu", "a.jsonl", "--text-column", "x")
    assert (ended.code, "are for tables" in ended.err) == (2, True)
    assert command(tmp_path, "grade", "cmmlu", "a.jsonl", "nothing.jsonl").code == 2
    ended = command(tmp_path, "grade", "syneval", "a.jsonl")
    assert (ended.code, "is a question of this set" in ended.err) == (2, True)


def test_files_are_told_by_their_content(tmp_path: Path) -> None:
    contents = {
        "lm-eval": json.dumps(sample()),
        "inspect": '{\n  "version": 2,\n  "status": "success",\n "eval": {}}',
        "opencompass": '{\n    "0": {\n        "origin_prompt": "x"}}',
        "dataset": "PAR1",
        "plain": '{"question": "1", "text": "A", "doc_id": 3}',
    }
    for form, content in contents.items():
        path = tmp_path / f"{form}.whatever"
        path.write_text(content)
        assert form_of([path]) == form
    with pytest.raises(DataError, match="of several kinds"):
        form_of([tmp_path / "lm-eval.whatever", tmp_path / "inspect.whatever"])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["doc_id", "doc", "target", "arguments", "resps", "prediction", "gold", "origin_prompt", "text",
                        "question", "choices", "id", "sample", "A", "B", "label: A"])  # fmt: skip


@given(st.dictionaries(KEYS, JSON, max_size=6), st.sampled_from(["lm-eval", "opencompass", "plain"]))
def test_a_reader_reads_or_refuses(tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any], form: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(json.dumps({"0": row} if form == "opencompass" else row), encoding="utf-8")
    try:
        logs = read_logs(form, [path], Columns())
    except DataError:
        return
    for log in logs:
        for item in log.items:
            assert all(isinstance(text, str) for text in (*item.texts, *item.ids, *item.options, item.gold))
            for one in item.given:
                assert one.text is None or one.text.encode("utf-8") is not None


@given(st.binary(max_size=200), st.sampled_from(sorted(set(FORMS) - {"inspect"})))
def test_bytes_of_any_kind_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, form: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(content)
    form_of([path])
    with pytest.raises(DataError):
        read_logs(form, [path], Columns(question="q", text="t"))
