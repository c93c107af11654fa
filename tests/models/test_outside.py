"""A provider from another package: one module and one entry point give it all features of Viva's own."""

import os
from pathlib import Path

import pytest

from servers.fixtures import SAMPLE, Serve, Viva
from viva.engine.budget import Price
from viva.engine.folder import RunFolder
from viva.providers import traits_of
from viva.runs.open import recorded_price

MODULE = """import os
from viva.models.openaiapi.openai import OpenAIModel


class Elsewhere(OpenAIModel):
    provider = "elsewhere"


def connect(name, endpoint):
    return Elsewhere(name, os.environ["MISTRAL_URL"], None, said=endpoint.request, known=endpoint.adapted)
"""


@pytest.fixture
def with_package(viva: Viva, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Viva:
    """The command line where the package is installed, as pip would have done."""
    place = tmp_path / "packages"
    (place / "viva_elsewhere-1.dist-info").mkdir(parents=True)
    (place / "viva_elsewhere-1.dist-info" / "entry_points.txt").write_text(
        "[viva.models]\nelsewhere = viva_elsewhere\n"
    )
    (place / "viva_elsewhere.py").write_text(MODULE)
    monkeypatch.syspath_prepend(place)
    path = os.pathsep.join(filter(None, [str(place), os.environ.get("PYTHONPATH", "")]))
    viva.environment |= {"PYTHONPATH": path, "TEAM": "blue"}
    traits_of.cache_clear()
    return viva


def test_a_provider_from_outside_takes_what_is_said_of_requests_and_keeps_its_limits(
    serve: Serve, with_package: Viva
) -> None:
    viva, server = with_package, serve(key="blue")
    viva.environment["MISTRAL_URL"] = server.url
    said = ("--system", "Be brief.", "--header", "Authorization=Bearer $TEAM", "--max-tokens", 10)
    ended = viva(
        *("run", "cmmlu", "--model", "elsewhere/m", "--run", "run", *said),
        *("--price", "1000/2000", "--max-cost", 3, "--concurrency", "elsewhere=4"),
    )
    assert ended.code == 3, ended.err
    assert "of $3.00 (--max-cost)" in ended.err
    bodies = server.bodies
    assert bodies
    assert all(body["messages"][0] == {"role": "system", "content": "Be brief."} for body in bodies)
    assert viva("resume", "run").code == 2, "its cap is the run's"
    assert viva("resume", "run", "--max-cost", 1000).code == 0
    assert server.asked == SAMPLE
    record = RunFolder.open(viva.folder / "run").record
    assert recorded_price(record.models[0], record.prices) == Price(1000, 2000)
    assert recorded_price(record.models[0], {}) is None, "nobody knows its list price: it is not free"


def test_a_provider_from_outside_is_asked_in_batches(serve: Serve, with_package: Viva) -> None:
    viva, server = with_package, serve("batchapi.py")
    viva.environment["MISTRAL_URL"] = server.url
    ended = viva("run", "cmmlu", "--model", "elsewhere/m", "--run", "run", "--limit", 4, "--batch", "--poll", 0.05)
    assert ended.code == 0, ended.err
    assert {entry["batch"] for entry in viva.entries()} == {server.events("created")[0]["batch"]}
