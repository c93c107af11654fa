"""The tasks that lm-evaluation-harness installs, as cards: the same prompts byte for byte, and the same scores."""

import functools
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lm_eval_rows import TASKS, rows
from interop.harness import answering
from rows import each_row, table, tabled
from viva.benchmarks import CARD, open_exam
from viva.benchmarks.card.cardtable import typed
from viva.benchmarks.card.lm_eval_draft import init_from_lm_eval
from viva.benchmarks.card.lm_eval_file import TaskFields, read_task
from viva.benchmarks.logprob import PER_BYTE, PER_CHARACTER, SUM
from viva.contracts import Exam
from viva.types import Choose, ExamSpec, Generate, Likelihood, Message, Response, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.peers("lm_eval", "datasets")]
OWN = """
task: own
output_type: generate_until
test_split: test
fewshot_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answers}}"
description: "Say it."
gen_prefix: "It is"
target_delimiter: "\\n"
generation_kwargs: {until: ["\\n"]}
filter_list:
  - name: capitals
    filter: [{function: regex, regex_pattern: "([A-Z]+)|([0-9]+)", group_select: -1}, {function: take_first}]
  - name: all
    filter: [{function: remove_whitespace}, {function: take_first}]
metric_list:
  - {metric: exact_match, ignore_case: true, ignore_punctuation: true, ignore_numbers: true,
     regexes_to_ignore: ["the ", "\\\\$"]}
"""


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """lm-eval without a network, and silent."""
    before = dict(os.environ)
    os.environ |= {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    logging.disable(logging.WARNING)
    import datasets

    cache, datasets.config.HF_DATASETS_CACHE = datasets.config.HF_DATASETS_CACHE, tmp_path_factory.mktemp("cache")
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()
    datasets.config.HF_DATASETS_CACHE = cache
    logging.disable(logging.NOTSET)
    os.environ.clear()
    os.environ |= before


def installed(task: str) -> Path:
    import lm_eval.tasks

    return Path(str(lm_eval.tasks.__file__)).parent / task


class Both:
    """A task as lm-eval's own object, and as a card; over the same files."""

    def __init__(self, path: Path, made: dict[str, list[Any]], folder: Path) -> None:
        import lm_eval.tasks
        import yaml

        self.path, self.folder = path, folder
        self.fields: TaskFields = read_task(path)
        for split, listed in made.items():
            (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
        own = {
            "include": str(path),
            "task": f"x_{self.fields.task}",
            "dataset_path": "json",
            "dataset_name": None,
            "dataset_kwargs": {"data_files": {split: str(folder / f"{split}.jsonl") for split in made}},
        }
        (folder / "tasks").mkdir()
        (folder / "tasks" / "x.yaml").write_text(yaml.safe_dump(own))
        manager = lm_eval.tasks.TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
        (self.theirs,) = manager.load(own["task"])["tasks"].values()
        init_from_lm_eval(path, folder, folder / "card.yaml")

    @property
    def chooses(self) -> bool:
        return self.fields.output_type == "multiple_choice"

    def exam(self, shots: int, *, form: Any = "base") -> Exam:
        choose: Any = "likelihood" if self.chooses else ""
        return open_exam(
            ExamSpec(benchmark=CARD, name="c", shots=shots, form=form, choose=choose), self.folder / "card.yaml"
        )

    def build(self, shots: int, **chat: Any) -> list[Any]:
        """lm-eval's requests."""
        self.theirs.set_config("num_fewshot", shots)
        self.theirs.set_fewshot_seed(1234)
        self.theirs.build_all_requests(rank=0, world_size=1, **chat)
        return list(self.theirs.instances)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Both]:
    """A task by its file; made once."""
    return functools.cache(lambda task: prepared(task, tmp_path_factory.mktemp(task.replace("/", "_"))))


def prepared(task: str, folder: Path) -> Both:
    fields = read_task(installed(task))
    asked = fields.test_split or fields.validation_split
    splits = {asked, fields.shown_split, fields.training_split, fields.validation_split} - {None}
    # The first rows of the other splits stand in the asked one, too: what must be left out of the exemplars shows.
    return Both(
        installed(task),
        {str(one): rows(task, 10 if one == asked else 16, 0 if one == asked else 6) for one in splits},
        folder,
    )


def asked(exam: Exam) -> list[tuple[Any, Any]]:
    """Prompt and continuation, or prompt and where a reply ends."""
    found: list[tuple[Any, Any]] = []
    for question in exam.questions():
        request = exam.request(question, 0, Sampling())
        if isinstance(request, Choose):
            found += [(request.prompt, text) for text in request.continuations]
        else:
            found.append((request.prompt, list(request.sampling.stop)))
    return found


def test_prompts_are_those_of_lm_eval_byte_for_byte(opened: Callable[[str], Both]) -> None:
    assert len(TASKS) >= 20
    with table() as row:
        for task in TASKS:
            both = opened(task)
            for shots in dict.fromkeys(
                [0, both.fields.num_fewshot or 0, *([3] if both.fields.num_fewshot != 0 else [])]
            ):
                with row(f"{task}, {shots} shots"):
                    theirs = [
                        (one.args[0], one.args[1] if both.chooses else one.args[1]["until"])
                        for one in both.build(shots)
                    ]
                    ours = asked(both.exam(shots))
                    assert ours == [
                        (text, [end] if isinstance(end, str) and not both.chooses else end) for text, end in theirs
                    ]


def test_chat_messages_are_those_of_lm_eval(opened: Callable[[str], Both]) -> None:
    def as_json(messages: list[dict[str, str]], **_: Any) -> str:
        return json.dumps(messages)

    for task, row in tabled(
        "mmlu/default/mmlu_anatomy.yaml", "gsm8k/gsm8k.yaml", "nq_open/nq_open.yaml", "swag/swag.yaml"
    ):
        with row:
            both = opened(task)
            chat = {"apply_chat_template": True, "fewshot_as_multiturn": True, "chat_template": as_json}
            theirs = [
                (tuple(Message(**one) for one in json.loads(request.args[0])), request.args[1])
                for request in both.build(2, **chat)
            ]
            ours = asked(both.exam(2, form="chat"))
            assert [text for text, _ in ours] == [text for text, _ in theirs]
            if both.chooses:
                assert [end for _, end in ours] == [end for _, end in theirs]


def replying(both: Both, replies: dict[str, str]) -> dict[str, float]:
    """lm-eval's own means over replies, by prompt; likelihoods are drawn from the texts."""
    import lm_eval

    model = answering(replies.__getitem__, likelihood)
    task = both.theirs
    task.set_config("num_fewshot", both.fields.num_fewshot or 0)
    task.set_fewshot_seed(1234)
    ended: Any = lm_eval.evaluate(model, {"tasks": {task.task_name: task}}, bootstrap_iters=0, log_samples=False)
    (found,) = ended["results"].values()
    return {name: value for name, value in found.items() if isinstance(value, float) and "stderr" not in name}


def likelihood(prompt: str, text: str) -> float:
    """Anything that depends on both, and on the length of the text."""
    return -((sum(map(ord, prompt[-40:])) * 31 + sum(map(ord, text)) * 17) % 97) / 10 - len(text) / 3


def said(exam: Exam) -> dict[str, str]:
    """A reply to each prompt: right and wrong ones, in the ways in which models write them."""
    found: dict[str, str] = {}
    ways = (
        "{0}",
        " {0} ",
        "So the answer is {0}.",
        "The answer is {0}.",
        "The answer is {0}\n#### {0}",
        "",
        "no",
        "#### {0}",
        "{0}!",
        "the {0}",
    )
    for at, question in enumerate(exam.questions()):
        request = exam.request(question, 0, Sampling())
        gold = str((question.answer, *question.accepted)[at % (1 + len(question.accepted))])
        reply = ways[at % len(ways)].format(gold if at % 4 else gold.rpartition("#### ")[2])
        for stop in request.sampling.stop:
            reply = reply.partition(stop)[0]  # what a model would have done
        found[str(request.prompt)] = reply
    return found


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@each_row(*TASKS)
def test_scores_are_those_of_lm_eval(task: str, *, opened: Callable[[str], Both]) -> None:
    both = opened(task)
    compare(both)


def compare(both: Both) -> None:
    exam = both.exam(both.fields.num_fewshot or 0)
    if both.chooses:
        parts: list[dict[str, float]] = []
        for question in exam.questions():
            request = exam.request(question, 0, Sampling())
            found = tuple(Likelihood(likelihood(str(request.prompt), text), 2) for text in request.continuations)
            parts.append(exam.score(question, Response(likelihoods=found)).parts)
        theirs = replying(both, {})
        for metric, part in (("acc", SUM), ("acc_norm", PER_CHARACTER), ("acc_bytes", PER_BYTE)):
            if f"{metric},none" in theirs:
                assert mean([one[part] for one in parts]) == pytest.approx(theirs[f"{metric},none"]), metric
        return
    replies = said(exam)
    theirs = replying(both, replies)
    scores = [
        exam.score(question, Response(text=replies[str(request.prompt)]))
        for question in exam.questions()
        if isinstance(request := exam.request(question, 0, Sampling()), Generate)
    ]
    first = True
    for name, value in theirs.items():
        _, _, pipeline = name.partition(",")
        assert mean([score.parts.get(pipeline, 0.0) for score in scores]) == pytest.approx(value), name
        if first:
            assert mean([score.value or 0.0 for score in scores]) == pytest.approx(value), name
        first = False


def test_a_task_of_ones_own_with_all_that_a_score_can_go_by(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    made = [
        {"question": f"Q{at} {end}", "answers": [f"the ANSWER {at}", f"${at} in all!"]}
        for at, end in enumerate(["", "x", "y\n", " ", "z", "", "ü", "x", "q", "r"])
    ]
    (tmp_path / "f").mkdir()
    both = Both(tmp_path / "own.yaml", {"test": [*made, made[3], made[3]]}, tmp_path / "f")
    for shots in (0, 2, 5):
        assert [text for text, _ in asked(both.exam(shots))] == [one.args[0] for one in both.build(shots)]
    compare(both)


def test_rows_are_those_that_datasets_reads(tmp_path: Path) -> None:
    import datasets

    files = {
        "a.jsonl": '{"x": 1, "y": 2, "b": true}\n{"x": 2.5, "b": null}\n'
        '{"x": 3, "z": "1", "o": [{"k": "v"}], "d": {"p": null}}\n',
        "b.csv": "n,m,t,f,s,e\n1,1,True,.5,a,NA\n2,,false,2,,\n-3,4,TRUE,1e2,7,null\n",
        "c.csv": 'q,label,id\n"a, ""b""",0,007\n None ,1,8\nn/a,1,9\n" x\ny ",0,10\n',
        "d.csv": "i,j,k\n1,True,1.0\nx,2,\n",
        "e.csv": "i,j,k\n,1_000,+5\nyes,1e5,-.5\nno,Infinity,5.\n",
    }
    for (name, content), row in tabled(*files.items()):
        with row:
            (tmp_path / name).write_text(content)
            theirs = datasets.load_dataset("json" if "json" in name else "csv", data_files=str(tmp_path / name))
            assert list(map(repr, theirs["train"])) == [repr(one) for _, _, one in typed([tmp_path / name])]
