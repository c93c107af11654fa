"""The model that a server reports: shown during a run, at its end and by `viva score`; never splits a leaderboard."""

import json
import re

from servers.fixtures import QUIET, Ended, LocalServer, Serve, Viva

OLD, NEW = ({"model": f"gpt-4o-{date}", "provider": "OpenAI", "system_fingerprint": f"fp_{date}"}
            for date in ("2024-08-06", "2024-11-20"))  # fmt: skip
AZURE = NEW | {"provider": "Azure"}
BOTH = "answered by 2 models (gpt-4o-2024-08-06, gpt-4o-2024-11-20) of 2 providers (OpenAI, Azure)"
LIMIT = 12


def asking(viva: Viva, server: LocalServer, *more: object, run: str = "run") -> Ended:
    model = ("--model", "openai/gpt-4o", "--base-url", server.url, "--limit", LIMIT, "--concurrency", 1)
    return viva("run", "cmmlu", *model, "--run", run, *QUIET, *more)


def marked(out: str) -> bool:
    return bool(re.search(r"\d§", out))


def test_several_models_are_warned_of_tabulated_and_marked(serve: Serve, viva: Viva) -> None:
    ended = asking(viva, serve(says=[OLD, OLD, AZURE])).exits()
    assert ended.err.count(BOTH) == 1
    whole = viva("score", "run", "--all").out
    assert whole.splitlines()[0].endswith("cmmlu-zh · openai/gpt-4o §"), "where a title says the model it has the mark"
    for out in (ended.out, viva("score", "run").out, whole):
        assert marked(out) or out is whole
        assert f"§ openai/gpt-4o: {BOTH}." in out
        rows = {tuple(line.replace("│", " ").split()[-4:]) for line in out.splitlines()}
        assert {("gpt-4o-2024-08-06", "OpenAI", "fp_2024-08-06", "8"),
                ("gpt-4o-2024-11-20", "Azure", "fp_2024-11-20", "4")} <= rows  # fmt: skip
    (result,) = json.loads(viva("score", "run", "--format", "json").out)["results"]
    assert result["consumed"]["served"] == [OLD | {"answers": 8}, AZURE | {"answers": 4}]
    for form, mark in (("markdown", "§"), ("latex", "\\S{}")):
        assert mark in viva("score", "run", "--format", form).out
    assert BOTH in (viva("report", "run", "--out", "page.html"), (viva.folder / "page.html").read_text())[1]
    journal = [entry for entry in viva.entries() if "served" in entry]
    assert [entry["served"] for entry in journal] == [OLD, AZURE], "in full once"


def test_it_stops_no_resume_and_moves_no_signature(serve: Serve, viva: Viva) -> None:
    server = serve(says=[OLD])
    assert asking(viva, server, "--max-requests", 5).code == 3
    server.control(says=[AZURE])
    resumed = viva("resume", "run", "--max-requests", 100, *QUIET)
    assert (resumed.code, server.asked) == (0, LIMIT)
    assert BOTH in resumed.err
    assert marked(resumed.out)
    again = viva("resume", "run", *QUIET)
    assert (again.code, server.asked, marked(again.out)) == (0, LIMIT, True)
    viva(
        "run", "cmmlu", "--model", "openai/one", "--base-url", server.url, "--limit", LIMIT, "--run", "one", *QUIET
    ).exits()
    one, two = (
        json.loads(viva("score", run, "--format", "json").out)["results"][0]["signature"] for run in ("run", "one")
    )
    assert one.replace("openai/gpt-4o", "openai/one") == two


def test_judges_too(serve: Serve, viva: Viva) -> None:
    judge = serve(texts=["It will do.\nVERDICT: 1"], says=[OLD, AZURE])
    judged = ("--judge", "openai/gpt-4o", "--judge-base-url", judge.url, "--verdicts", "line")
    ended = viva("run", "csbench", "--model", "baseline/first", *judged, "--run", "run", *QUIET).exits(
        0, f"openai/gpt-4o: {BOTH}"
    )
    assert "§ the judge openai/gpt-4o: answered by 2 models" in ended.out
    assert not marked(ended.out), "its answers are of one model"


def test_hostile_names_are_short_harmless_and_without_the_key(serve: Serve, viva: Viva) -> None:
    key = viva.environment["OPENAI_API_KEY"]
    names = ["<script>alert(1)</script>", "\u202e\x1b]0;x\x07|`*_", "x" * 10_000, f"model of {key}", "|\n# head\n"]
    server = serve(says=[{"model": name, "provider": name, "system_fingerprint": name} for name in names])
    ended = asking(viva, server).exits()
    content = (viva.folder / "run" / "responses.jsonl").read_text()
    assert key not in content
    assert max(len(entry["served"]["model"]) for entry in viva.entries() if "served" in entry) == 100
    forms = ("terminal", "markdown", "latex")
    texts = [ended.out, ended.err, *(viva("score", "run", "--all", "--format", form).out for form in forms)]
    for text in texts:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
    assert not any(line.startswith("# head") for text in texts for line in text.splitlines())
    assert viva("report", "run", "--out", "page.html").code == 0
    assert "<script>alert(1)" not in (viva.folder / "page.html").read_text()
