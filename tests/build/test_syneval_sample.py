"""The bundled set is the generator's output for the bundled treebank, and has an example of everything."""

from collections import Counter
from pathlib import Path

from viva.benchmarks.syneval import syneval
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Item, read_items
from viva.build.treebank.driver import BuildSettings, Tally, build
from viva.build.treebank.generate import generate
from viva.build.treebank.sampling import SamplingSettings
from viva.build.treebank.treebank import Plan, Problem

SAMPLE = Path(syneval.__file__).parent / "sample"


class Quiet:
    """Watches a build and says nothing."""

    def planned(self, plan: Plan) -> None: ...

    def progress(self, tally: Tally) -> None: ...

    def malformed(self, problem: Problem) -> None:
        raise AssertionError(problem)


def test_the_bundled_set_is_what_its_treebank_gives(tmp_path: Path) -> None:
    settings = BuildSettings(name="sample", sampling=SamplingSettings(per_stratum=40), jobs=1)
    build([SAMPLE / "treebank"], tmp_path / "set", settings, generate, Quiet())
    for name in ("test.jsonl", "exemplars.jsonl", "build.json"):
        assert (tmp_path / "set" / name).read_bytes() == (SAMPLE / name).read_bytes(), f"{name}: `make sample` makes it"


def rows(name: str) -> list[Item]:
    return [item for _, item in read_items(SAMPLE / name, (SAMPLE / name).read_bytes())]


def test_every_knowledge_point_is_asked_in_every_format_it_has() -> None:
    asked = Counter((item.knowledge_point, item.format) for item in rows("test.jsonl"))
    for point in KNOWLEDGE_POINTS:
        for form in FORMATS:
            if (point, form) != ("MVP", "TF"):
                assert asked[point, form] >= 5, (point, form)


def test_there_are_exemplars_for_five_shots_and_none_shares_its_sentence() -> None:
    exemplars = rows("exemplars.jsonl")
    shown = Counter((item.knowledge_point, item.format) for item in exemplars)
    assert all(shown[item.knowledge_point, item.format] >= 5 for item in rows("test.jsonl"))
    assert not {item.sentence for item in exemplars} & {item.sentence for item in rows("test.jsonl")}
