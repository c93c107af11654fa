"""Items packed for the page, and which of them are shown."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.engine.answerrecord import Answer
from viva.pages.report.itemindex import CHUNK_ITEMS, PackedItems, stratified
from viva.types import Generate, Response, Sampling, ScoreRow


def item(number: int = 0, *, prompt: str = "", reply: str = "", **fields: Any) -> Answer:
    row: dict[str, Any] = {
        "benchmark": "b", "exam": "e", "model": "m", "question": f"q{number}", "sample": 0, "repeat": 0,
        "outcome": "right", "value": 1.0, "answer": "", "explanation": "", "tags": {},
    }  # fmt: skip
    request = Generate(question=f"q{number}", sample=0, prompt=prompt, sampling=Sampling())
    return Answer(row=ScoreRow(**row | fields), response=Response(text=reply), request=request)


def blocks_of(items: Iterable[Answer], *, limit: int = 1 << 30) -> tuple[dict[str, str], PackedItems]:
    """All that the page is given, by name."""
    with tempfile.TemporaryDirectory() as folder:
        written = PackedItems(Path(folder), limit)
        written.fill(items)
        texts = io.StringIO()
        written.copy_texts(texts)
        written.close()
    return dict(re.findall('id="block-(.*?)">(.*?)</script>', texts.getvalue() + written.first)), written


def unpacked(blocks: dict[str, str]) -> dict[str, Any]:
    content = {
        name: json.loads(gzip.decompress(base64.b64decode(text)))
        for name, text in blocks.items()
        if name != "items-index"
    }
    index = json.loads(blocks["items-index"])
    return {**content, "items-index": {**index["columns"], "firsts": index["firsts"]}}


@given(st.lists(st.text(), min_size=1, max_size=8))
def test_every_prompt_can_be_put_together_again(prompts: list[str]) -> None:
    same = "Answer with a letter, please; here are some examples.\n\nA\n"
    found, _ = blocks_of([item(n, prompt=same + text) for n, text in enumerate(prompts)])
    chunk = unpacked(found)["items-0"]
    for one, text in zip(chunk["items"], prompts, strict=True):
        asked = chunk["asked"][one["asked"]]
        common = chunk["shared"][asked["shared"]] if "shared" in asked else ""
        assert common + asked["prompt"] == same + text


def test_instructions_and_exemplars_are_written_once_a_chunk() -> None:
    shots = "".join(f"Question {n}: what is {n} + {n}?\nAnswer: {2 * n}\n\n" for n in range(200))
    found, _ = blocks_of([item(n, prompt=f"{shots}Question: {n}?") for n in range(100)])
    chunk = unpacked(found)["items-0"]
    assert chunk["shared"] == [shots], "a line is not cut"
    assert sum("shared" in one for one in chunk["asked"]) == 99
    first = item(prompt="Which?", tags={"a": "x"})
    other = msgspec.structs.replace(first, row=msgspec.structs.replace(first.row, model="n"))
    content = unpacked(blocks_of([first, other, item(1, prompt="Whose?", tags={"a": "y"})])[0])
    assert [one["prompt"] for one in content["items-0"]["asked"]] == ["Which?", "Whose?"], "once for all answers"
    assert [one["asked"] for one in content["items-0"]["items"]] == [0, 0, 1]
    assert content["items-index"]["question"]["codes"] == content["items-index"]["t.a"]["codes"] == [0, 0, 1]


def test_a_chunk_is_found_by_its_first_item() -> None:
    found, written = blocks_of([item(n, reply=str(n)) for n in range(CHUNK_ITEMS * 2 + 5)])
    content = unpacked(found)
    assert content["items-index"]["firsts"] == [0, CHUNK_ITEMS, 2 * CHUNK_ITEMS]
    assert content["items-2"]["items"][4]["reply"] == str(CHUNK_ITEMS * 2 + 4)
    assert written.items == CHUNK_ITEMS * 2 + 5
    assert written.whole


def test_half_a_character_is_written_and_names_are_visible() -> None:
    found, _ = blocks_of([item(reply="\ud800 \x00 \u202e", model="\udfff", question="\0", tags={"a\x00": "\ud9ab"})])
    content = unpacked(found)
    assert content["items-0"]["items"][0]["reply"] == "\ud800 \x00 \u202e"
    assert content["items-0"]["asked"][0]["tags"] == {"a<U+0000>": "<U+D9AB>"}
    hostile = "</script><!--<script>"
    tags = [{"b": "x"}, {}, {"a": hostile, "b": "z"}]
    given = [item(n, model=hostile, value=0.25 * n if n else None, tags=one) for n, one in enumerate(tags)]
    found, _ = blocks_of([*given, item(3)])
    assert "<" not in found["items-index"], "the index cannot end its element"
    index = unpacked(found)["items-index"]
    assert (index["model"]["words"], index["value"]["words"]) == ([hostile, "m"], [0.25, 0.5, 1.0])
    assert index["value"]["codes"] == [-1, 0, 1, 2]
    assert (index["t.b"]["words"], index["t.b"]["codes"]) == (["x", "z"], [0, -1, 1, -1])
    assert "t.a" not in index, "a tag of one value filters nothing"
    assert [content["items-index"][name]["words"] for name in ("model", "question")] == [["<U+DFFF>"], ["<U+0000>"]]


def test_too_large_is_noticed_and_nothing_of_it_written_beyond_the_limit() -> None:
    found, written = blocks_of([item(n, reply=f"{n * n:x}" * 2000) for n in range(3000)], limit=5000)
    assert not written.whole
    assert sum(map(len, found.values())) <= 5000


@pytest.mark.parametrize("seed", [0, 7])
def test_a_sample_is_the_same_for_the_same_seed(seed: int) -> None:
    strata = [n % 3 if n % 50 else 9 for n in range(1000)]
    chosen = stratified(strata, 100, seed)
    assert chosen == stratified(strata, 100, seed) != stratified(strata, 100, seed + 1)
    assert chosen is not None
    assert len(chosen) == 100
    assert sum(strata[place] == 9 for place in chosen) == 2
    assert stratified(strata, 1000, seed) is None
