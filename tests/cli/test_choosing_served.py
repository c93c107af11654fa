"""A whole exam by log-probability through a server."""

from cli.collected import refused
from rows import each_row
from servers.fixtures import Serve, Viva
from viva.errors import EXIT_REFUSED


@each_row(
    ("next-token", "base", ("--shots", 2, "--limit", 24)),
    ("next-token", "chat", ("--shots", 2, "--limit", 24)),
    ("likelihood", "base", ("--limit", 16)),
)
def test_options_are_chosen_through_a_server(
    how: str, form: str, more: tuple[object, ...], *, serve: Serve, viva: Viva
) -> None:
    """That it is the model's own choice: models/test_openai_choosing.py."""
    run = f"{how}-{form}"
    viva.examine(serve("scoring.py"), "--answer-by", how, "--form", form, *more, run=run).exits()
    entries = {entry["question"]: entry["likelihoods"] for entry in viva.entries(run)}
    best = {
        name: max(zip([one["logprob"] for one in listed], "ABCD", strict=True))[1] for name, listed in entries.items()
    }
    found = {row["question"]: row["answer"] for row in viva.scores(run) if row["answer"]}  # of none was any listed
    assert found == {name: best[name] for name in found}
    assert len(found) >= len(entries) - 1
    assert len({*found.values()}) > 1


def test_a_server_without_logprobs_is_given_up_after_one_question(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py", logprobs="ignored")
    viva.examine(server, "--answer-by", "next-token").exits(EXIT_REFUSED, f"viva doctor {server.url} --model m")
    assert len(server.events("asked")) == 1


def test_a_templates_run_says_so_and_an_unknown_family_is_refused(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py")
    viva.examine(server, "--answer-by", "next-token", "--template", "qwen", "--limit", 4).exits()
    assert all(event["body"]["prompt"].startswith("<|im_start|>user\n") for event in server.events("asked"))
    refused(viva.examine(server, "--template", "qwne", run="other"), "--template", "'qwne'", "qwen", "raw")
