"""`viva run --checkpoints`: one command for many checkpoints."""

import json

from cli.collected import refused
from servers.fixtures import QUIET, Serve, Viva


def test_every_checkpoint_of_the_file_is_asked_at_its_own_address(viva: Viva, serve: Serve) -> None:
    servers = [serve(texts=[f"Answer: {letter}"]) for letter in "AB"]
    rows = "".join(f"m,{one.url},step{index},{10**index}M\n" for index, one in enumerate(servers))
    (viva.folder / "c.csv").write_text(f"model,base_url,revision,tokens\n{rows}", encoding="utf-8")
    named = ("--model", "baseline/first", "--checkpoints", "c.csv")
    viva("run", "cmmlu", "--limit", 24, *named, "--run", "run", *QUIET).exits()
    assert [one.asked for one in servers] == [24, 24]
    models = [model["name"] for model in json.loads((viva.folder / "run" / "run.json").read_text("utf-8"))["models"]]
    assert models == ["baseline/first", *(f"openai/m@{one.url}" for one in servers)]
    # The run remembers how far its models were trained; the baseline is not trained at all.
    known = json.loads(viva("training", "run", "--by", "subject", "--format", "json").out)
    left_out = "Left out, since nothing says how far they were trained: baseline/first of "
    assert any(left_out in note for note in known["notes"])
    told = json.loads(viva("score", "run", "--format", "json").out)["results"]
    assert [result["trained"] for result in told] == [None, 1e6, 1e7]


def test_nobody_to_ask_and_files_that_cannot_be_asked(viva: Viva) -> None:
    refused(viva("run", "cmmlu"), "whom to ask? --model PROVIDER/NAME", "--checkpoints FILE")
    (viva.folder / "c.csv").write_text("run,tokens\nr,1\n", encoding="utf-8")
    refused(viva("run", "cmmlu", "--checkpoints", "c.csv"), "c.csv, line 2: no model to ask")
    refused(viva("run", "cmmlu", "--checkpoints", "nowhere.csv"), "there is no file of checkpoints nowhere.csv")
    assert sorted(path.name for path in viva.folder.iterdir() if path.suffix not in (".stdout", ".stderr")) == ["c.csv"]
