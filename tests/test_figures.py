"""docs/figures.md is true: each of its rows is computed anew from shipped data, and its commands are run."""

import gzip
import itertools
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from msgspec import Struct

from cli.collected import read_csv
from cli.told import command_of, told
from rows import table as cases
from rows import tabled
from viva.benchmarks import open_exam
from viva.benchmarks.cmmlu.cmmlu import subjects
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.cli import options
from viva.errors import VivaError
from viva.pages.leaderboard.publishedboards import published_boards
from viva.prompting import prompt_text
from viva.published import Entry, Table, catalogue, table
from viva.render.charts import spec
from viva.render.findings import Findings
from viva.types import ExamSpec, Response, Sampling

PAGE = Path(__file__).parent.parent / "docs" / "figures.md"
NONE = "–"
FORMATS = {"Multiple-choice": 25.0, "Assertion": 50.0, "Fill-in-the-blank": 0.0, "Open-ended": 10.0}
"""CS-Bench's formats, and what guessing is worth in each, per cent."""
CATEGORIES = {"stem": 17, "humanities": 13, "social_science": 22, "other": 15}
"""CMMLU's categories, and how many subjects each has."""


class Row(Struct, frozen=True):
    figure: str
    where: str
    paper: str
    ours: str
    difference: str
    how: str


def rows() -> list[Row]:
    """The rows of the page's tables."""
    found: list[Row] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 6 and cells[0] != "figure" and not set(cells[0]) <= {"-", ":"}:
            found.append(Row(*cells))
    return found


def entry(benchmark: str, name: str, model: str) -> Entry:
    (found,) = (one for one in table(benchmark, name).entries if one.name == model)
    return found


@cache
def ran(*arguments: str) -> tuple[str, list[Findings[Any]]]:
    """What a command prints, and what it found if it is a study: computed once for all its forms."""
    kept: list[Findings[Any]] = []
    shown = options._print_study

    def noted(found: Findings[Any], *given: Any, **named: Any) -> None:
        kept.append(found)
        shown(found, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "_print_study", noted)
        return told(command_of(arguments[0]), *arguments[1:]), kept


def formed(form: str, *arguments: str) -> str:
    """What the command prints with `--format`."""
    _, kept = ran(*arguments)
    return kept[0].to_text(form) if kept else ran(*arguments, "--format", form)[0]


def tables(*arguments: str, key: str = "tables") -> list[Any]:
    return list(json.loads(formed("json", *arguments))[key])


def predicted(models: str, *more: str) -> float:
    found = tables("scaling", "csbench", "--fit", "family", "--model", models, *more)[-1]
    (forecast,) = found["rows"][0]["groups"][0]["forecasts"]
    return 100 * float(forecast["prediction"]["score"])


def correlated(of: tuple[str, ...], shown: int, second: str, kind: str, first: str = "") -> float:
    every = tables("correlate", *of, key="rows")
    title = list(dict.fromkeys(row["table"] for row in every))[shown]
    of_table = [row for row in every if row["table"] == title and row["kind"] == kind]
    (value,) = (row["value"] for row in of_table if row["second"] == second and first in ("", row["first"]))
    return float(value)


def broken(*arguments: str) -> dict[str, Any]:
    (found,) = tables("scaling", "infibench", "--fit", "segments", *arguments)[-1]["rows"]
    return dict(found["groups"][-1]["segments"])


def counts() -> dict[str, float]:
    """CS-Bench: format_type → questions."""
    totals: dict[str, float] = {}
    for one in table("csbench", "questions").entries:
        for name, number in one.figures.items():
            totals[name] = totals.get(name, 0) + number
    return totals


def guessing(*kinds: str) -> float:
    worth = {f"{name.lower().replace('-', '_')}_{kind}": value for name, value in FORMATS.items() for kind in kinds}
    return sum(worth[name] * counts()[name] for name in worth) / sum(counts()[name] for name in worth)


def overall(one: Entry) -> float:
    """CS-Bench's overall average, from its knowledge and reasoning averages and the numbers of questions."""
    weights = {
        kind: sum(n for name, n in counts().items() if name.endswith(kind)) for kind in ("knowledge", "reasoning")
    }
    return sum(one.figures[f"overall_{kind}"] * n for kind, n in weights.items()) / sum(weights.values())


def oa(one: Entry) -> float:
    """SynEval's overall accuracy."""
    f = one.figures
    return (f["tf_accuracy"] + f["mc_accuracy"] + (f["fitb_accuracy"] + f["fitb_f1"]) / 2) / 3


def from_languages(one: Entry) -> float:
    """InfiBench's score from those of its languages, weighted by their numbers of questions (Table 2)."""
    asked = {row.model.casefold(): row.figures.get("questions", 0) for row in table("infibench", "sampling").entries}
    asked["c++/c"] = asked.pop("c/c++")
    languages = {name.removeprefix("lang_"): value for name, value in one.figures.items() if name.startswith("lang_")}
    return sum(value * asked[name] for name, value in languages.items()) / sum(asked[name] for name in languages)


def ablation(sampling: str) -> Entry:
    board = (one for one in table("infibench", "leaderboard").entries if one.kind == "ablation")
    return next(one for one in board if one.words["generation_parameters"] == sampling)


BEST: tuple[tuple[str, float | None, str], ...] = (
    ("closed", None, "GPT-4-0613"),
    ("open code finetuned", 80.0, "Codestral-22b"),
    ("open code finetuned", 8.0, "deepseek-coder-6.7b-instruct"),
    ("open code base", 80.0, "CodeLlama-34b"),
    ("open general finetuned", 80.0, "deepseek-llm-67b-chat"),
    ("open general base", 80.0, "Qwen-72B"),
)
"""What the leaderboard's "best by type and size" is to find, as InfiBench's Table 4 groups them."""


def best(kind: str, below: float | None, model: str) -> float:
    """The best one's score, per cent, if it is that model."""
    board = published_boards("infibench")[0]
    line = next(
        line for line in dict(board.best)["type and size"]
        if line.kind.replace(" · ", " ").casefold() == kind and line.below == below
    )  # fmt: skip
    assert board.rows[line.row].model == model
    return 100 * board.rows[line.row].score.mean


def furthest(found: Table, formula: Callable[[Entry], float], column: str) -> float:
    return max(abs(formula(one) - one.figures[column]) for one in found.entries if column in one.figures)


def domains(model: str, column: str = "overall_average", language: str = "en") -> float:
    """CS-Bench's Tables 2 and 15."""
    return entry("csbench", f"{language}_domains", model).figures[column]


def higher(first: str, second: str, language: str = "en") -> float:
    """By how many points the first is above the second, overall."""
    return domains(first, language=language) - domains(second, language=language)


def infibench(model: str, column: str = "score") -> float:
    return entry("infibench", "leaderboard", model).figures[column]


def claims() -> Iterator[tuple[str, float]]:
    """What the papers' texts say → what their own tables give."""
    yield "CS-Bench text: lowest overall", min(overall_scores())
    yield "CS-Bench text: highest overall", max(overall_scores())
    yield "CS-Bench text: models above 70", sum(score > 70 for score in overall_scores())
    for model in ("Llama2-7B", "GPT-4"):
        figures = entry("csbench", "en_formats", model).figures
        yield f"CS-Bench text: {model}, open-ended reasoning", figures["open_ended_reasoning"]
        yield f"CS-Bench text: {model}, assertion reasoning", figures["assertion_reasoning"]
    for kind in ("knowledge", "reasoning"):
        difference = domains("PaLM-2", f"overall_{kind}") - domains("Claude-2.1", f"overall_{kind}")
        yield f"CS-Bench text: PaLM-2 minus Claude-2.1, {kind}", difference
    yield "CS-Bench text: Qwen1.5 from 14B to 72B", higher("Qwen1.5-72B", "Qwen1.5-14B")
    yield "CS-Bench text: Qwen1.5 from 72B to 110B", higher("Qwen1.5-110B", "Qwen1.5-72B")
    yield "CS-Bench text: Llama2-70B, predicted minus true", 55.08 - domains("Llama2-70B")
    algorithms = {model: entry("csbench", "en_subfields", model).figures for model in ("Llama2-70B", "GPT-3.5")}
    for model, figures in algorithms.items():
        chapters = [value for name, value in figures.items() if name.startswith("dsa_") and name != "dsa_average"]
        yield f"CS-Bench text: {model}, lowest DSA chapter", min(chapters)
        yield f"CS-Bench text: {model}, highest DSA chapter", max(chapters)
    for model, figures in algorithms.items():
        yield f"CS-Bench text: {model}, DSA average", figures["dsa_average"]
    for chapter, side in (("overview", 1), ("stack_queue_array", 1), ("tree", -1), ("graph", -1)):
        name = f"{'above' if side == 1 else 'below'} their DSA average, {chapter.replace('_', ' ')}"
        models = [one.figures for one in table("csbench", "en_subfields").models]
        beyond = sum(side * (figures[f"dsa_{chapter}"] - figures["dsa_average"]) > 0 for figures in models)
        yield f"CS-Bench text: models {name}", beyond
    small, middle, large = (entry("csbench", "en_subfields", f"Llama2-{size}B").figures for size in (7, 13, 70))
    fields = [name for name in small if not name.endswith("average") and name != "overall"]
    growing = sum(small[name] < middle[name] < large[name] for name in fields)
    yield "CS-Bench text: subfields in which Llama2 rises with every size", growing
    column = "co_data_representation_operation"
    yield "CS-Bench text: Llama2-13B minus 70B, Data Representation", middle[column] - large[column]
    chinese = [one.figures["overall_average"] for one in table("csbench", "zh_domains").models]
    yield "CS-Bench text: lowest Chinese score", min(chinese)
    yield "CS-Bench text: highest Chinese score", max(chinese)
    yield "CS-Bench text: Llama3-8B-Chinese over Llama3-8B", higher("Llama3-8B-Chinese", "Llama3-8B", "zh")
    for model in ("Llama3-8B", "Llama3-70B"):
        yield f"CS-Bench text: {model}, English minus Chinese", domains(model) - domains(model, language="zh")
    better = sum(domains(f"Qwen1.5-{n}B", language="zh") > domains(f"Qwen1.5-{n}B") for n in (7, 14, 32, 72))
    yield "CS-Bench text: Qwen1.5 models better in Chinese, of four", better
    yield "InfiBench text: GPT-4 ahead of Codestral-22b", infibench("GPT-4-0613") - infibench("Codestral-22b")
    for column in ("keywords", "unit_test", "blank_filling"):
        yield f"InfiBench text: GPT-4, {column.replace('_', ' ')}", infibench("GPT-4-0613", f"metric_{column}")
    yield "InfiBench text: best of about 7B", infibench("deepseek-coder-6.7b-instruct")
    yield "InfiBench text: lowest of about 7B", min(of_size(5, 8))
    small = infibench("deepseek-coder-1.3b-instruct")
    below = sum(score < small for score in of_size(69, 1000))
    yield "InfiBench text: models of 70B or more below deepseek-coder-1.3b-instruct", below
    for size in (1, 1.3, 6.7, 22):
        yield f"InfiBench: Figure 4, best up to {size}B", max(of_size(0, size))
    (frontier,) = tables("published", "infibench", "--figure", "4")[-1]["rows"]
    reach = frontier["groups"][-1]["reached"][0]["reach"]
    yield "InfiBench text: open models reach GPT-4, billions", float(reach["size"])
    means = [one for one in table("infibench", "by_type").entries if one.kind == "average"]
    yield "InfiBench text: mean of 106 models", means[0].figures["score"]
    both = [one.figures for one in table("infibench", "leaderboard").models if "humaneval" in one.figures]
    yield "InfiBench text: models below y = x", sum(figures["score"] < figures["humaneval"] for figures in both)
    for column in ("python", "instruct"):
        said = [one.figures for one in table("infibench", "code_llama").entries]
        far = max(abs(one[column] - one["base"] - one[f"{column}_difference"]) for one in said)
        yield f"InfiBench: Table 5, furthest difference, {column}", far
    yield "InfiBench text: best@30 of GPT-4-0613", entry("infibench", "hyperparameters", "5").figures["score"]
    yield "InfiBench text: best@100 of GPT-4-0613", entry("infibench", "hyperparameters", "6").figures["score"]
    generated = {one.model: one.figures["total"] for one in table("syneval", "questions_original").entries}
    yield "SynEval text: MVP questions over IO questions", generated["MVP"] / generated["IO"]
    zero, few = (
        {one.name: one.figures["overall"] for one in table("syneval", name).models}
        for name in ("zero_shot", "few_shot")
    )
    yield "SynEval text: least gain by exemplars", min(few[name] - zero[name] for name in zero)
    yield "SynEval text: most gain by exemplars", max(few[name] - zero[name] for name in zero)
    for shots, scores in (("zero", zero), ("few", few)):
        first, second, *_ = sorted(scores.values(), reverse=True)
        yield f"SynEval text: GPT4 ahead of the next, {shots}-shot", first - second
    for model in ("Llama2 70B", "Llama2 70B (Chat)"):
        yield f"SynEval text: OA of {model}, few-shot", few[model]
    yield "SynEval text: models above 60 in both settings", sum(min(zero[name], few[name]) > 60 for name in zero)
    above = sum(score > 85 for score in entry("syneval", "few_shot_points", "GPT4").figures.values())
    yield "SynEval text: knowledge points on which GPT4 exceeds 85", above
    yield "SynEval text: GPT4 on IO", entry("syneval", "few_shot_points", "GPT4").figures["IO"]
    for point, shots in (("ADV", "zero"), ("ADV", "few"), ("CO", "zero")):
        ahead, behind = (entry("syneval", f"{shots}_shot_blanks", model).figures for model in ("Llama2 70B", "GPT4"))
        difference = ahead[f"fitb_accuracy_{point}"] - behind[f"fitb_accuracy_{point}"]
        yield f"SynEval text: Llama2 70B minus GPT4, blanks of {point}, {shots}-shot", difference
    choices = {one.name: one.figures["mc_accuracy"] for one in table("syneval", "zero_shot").models}
    below = sum(choices["Baichuan2 7B"] > score for name, score in choices.items() if "13B" in name)
    yield "SynEval text: 13B models below Baichuan2 7B in multiple choice, of five", below
    for point in ("PPA", "ADJ", "IO"):
        yield f"SynEval text: average of {point}, few-shot", entry("syneval", "few_shot_points", "Avg.").figures[point]


def of_size(low: float, high: float) -> list[float]:
    """The scores of InfiBench's models with so many billions of parameters."""
    models = [one for one in table("infibench", "leaderboard").models if one.words["access"] == "Open"]
    return [one.figures["score"] for one in models if one.size and low <= one.size.total <= high]


def overall_scores() -> list[float]:
    return [one.figures["overall_average"] for one in table("csbench", "en_domains").models]


PRINTED = (
    ("CS-Bench", "csbench", ("2", "en_experts", "chapters", "13", "14", "15", "16")),
    ("CMMLU", "cmmlu", ("five_shot", "zero_shot")),
    ("CLR-Bench", "clrbench", ("main",)),
    ("InfiBench", "infibench", ("2", "5", "6", "7", "8", "10")),
    ("SynEval", "syneval", ("1", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13")),
)
NAMED = {
    "en_experts": "Tables 3 and 4", "chapters": "Table 5", "five_shot": "five-shot leaderboard",
    "zero_shot": "zero-shot leaderboard", "main": "main table, as far as the text quotes it",
}  # fmt: skip
DRAWN = (("CS-Bench", "csbench"), ("CLR-Bench", "clrbench"), ("InfiBench", "infibench"), ("SynEval", "syneval"))


def printed_and_drawn() -> Iterator[tuple[str, float]]:
    """Every table that a command prints → its rows; every figure that one draws from published rows → its marks."""
    for title, benchmark, names in PRINTED:
        for name in names:
            shown = tables("published", benchmark, name)[:-1]
            named = f"Table {name}" if name.isdigit() else NAMED[name]
            yield f"{title}: {named}, rows", sum(len(one["rows"]) for one in shown)
    for title, benchmark in DRAWN:
        for number, figure in catalogue()[benchmark].figures.items():
            if not figure.from_runs:
                _, (found,) = ran("published", benchmark, "--figure", number)
                drawn = spec(found.chart())["datasets"].values()
                yield f"{title}: Figure {number}, marks drawn", max(map(len, drawn))


MEASURES = {"MC": "mc_accuracy", "FITB accuracy": "fitb_accuracy", "FITB F1": "fitb_f1"}
OTHER_PAIRS = {
    "MC and FITB accuracy": ("mc_accuracy", "fitb_accuracy"), "MC and FITB F1": ("mc_accuracy", "fitb_f1"),
    "FITB accuracy and F1": ("fitb_accuracy", "fitb_f1"),
}  # fmt: skip
SAMPLINGS = ("(0.2,0.9)", "(0.2,1.0)", "(0.4,0.9)", "(0.6,0.9)", "(0.8,0.9)", "(1.0,0.9)", "(1.2,0.9)", "(1.4,0.9)")


def recipes() -> Iterator[tuple[str, float]]:
    """Every figure's name in the page → what it comes to."""
    yield (
        "CS-Bench: 110B by Qwen1.5 of 7, 14, 32, 72",
        predicted("Qwen1.5-*", "--fit-on", "7,14,32,72", "--predict", "110"),
    )
    yield "CS-Bench: 70B by Llama2 of 7, 13", predicted("Llama2-*", "--predict", "70")
    yield "CS-Bench: guessing, knowledge", guessing("knowledge")
    yield "CS-Bench: guessing, reasoning", guessing("reasoning")
    yield "CS-Bench: guessing, average", guessing("knowledge", "reasoning")
    yield "CS-Bench: GPT-4o, overall", overall(entry("csbench", "en_domains", "GPT-4o"))
    far = furthest(table("csbench", "en_domains"), overall, "overall_average")
    yield "CS-Bench: overall, furthest of all rows", far
    chapters = [one.figures for one in table("csbench", "chapters").entries]
    yield "CS-Bench: questions, English and Chinese", 2 * sum(one["test"] + one["validation"] for one in chapters)
    averaged = [("en_formats", form, form.lower().replace("-", "_") + "_average", "English") for form in FORMATS]
    averaged += [("en_domains", kind, f"overall_{kind}", "English") for kind in ("knowledge", "reasoning")]
    averaged += [("zh_formats", *one[1:3], "Chinese") for one in averaged[: len(FORMATS)]]
    for name, part, column, language in averaged:
        scores = mean(one.figures[column] for one in table("csbench", name).models)
        yield f"CS-Bench: mean over models, {part}, {language}", scores
    yield (
        "SynEval: TF questions of MVP",
        sum(entry("syneval", "questions", point).figures["tf"] for point in ("GS", "SC", "DO", "IO")),
    )
    for shown, shots in enumerate(("zero", "few")):
        for label, column in MEASURES.items():
            for kind in ("kendall", "pearson"):
                yield (
                    f"SynEval: TF and {label}, {kind}, {shots}-shot",
                    correlated(("syneval", "--all"), shown, column, kind),
                )
    for label, (first, second) in OTHER_PAIRS.items():
        yield (
            f"SynEval: {label}, kendall, few-shot",
            correlated(("syneval", "--every", "--all"), 1, second, "kendall", first),
        )
    for model in ("Random", "Mistral 7B", "GPT4"):
        for shots in ("zero", "few"):
            yield f"SynEval: OA of {model}, {shots}-shot", oa(entry("syneval", f"{shots}_shot", model))
    off = max(furthest(table("syneval", shots), oa, "overall") for shots in ("zero_shot", "few_shot"))
    yield "SynEval: OA, furthest of all rows", off
    for label, column in (("seed", "initial_seed_set"), ("tentative", "quota"), ("final", "questions")):
        sampled = (one.figures.get(column, 0) for one in table("infibench", "sampling").entries)
        yield f"InfiBench: {label} questions", sum(sampled)
    yield "InfiBench: HumanEval and score, pearson", correlated(("infibench",), 0, "score", "pearson")
    yield "InfiBench: models in that correlation", float(tables("correlate", "infibench", key="rows")[0]["n"])
    general, code = broken("--exclude", "Yuan2-102B-hf"), broken("--where", "domain=Code")
    yield "InfiBench: turning point, all open models but Yuan2-102B", float(general["at"])
    yield "InfiBench: turning point, code models, from", float(code["tied"][0])
    yield "InfiBench: turning point, code models, to", float(code["tied"][1])
    yield "InfiBench: turning point, all open models but Yuan2-102B, p", float(general["p"])
    yield "InfiBench: turning point, code models, p", float(code["p"])
    yield "InfiBench: GPT-4-0613", from_languages(entry("infibench", "leaderboard", "GPT-4-0613"))
    for sampling in ("greedy", *SAMPLINGS):
        yield f"InfiBench: GPT-4, {sampling}", from_languages(ablation(sampling))
    for kind, below, model in BEST:
        size = f" of at most {below:g} billion" if below else ""
        yield f"InfiBench: best, {kind}{size}: {model}", best(kind, below, model)
    for shots, model in (("five", "Qwen2-72B"), ("five", "GPT4"), ("zero", "GPT4")):
        figures = entry("cmmlu", f"{shots}_shot", model).figures
        whole = sum(figures[name] * subjects for name, subjects in CATEGORIES.items()) / sum(CATEGORIES.values())
        yield f"CMMLU: average of {model}, {shots}-shot", whole
    yield "CLR-Bench: Q→AR of GPT-4-turbo", entry("clrbench", "main", "GPT-4-turbo").figures["q_ar"]
    yield from claims()
    yield from printed_and_drawn()


OF_QUESTIONS = "published files: "
"""How a row begins to say how it is got that needs the published questions."""
OF_TREEBANK = "treebank: "
"""The same of one that is made of NLTK's sample of the Penn Treebank."""
SEVERAL_LINES = (
    "答案为：\n\n{}. {}",
    "正确的选项是\n{}，而不是 A：{}",
    "{}\n{}",
    "选项\n{}\n正确\n{}",
    "因此选\n{}\n{}",
)


def differing_prompts(published: Path, shots: int) -> int:
    """CMMLU's prompts that are not the text of the published files, to the byte."""
    exam, differ = open_exam(ExamSpec(benchmark="cmmlu", language="zh", shots=shots), published), 0
    files = {
        (split, name): read_csv(published / "cmmlu" / split / f"{name}.csv")
        for name in subjects()
        for split in ("test", "dev")
    }
    for question in exam.questions():
        name, _, number = question.id.rpartition("/")
        shown = [*files["dev", name][:shots], {**files["test", name][int(number)], "Answer": ""}]
        blocks = [
            f"题目：{row['Question']}\n" + "".join(f"{a}. {row[a]}\n" for a in "ABCD") + f"答案是：{row['Answer']}"
            for row in shown
        ]
        text = prompt_text(exam.request(question, 0, Sampling()).prompt)
        differ += text.partition("\n\n")[2] != "\n\n".join(blocks)
    return differ


def of_cmmlu(published: Path) -> Iterator[tuple[str, float]]:
    yield "CMMLU: zero-shot prompts not to the byte", differing_prompts(published, 0)
    yield "CMMLU: five-shot prompts not to the byte", differing_prompts(published, 5)
    exam = open_exam(ExamSpec(benchmark="cmmlu", language="zh", as_published=True), published)
    questions = list(exam.questions())
    differ = 0
    for at, one in enumerate(questions):  # the authors' script reads the letter that stands in each of these forms
        letter = "ABCD"[at // 5 % 4]
        reply = SEVERAL_LINES[at % 5].format(letter, one.options[0])
        differ += exam.score(one, Response(text=reply)).value != float(letter == one.answer)
    yield "CMMLU: replies of several lines scored otherwise", differ
    negated = sum(one.tags["negation"] == "yes" for one in questions)
    yield "CMMLU: asked by negation, per cent", 100 * negated / len(questions)
    combined = {one.id for one in questions if one.tags["sub_options"] == "yes"}
    yield "CMMLU: questions with sub-options", len(combined)
    plain = {f"college_actuarial_science/{number}" for number in (42, 73, 93, 97)}
    plain |= {"conceptual_physics/50", "conceptual_physics/56", "high_school_physics/67", "high_school_politics/120"}
    yield "CMMLU: plain sub-options not seen, of eight", len(plain - combined)


def of_csbench(published: Path) -> Iterator[tuple[str, float]]:
    as_published = [
        open_exam(ExamSpec(benchmark="csbench", language=language, as_published=True), published)
        for language in ("de", "fr")
    ]
    chosen = [one for exam in as_published for one in exam.questions() if one.kind == "choice"]
    destroyed = sum(one.answer not in tuple("ABCD") for one in chosen)
    yield "CS-Bench: destroyed golds, kept as published", destroyed
    off = 0
    for language in ("de", "fr"):
        spec = ExamSpec(benchmark="csbench", language=language, shots=5, chain_of_thought=True)
        exam = open_exam(spec, published)
        assert isinstance(exam, MultipleChoiceExam)
        first = {exam.group(one): one for one in exam.questions()}
        off += sum(shot.tags["domain"] != one.tags["domain"] for one in first.values() for shot in exam.shots(one))
    yield "CS-Bench: exemplars of another domain, chain of thought, German and French", off


def lowered(phrase: str, sentence: str) -> bool:
    """Whether a phrase's capitals are not its sentence's, but for the sentence's first letter."""
    first = re.sub(r"[A-Za-z]", lambda letter: letter[0].lower(), sentence, count=1)
    whole = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    as_written = any(re.search(whole, text) for text in (sentence, first))
    return not as_written and re.search(whole, sentence, re.IGNORECASE) is not None


def of_syneval(published: Path, folder: Path) -> Iterator[tuple[str, float]]:
    with gzip.open(published / "treebank" / "facts_wsj_0001-0040.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = [json.loads(line) for line in lines]
    theirs = sum(any(lowered(fact[part], fact["sentence"]) for part in ("slot", "answer")) for fact in facts)
    yield "SynEval: the authors' facts with lost capitals, of 5,995", theirs
    treebank, out = published / "treebank" / "treebank.zip", folder / "set"
    told(command_of("build syneval"), treebank, "--out", out, "--jobs", 1, "--progress", "quiet")
    made = json.loads((out / "build.json").read_text(encoding="utf-8"))["questions"]
    yield "SynEval: generated questions", sum(sum(forms.values()) for forms in made.values())
    drawn = [json.loads(line) for line in (out / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    yield "SynEval: questions of the set", len(drawn)
    names = Counter[str]()
    for one in drawn:
        own = re.findall("“(.*?)”", one["question"])
        answers = [*one.get("options", ()), *([one["answer"]] if one["format"] == "FITB" else [])]
        names["own"] += any(lowered(phrase, one["sentence"]) for phrase in own)
        names["all"] += any(lowered(phrase, one["sentence"]) for phrase in (*own, *answers))
        names["'s"] += "'s" in own
    yield "SynEval: questions with lost capitals", names["all"]
    yield "SynEval: questions with lost capitals in their own text", names["own"]
    yield "SynEval: questions that show ’s as a verb phrase", names["'s"]


def digits(text: str) -> int:
    return len(text.rpartition(".")[2]) if "." in text else 0


def holds(made: Iterator[tuple[str, float]], said: list[Row]) -> None:
    """Compare the page's rows with what was made, row by row and in their order."""
    ours = dict(made)
    assert [row.figure for row in said] == list(ours)
    with cases() as case:
        for row in said:
            with case(row.figure):
                assert f"{ours[row.figure]:.{digits(row.ours)}f}" == row.ours
                if row.paper == NONE:
                    assert row.difference == NONE
                else:
                    places = max(digits(row.paper), digits(row.ours))
                    difference = f"{float(row.ours) - float(row.paper):+.{places}f}".replace("-0.00", "+0.00")
                    assert difference == row.difference or (
                        float(row.ours) == float(row.paper) and float(row.difference) == 0
                    )


def made_rows(source: str = "") -> list[Row]:
    """The rows with a figure of ours that is made of such published files; of none."""
    sources = (OF_QUESTIONS, OF_TREEBANK)
    made = (row for row in rows() if row.ours != NONE)
    return [row for row in made if (row.how.startswith(source) if source else not row.how.startswith(sources))]


def test_a_figure_is_what_the_page_says() -> None:
    holds(recipes(), made_rows())


@pytest.mark.slow
def test_a_figure_of_published_questions_is_what_the_page_says(published: Path) -> None:
    holds(itertools.chain(of_cmmlu(published), of_csbench(published)), made_rows(OF_QUESTIONS))


@pytest.mark.slow
def test_a_figure_of_the_treebank_is_what_the_page_says(published: Path, tmp_path: Path) -> None:
    holds(of_syneval(published, tmp_path), made_rows(OF_TREEBANK))


def test_every_decimal_that_the_papers_texts_print_is_on_the_page(figures: Path) -> None:
    """Whole numbers ("17 of 26") say too little to be found; ours is computed by the tests above."""
    printed = {value for row in rows() for value in re.findall(r"\d+\.\d+", f"{row.paper} {row.ours}")}
    for line in read_csv(figures / "text_numbers.csv"):
        assert printed >= set(re.findall(r"\d+\.\d{2,}", line["printed"])), line


def test_what_only_runs_give_is_drawn_from_runs_alone() -> None:
    """tests/published/test_figures.py draws them."""
    figures = {
        f"{title}: Figure {number}": (benchmark, number)
        for title, benchmark in DRAWN
        for number, figure in catalogue()[benchmark].figures.items()
        if figure.from_runs
    }
    unmade = {row.figure: row.how for row in rows() if row.ours == NONE}
    assert figures.keys() <= unmade.keys()
    assert all("from runs only" in how or "no table" in how for how in unmade.values())
    for benchmark, number in figures.values():
        with pytest.raises(VivaError, match="drawn from runs alone"):
            ran("published", benchmark, "--figure", number)


def commands() -> Iterable[str]:
    return dict.fromkeys(found for row in rows() for found in re.findall(r"`viva ([^`]+)`", row.how))


def test_the_pages_commands_print_its_figures() -> None:
    with cases() as case:
        for command in commands():
            text, _ = ran(*shlex.split(command))
            for row in rows():
                if (
                    f"`viva {command}`" in row.how
                    and not row.figure.endswith((", rows", ", marks drawn"))
                    and row.ours != NONE
                ):
                    with case((command, row.figure)):
                        shorter = f"{float(row.ours):.{min(digits(row.ours), 3)}f}"
                        assert row.ours in text or shorter in text


def printed_elsewhere() -> Iterator[tuple[str, float]]:
    """Rows of the page whose figure itself is shipped → that figure."""
    for name, number in entry("csbench", "en_domains", "Random").figures.items():
        if name.startswith("overall"):
            yield f"CS-Bench: guessing, {name.removeprefix('overall_')}", number
    yield "CS-Bench: GPT-4o, overall", domains("GPT-4o")
    for model, shots in itertools.product(("Random", "Mistral 7B", "GPT4"), ("zero", "few")):
        yield f"SynEval: OA of {model}, {shots}-shot", entry("syneval", f"{shots}_shot", model).figures["overall"]
    for one in table("syneval", "correlation").entries:
        kind = "kendall" if "Kendall" in one.model else "pearson"
        for label, column in MEASURES.items():
            yield f"SynEval: TF and {label}, {kind}, {one.words['shots']}-shot", one.figures[column]
    for sampling in SAMPLINGS:
        yield f"InfiBench: GPT-4, {sampling}", ablation(sampling).figures["score"]
    for kind, below, model in BEST:
        size = f" of at most {below:g} billion" if below else ""
        yield f"InfiBench: best, {kind}{size}: {model}", infibench(model)
    for shots, model in (("five", "Qwen2-72B"), ("five", "GPT4"), ("zero", "GPT4")):
        yield f"CMMLU: average of {model}, {shots}-shot", entry("cmmlu", f"{shots}_shot", model).figures["average"]


def test_what_the_paper_says_is_what_the_published_tables_say() -> None:
    said = {row.figure: row.paper for row in rows()}
    for (figure, number), case in tabled(*printed_elsewhere()):
        with case:
            assert float(said[figure]) == number


BREAKS = {
    "all 94 open ones": (), "all but Yuan2-102B": ("--exclude", "Yuan2-102B-hf"), "best of each size": ("--best",),
    "general": ("--where", "domain=General"), "code": ("--where", "domain=Code"),
    "code, finetuned": ("--where", "domain=Code", "--where", "type=Finetuned"),
    "by active parameters, but Yuan2-102B": ("--exclude", "Yuan2-102B-hf", "--parameters", "active"),
}  # fmt: skip


FITTED = ("all but Yuan2-102B", "code")
"""Breaks of which figures above are made as well."""


@pytest.mark.parametrize("fitted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_page_about_sizes_has_the_breaks_that_come_out(fitted: bool) -> None:
    lines = (PAGE.parent / "comparing.md").read_text(encoding="utf-8").splitlines()
    said = {
        cells[0]: cells[1:]
        for cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
        if len(cells) == 6
    }
    for models in (models for models in BREAKS if (models in FITTED) == fitted):
        arguments = BREAKS[models]
        text = formed("markdown", "scaling", "infibench", "--fit", "segments", *arguments)
        (row,) = (
            line for line in text.split("One line or two")[1].split("###")[0].splitlines() if "| all models |" in line
        )
        _, _, at, profile, _, below, above, _, p, _ = (cell.strip() for cell in row.strip("|").split("|"))
        assert said[models] == [at, profile, below, above, p], models
