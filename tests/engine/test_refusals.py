"""A key or a model that the server refuses: reported once, with the remedy, and never with the key."""

import json

from rows import tabled
from servers.fixtures import SAMPLE, Ended, Serve, Viva

KEY = "sk-proj-Zq8vN3xT7mB1dL5rW9yK2hJ6gF4sA0cE"


def check_key_is_nowhere(viva: Viva, ended: Ended, key: str = KEY) -> None:
    """Not the key, nor a piece of it that would help anybody, in the streams or in any file that Viva wrote."""
    places = {"stdout": ended.out, "stderr": ended.err}
    for path in viva.folder.rglob("*"):
        if path.is_file():
            places[str(path)] = path.read_bytes().decode("utf-8", "replace")
    for start in range(len(key) - 11):
        piece = key[start : start + 12]
        shown = [place for place, text in places.items() if piece in text]
        assert not shown, f"{piece!r} of the key is in {shown}"


def test_a_bad_key_is_refused_once_and_never_shown(serve: Serve, viva: Viva) -> None:
    server = serve(key="sk-another", echo=True)
    viva.environment["OPENAI_API_KEY"] = KEY
    ended = viva.examine(server, "--concurrency", 64).exits(4)
    assert server.asked <= 2
    assert "401" in ended.err
    assert "is the key in OPENAI_API_KEY right?" in ended.err
    assert "viva resume run" in ended.err
    assert ended.overall["outcomes"] == {"error": 1, "not asked": SAMPLE - 1}
    check_key_is_nowhere(viva, viva("show", "run"))
    check_key_is_nowhere(viva, ended)

    viva.environment["OPENAI_API_KEY"] = "sk-another"
    assert viva.resume().code == 0


def test_a_key_from_a_variable_of_ones_own_is_remembered_by_the_name_only(serve: Serve, viva: Viva) -> None:
    server = serve(key=KEY)
    viva.environment["MY_KEY"] = KEY
    ended = viva.examine(server, "--api-key-env", "MY_KEY").exits()
    check_key_is_nowhere(viva, ended)
    record = json.loads((viva.folder / "run" / "run.json").read_text())
    assert record["models"][0]["key_variable"] == "MY_KEY"

    del viva.environment["MY_KEY"]
    viva.resume().exits(2, "MY_KEY")


def test_a_refused_key_is_named_by_the_variables_that_it_was_read_from(serve: Serve, viva: Viva) -> None:
    server = serve(key="sk-another")
    viva.environment |= {"MY_KEY": KEY, "TENANT": "an organisation's secret", "OPENAI_API_KEY": ""}
    rows = (
        ("none is set", (), "no key was sent: OPENAI_API_KEY is not set"),
        ("one of the user's own", ("--api-key-env", "MY_KEY"), "is the key in MY_KEY right?"),
        ("one in a header", ("--header", "X-Key=$MY_KEY"), "is the key in MY_KEY right?"),
        ("both", ("--api-key-env", "MY_KEY", "--header", "X-Org=$TENANT"), "is the key in MY_KEY, TENANT right?"),
    )
    for (name, given, said), row in tabled(*rows):
        with row:
            viva.examine(server, *given, run=name.replace(" ", "-").replace("'", "")).exits(4, said)


def test_an_unknown_model_is_refused_once_and_named(serve: Serve, viva: Viva) -> None:
    server = serve(models=["another"])
    ended = viva.examine(server).exits(4, "404", "'m'", "begin another `viva run` with the right ones")
    assert server.asked <= 2
    assert "--reuse" not in ended.err, "nothing was answered"
    server.control(models=["m"])
    assert viva.resume().code == 0


def test_one_refused_model_does_not_keep_the_other_from_its_questions(serve: Serve, viva: Viva) -> None:
    server = serve(models=["m"])
    ended = viva.examine(server, "--model", "openai/absent").exits(4)
    outcomes = {result["model"]: result["overall"]["outcomes"] for result in ended.report["results"]}
    assert outcomes["openai/absent"] == {"error": 1, "not asked": SAMPLE - 1}
    assert sum(outcomes["openai/m"].values()) == SAMPLE
    assert "error" not in outcomes["openai/m"]
    assert server.asked <= SAMPLE + 2
    assert "begin another `viva run` with the right ones (--reuse run takes over what was answered)" in ended.err
    assert "viva resume" not in ended.err


def test_a_server_that_refuses_whatever_it_is_asked_is_given_up_early(serve: Serve, viva: Viva) -> None:
    server = serve(faults={"422": 1.0})
    ended = viva.examine(server, "--concurrency", 4).exits(4)
    assert server.asked <= 24
    assert "422" in ended.err


def test_a_key_never_travels_to_where_a_redirect_points(serve: Serve, viva: Viva) -> None:
    elsewhere = serve()
    server = serve(status=307, verbatim="{}", headers={"Location": f"{elsewhere.url}/chat/completions"})
    viva.environment["OPENAI_API_KEY"] = KEY
    ended = viva.examine(server).exits(4)
    assert elsewhere.asked == 0
    check_key_is_nowhere(viva, ended)
