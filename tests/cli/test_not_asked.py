"""Unasked questions are not errors, missing token counts are not numbers, and the last line says how to continue."""

from rows import tabled
from servers.fixtures import SAMPLE, LocalServer, Serve, Viva
from viva.engine.asking import Tally
from viva.runs.progress import describe

PRICE = ("--price", "10/30")


def run(viva: Viva, server: LocalServer, *more: object) -> list[object]:
    return ["run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--run", "run", *more]


def outcomes(viva: Viva) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in viva.scores():
        found[row["outcome"]] = found.get(row["outcome"], 0) + 1
    return found


def test_a_wrong_key_prints_no_table_and_how_to_go_on_last(serve: Serve, viva: Viva) -> None:
    ended = viva(*run(viva, serve(key="sk-another"))).exits(4)
    assert ended.out == ""
    assert "HTTP 401" in ended.err
    assert "go on with: viva resume run" in ended.err.splitlines()[-1]
    assert len({line for line in ended.err.splitlines() if "401" in line}) == 1, "said once"
    logged = viva("resume", "run", "--log-level", "debug")
    assert any(line.startswith("debug: ") for line in logged.err.splitlines())
    assert outcomes(viva) == {"error": 1, "not asked": SAMPLE - 1}
    graded = viva("score", "run", "--tables").exits(3)
    assert "nothing was answered (1 error, 95 not asked)" in graded.out
    assert "│" not in graded.out  # no table
    assert '"not asked": 95' in viva("score", "run", "--format", "json").out  # data says all there is


def test_tokens_that_no_server_counted_are_unknown(serve: Serve, viva: Viva) -> None:
    ended = viva(*run(viva, serve(usage=False), "--limit", 20, *PRICE, "--max-cost", 100)).exits()
    last = next(line for line in ended.err.splitlines() if "20/20" in line)
    assert "tokens unknown" in last
    assert "unknown cost of 20 replies (estimated at most $" in last
    for (_name, tally, said), row in tabled(
            ("all known", Tally(input_tokens=6000, output_tokens=900, cost=0.24), "6k+900 tokens · $0.24"),
            ("nothing known", Tally(uncounted=3, at_most=0.5),
             "tokens unknown · unknown cost of 3 replies (estimated at most $0.50)"),
            ("some known", Tally(input_tokens=6000, output_tokens=900, cost=0.24, uncounted=2, at_most=0.5),
             "6k+900 tokens (of 2 replies unknown) · $0.24 + unknown cost of 2 replies (estimated at most $0.50)"),
            ("no price", Tally(uncounted=3), ""),
        ):  # fmt: skip
        with row:
            assert describe(tally, 0.0).partition("in flight")[2].removeprefix(" · ") == said
