"""Contradictions between published figures are noted in the shipped data: every number in a note is recomputed."""

import itertools
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.handmade import opened
from rows import each_row, tabled
from viva.published import Entry, Size, Table, called, table

DOMAINS = ("dsa", "co", "cn", "os")
FORMATS = ("multiple_choice", "assertion", "fill_in_the_blank", "open_ended")
TAGS = ("knowledge", "reasoning")
EARLIER = {
    "multiple_choice": (783, 499), "assertion": (329, 99), "fill_in_the_blank": (170, 53), "open_ended": (500, 1130),
}  # fmt: skip
"""Of how many questions the figures by format are fractions; of open-ended ones, tenths of marks."""


def said(found: Table, *numbers: str) -> None:
    """One note has all of these numbers."""
    assert any(all(number in note for number in numbers) for note in found.notes), numbers


def counts() -> dict[tuple[str, str], dict[str, float]]:
    """(format, knowledge or reasoning) → domain → test questions."""
    rows = table("csbench", "questions").entries
    kinds = itertools.product(FORMATS, TAGS)
    return {kind: {row.model.lower(): row.figures["_".join(kind)] for row in rows} for kind in kinds}


def mean(parts: dict[str, float], weights: dict[str, float]) -> float:
    return sum(parts[name] * weight for name, weight in weights.items()) / sum(weights.values())


def by_domain(tag: str) -> dict[str, float]:
    return {name: sum(counts()[form, tag][name] for form in FORMATS) for name in DOMAINS}


def by_format(tag: str) -> dict[str, float]:
    return {form: sum(counts()[form, tag].values()) for form in FORMATS}


def off(entry: Entry, by: dict[str, dict[str, float]], *tags: str) -> float:
    """How far the weighted mean of the parts is from the overall figure: of one kind, or of both."""
    column = tags[0] if len(tags) == 1 else "average"
    weights = {name: sum(by[tag][name] for tag in tags) for name in by[TAGS[0]]}
    return (
        mean({name: entry.figures[f"{name}_{column}"] for name in weights}, weights)
        - entry.figures[f"overall_{column}"]
    )


def test_clrbench_has_two_figures_for_one_model() -> None:
    main, abstract = (called(table("clrbench", name).entries, "gpt-4-turbo") for name in ("main", "abstract"))
    assert (main.figures["q_ar"], abstract.figures["q_ar"]) == (39.52, 39.00)
    assert main.figures["q_a"] == abstract.figures["q_a"] == 63.31
    for name in ("main", "abstract"):
        said(table("clrbench", name), "39.52", "39.00")


def test_csbench_random_rows_are_those_of_the_present_questions() -> None:
    """Overall this is a row of docs/figures.md."""
    guess = dict(zip(FORMATS, (25.0, 50.0, 0.0, 10.0), strict=True))
    for (domain, tag), row in tabled(*itertools.product(DOMAINS, TAGS)):
        with row:
            asked = {form: counts()[form, tag][domain] for form in FORMATS}
            for language in ("en", "zh"):
                random = called(table("csbench", f"{language}_domains").entries, "Random").figures
                assert mean(guess, asked) == pytest.approx(random[f"{domain}_{tag}"], abs=0.006)
    said(table("csbench", "en_domains"), "27.40", "24.12", "26.20")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_csbench_overall_is_the_mean_over_domains_and_not_over_formats(language: str) -> None:
    domains, formats = table("csbench", f"{language}_domains"), table("csbench", f"{language}_formats")
    own = {tag: by_domain(tag) for tag in TAGS}
    for row in domains.models:
        assert all(off(row, own, tag) == pytest.approx(0, abs=0.012) for tag in TAGS), row.model
    gaps = {row.model: off(row, {tag: by_format(tag) for tag in TAGS}, *TAGS) for row in formats.models}
    (lowest, least), *_, (highest, most) = sorted(gaps.items(), key=lambda gap: gap[1])
    found = (lowest, round(least, 2), highest, round(most, 2))
    if language == "en":
        assert found == ("GPT-3.5", -0.17, "DeepseekLLM-67B", -0.06)
        said(formats, "0.06 (DeepseekLLM-67B)", "0.17 (GPT-3.5)")
    else:
        assert found == ("Baichuan2-7B", -0.10, "GLM-4", 0.21)
        said(formats, "0.10 lower (Baichuan2-7B)", "0.21 higher (GLM-4)")


@each_row(("en", {"PaLM-2", "Claude-3"}), ("zh", {"GPT-4o", "GLM-4", "ERNIE-3.5", "ERNIE-4"}))
def test_csbench_figures_by_format_are_fractions_of_an_earlier_number_of_questions(
    language: str, strangers: set[str]
) -> None:
    def misfits(row: Entry, numbers: dict[str, tuple[int, ...]]) -> int:
        """How many figures are no fraction of so many, to two decimals."""
        parts = [(row.figures[f"{form}_{tag}"], numbers[form][at]) for form in FORMATS for at, tag in enumerate(TAGS)]
        return sum(abs(100 * round(value * number / 100) / number - value) > 0.0051 for value, number in parts)

    formats = table("csbench", f"{language}_formats")
    present = {form: tuple(int(by_format(tag)[form]) for tag in TAGS) for form in FORMATS} | {"open_ended": (500, 1200)}
    assert sum(sum(EARLIER[form]) for form in FORMATS[:3]) + (500 + 1130) / 10 == 2096
    assert not [row.model for row in formats.models if row.model not in strangers and misfits(row, EARLIER)]
    poor = sum(misfits(row, present) >= 3 for row in formats.models)
    assert poor > 0.9 * len(formats.models), "with the present counts hardly any model fits"
    said(formats, "2,096", "2,183", "783 and 499", "50 and 113")


def test_csbench_averages_fit_their_parts_but_for_the_rows_that_are_named() -> None:
    named: dict[tuple[str, str], tuple[float, float]] = {}
    weights_of = {"domains": {tag: by_domain(tag) for tag in TAGS}, "formats": {tag: by_format(tag) for tag in TAGS}}
    for language, (kind, both) in itertools.product(("en", "zh"), weights_of.items()):
        found = table("csbench", f"{language}_{kind}")
        for row, part in itertools.product(found.models, both[TAGS[0]]):
            given = mean({tag: row.figures[f"{part}_{tag}"] for tag in TAGS}, {tag: both[tag][part] for tag in TAGS})
            printed = row.figures[f"{part}_average"]
            if abs(given - printed) > 0.015:
                named[language, row.model] = (printed, round(given, 2))
                said(found, row.model, f"{printed:.2f}", f"{given:.2f}")
    assert named == {
        ("en", "PaLM-2"): (55.22, 55.04),
        ("zh", "ChatGLM3-6B"): (35.98, 39.25),
        ("zh", "ERNIE-3.5"): (68.94, 68.88),
        ("zh", "ERNIE-4"): (73.54, 73.50),
        ("zh", "GLM-4"): (71.06, 71.02),
        ("zh", "GPT-4o"): (71.67, 71.65),
    }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_csbench_means_over_models_by_format_are_noted(language: str) -> None:
    formats = table("csbench", f"{language}_formats")
    means = [
        f"{sum(row.figures[f'{form}_average'] for row in formats.models) / len(formats.models):.2f}"
        for form in (*FORMATS, "overall")
    ]
    said(formats, f"{len(formats.models)} models", *means)


def test_csbench_subfields_are_averaged_plainly() -> None:
    subfields, domains = table("csbench", "en_subfields"), table("csbench", "en_domains")
    asked = {row.model: row.figures["test"] for row in table("csbench", "chapters").entries}
    labels = {column.name: column.label for column in subfields.columns}
    gaps: dict[str, list[float]] = {}
    for row in subfields.entries:
        whole = called(domains.entries, row.model).figures
        assert row.figures["overall"] == whole["overall_average"]
        for domain in DOMAINS:
            own = {name: value for name, value in row.figures.items() if name.startswith(f"{domain}_")}
            average = own.pop(f"{domain}_average")
            assert sum(own.values()) / len(own) == pytest.approx(average, abs=0.012), row.model
            weighted = mean(own, {name: asked[labels[name]] for name in own})
            gaps.setdefault(domain, []).append(weighted - whole[f"{domain}_average"])
    assert max(map(abs, gaps["os"])) < 0.02
    assert (round(min(gaps["dsa"]), 2), round(max(gaps["dsa"]), 2)) == (-0.63, -0.37)
    said(subfields, "0.37 to 0.63")
    said(subfields, "46.98", "43.82")
    assert called(subfields.entries, "Llama2-7B").figures["dsa_average"] == 46.98
    assert called(domains.entries, "Llama2-7B").figures["dsa_average"] == 43.82


def test_csbench_counts_are_those_of_the_published_files(published: Path) -> None:
    questions = list(opened("csbench", published).questions())
    found = Counter((q.tags["domain"], q.tags["format"], q.tags["tag"]) for q in questions)
    for (form, tag), domains in counts().items():
        for domain, number in domains.items():
            assert number == found[domain.upper(), LABELS[form], tag.capitalize()]
    chapters = {row.model: row.figures for row in table("csbench", "chapters").entries}
    assert {name: row["test"] for name, row in chapters.items()} == Counter(q.tags["subfield"] for q in questions)
    assert all(row["questions"] == 2 * (row["test"] + row["validation"]) for row in chapters.values())
    assert sum(row["questions"] for row in chapters.values()) == 4838
    said(table("csbench", "chapters"), "4,838")


LABELS = dict(zip(FORMATS, ("Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended"), strict=True))


@each_row(("zero_shot", 8), ("five_shot", 6))
def test_cmmlu_averages_that_are_not_those_of_67_subjects_are_named(setting: str, many: int) -> None:
    found, strange = table("cmmlu", setting), 0
    for row in found.entries:
        given = mean(row.figures, {"stem": 17.0, "humanities": 13.0, "social_science": 22.0, "other": 15.0})
        if abs(given - row.figures["average"]) > 0.2:
            strange += 1
            said(found, f"{row.figures['average']:.2f} (", f"{given:.2f})", row.model.split("-2024")[0])
    assert strange == many


def test_cmmlu_has_one_model_that_forgets_by_exemplars() -> None:
    zero, five = (
        {row.model: row.figures["average"] for row in table("cmmlu", name).models}
        for name in ("zero_shot", "five_shot")
    )
    (most, model), (next_most, _), *_ = sorted(
        (five[model] - zero[model], model) for model in zero.keys() & five.keys()
    )
    assert (most, model) == (pytest.approx(36.85 - 66.74), "Llama-3-70B-Instruct")
    assert next_most > -6
    said(table("cmmlu", "five_shot"), "36.85", "66.74")


def test_infibench_repeats_a_row_and_exchanges_sizes() -> None:
    board = table("infibench", "leaderboard")
    gpt4 = called(board.entries, "GPT-4-0613")
    ablations = {row.words["generation_parameters"]: row.figures for row in board.entries if row.kind == "ablation"}
    assert {name: gpt4.figures[name] for name in gpt4.figures.keys() - {"humaneval"}} == ablations["(0.2,0.7)"]
    assert [ablations["(0.2,0.9)"][name] for name in ("score", "score_std", "responses")] == [70.93, 1.06, 100]
    said(board, "70.64 ± 0.82", "70.93 ± 1.06", "(0.2, 0.7)")
    phi = {row.model: (row.words["parameters"], row.size) for row in board.entries if row.words["family"] == "Phi"}
    assert phi == {
        "Phi1": ("2.7B", Size(1.3, 1.3)), "Phi1.5": ("1.5B", Size(1.3, 1.3)), "Phi2": ("1.3B", Size(2.7, 2.7)),
    }  # fmt: skip
    said(board, "2.7B", "1.3B")


@each_row(
    ("humaneval", {"Claude 3 Opus": 73.0, "Claude 3 Sonnet": 84.9}, ("73.0", "84.9")),
    ("score", {"mistral-medium": 40.95, "mistral-small": 55.62}, ("40.95", "55.62", "38.58", "41.31")),
    ("mean_score", {"mistral-medium": 38.58, "mistral-small": 41.31}, ("40.95", "55.62", "38.58", "41.31")),
    ("mean_score", {"Human Top 10": 33.22}, ("33.22", "6 to 7 per cent")),
)
def test_infibench_other_oddities_are_as_the_notes_say(
    column: str, given: dict[str, float], noted: tuple[str, ...]
) -> None:
    board = table("infibench", "leaderboard")
    assert {model: called(board.entries, model).figures[column] for model in given} == given
    said(board, *noted)
    people = [row for row in board.entries if row.kind == "human"]
    assert [(row.figures["responses"], row.figures["metric_unit_test"]) for row in people] == [(1, 6), (1, 6), (10, 7)]


def test_infibench_sampling_adds_up_and_is_that_of_the_suite(published: Path) -> None:
    """Its sums are rows of docs/figures.md."""
    rows = table("infibench", "sampling").entries
    gone = {row.model: row.figures["quota"] for row in rows if "questions" not in row.figures}
    assert (gone.keys(), sum(gone.values())) == ({"Kotlin", "Swift", "VBA"}, 29)
    kept = {row.model: row.figures for row in rows if row.model not in gone}
    dropped = {model: row["quota"] - row["questions"] for model, row in kept.items()}
    assert {model: n for model, n in dropped.items() if n} == {
        "HTML": 1, "Java": 1, "PHP": 1, "Go": 1, "R": 1, "Bash": 2,
    }  # fmt: skip
    asked = Counter(q.tags["language"] for q in opened("infibench", published).questions())
    assert {model.lower().replace("c/c++", "c++/c"): row["questions"] for model, row in kept.items()} == asked
    said(table("infibench", "sampling"), "13,854; 270; 234", "29 of the quota", "241")


def test_infibench_similarity_is_no_eighth_of_the_questions(published: Path) -> None:
    metrics = Counter(question.tags["metric"] for question in opened("infibench", published).questions())
    similar, total = metrics["similarity"], sum(metrics.values())
    printed = 11.85
    shares = {count: round(100 * count / total, 2) for count in range(total + 1)}
    assert printed not in shares.values()
    assert round(100 * 16 / 135, 2) == printed
    said(table("infibench", "sampling"), f"{printed}", f"{similar} ({shares[similar]:.2f} per cent)",
         f"27 are {shares[27]}", f"28 are {shares[28]}", "16 of the development generation's 135")  # fmt: skip


@each_row(("zero_shot", "53.41"), ("few_shot", "55.44"))
def test_syneval_average_rows_have_a_row_in_them_that_is_not_printed(shots: str, printed: str) -> None:
    points = table("syneval", f"{shots}_points")
    (average,) = (row for row in points.entries if row.kind == "average")
    assert (average.model, f"{average.figures['GS']:.2f}", len(points.models)) == ("Avg.", printed, 23)
    sums = {column.name: sum(row.figures[column.name] for row in points.models) for column in points.columns}
    said(points, "24 rows", f"{sums['GS'] / 23:.2f}", printed)
    for name, whole in sums.items():
        assert 20 < 24 * average.figures[name] - whole < 35, "such as guessing scores"


@each_row(("zero", 0.007), ("few", 0.009))
def test_syneval_parts_of_every_point_give_its_overall_accuracy(shots: str, most: float) -> None:
    statements, blanks, points = (
        {entry.model: entry.figures for entry in table("syneval", f"{shots}_shot_{name}").entries}
        for name in ("statements", "blanks", "points")
    )
    distances = []
    for model, point in itertools.product(statements, next(iter(points.values()))):
        choices = sum(statements[model][f"{name}_accuracy_{point}"] for name in ("tf", "mc"))
        filled = sum(blanks[model][f"fitb_{name}_{point}"] for name in ("accuracy", "f1")) / 2
        distances.append(abs((choices + filled) / 3 - points[model][point]))
    assert (len(distances), max(distances) < most + 0.001) == (207, True)


def test_syneval_table_1_adds_up() -> None:
    asked = {row.model: row.figures for row in table("syneval", "questions").entries}
    own = {form: sum(row[form] for point, row in asked.items() if (point, form) != ("MVP", "tf"))
           for form in ("tf", "mc", "fitb")}  # fmt: skip
    assert own == {"tf": 1065, "mc": 1075, "fitb": 1030}
    assert sum(own.values()) == 634 * 5, "five a stratum"
