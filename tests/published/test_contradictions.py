"""Contradictions between published figures are noted in the shipped data: every number in a note is recomputed."""

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.handmade import opened
from rows import each_row
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
    return {
        (form, tag): {row.model.lower(): row.figures[f"{form}_{tag}"] for row in rows}
        for form in FORMATS
        for tag in TAGS
    }


def mean(parts: dict[str, float], weights: dict[str, float]) -> float:
    return sum(parts[name] * weight for name, weight in weights.items()) / sum(weights.values())


def by_domain(tag: str) -> dict[str, float]:
    return {name: sum(counts()[form, tag][name] for form in FORMATS) for name in DOMAINS}


def by_format(tag: str) -> dict[str, float]:
    return {form: sum(counts()[form, tag].values()) for form in FORMATS}


def weights(by: dict[str, dict[str, float]], tag: str) -> dict[str, float]:
    if tag != "average":
        return by[tag]
    return {name: sum(by[each][name] for each in TAGS) for name in by[TAGS[0]]}


def off(entry: Entry, by: dict[str, dict[str, float]], tag: str) -> float:
    """How far the weighted mean of the parts is from the overall figure."""
    parts = {name: entry.figures[f"{name}_{tag}"] for name in by[TAGS[0]]}
    return mean(parts, weights(by, tag)) - entry.figures[f"overall_{tag}"]


def test_clrbench_has_two_figures_for_one_model() -> None:
    main, abstract = (called(table("clrbench", name).entries, "gpt-4-turbo") for name in ("main", "abstract"))
    assert (main.figures["q_ar"], abstract.figures["q_ar"]) == (39.52, 39.00)
    assert main.figures["q_a"] == abstract.figures["q_a"] == 63.31
    for name in ("main", "abstract"):
        said(table("clrbench", name), "39.52", "39.00")


def test_csbench_random_rows_are_those_of_the_present_questions() -> None:
    guess = dict(zip(FORMATS, (25.0, 50.0, 0.0, 10.0), strict=True))
    assert sum(sum(by_format(tag).values()) for tag in TAGS) == 2183
    for language in ("en", "zh"):
        for name, overall in (("domains", 26.20), ("formats", 26.20)):
            random = called(table("csbench", f"{language}_{name}").entries, "Random").figures
            assert random["overall_average"] == overall
            for tag in TAGS:
                assert mean(guess, by_format(tag)) == pytest.approx(random[f"overall_{tag}"], abs=0.006)
        for domain in DOMAINS:
            for tag in TAGS:
                asked = {form: counts()[form, tag][domain] for form in FORMATS}
                random = called(table("csbench", f"{language}_domains").entries, "Random").figures
                assert mean(guess, asked) == pytest.approx(random[f"{domain}_{tag}"], abs=0.006)
    said(table("csbench", "en_domains"), "27.40", "24.12", "26.20")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_csbench_overall_is_the_mean_over_domains_and_not_over_formats(language: str) -> None:
    domains, formats = table("csbench", f"{language}_domains"), table("csbench", f"{language}_formats")
    own = {tag: by_domain(tag) for tag in TAGS}
    for row in domains.models:
        other = called(formats.entries, row.model)
        for tag in (*TAGS, "average"):
            assert row.figures[f"overall_{tag}"] == other.figures[f"overall_{tag}"]
        for tag in TAGS:
            assert off(row, own, tag) == pytest.approx(0, abs=0.012), row.model
        average = mean({tag: row.figures[f"overall_{tag}"] for tag in TAGS}, {"knowledge": 1388, "reasoning": 795})
        assert average == pytest.approx(row.figures["overall_average"], abs=0.012), row.model
    gaps = {row.model: off(row, {tag: by_format(tag) for tag in TAGS}, "average") for row in formats.models}
    lowest, highest = min(gaps, key=gaps.__getitem__), max(gaps, key=gaps.__getitem__)
    found = (lowest, round(gaps[lowest], 2), highest, round(gaps[highest], 2))
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
    formats = table("csbench", f"{language}_formats")
    present = {form: tuple(int(by_format(tag)[form]) for tag in TAGS) for form in FORMATS}
    present["open_ended"] = (500, 1200)
    assert sum(sum(EARLIER[form]) for form in FORMATS[:3]) + (500 + 1130) / 10 == 2096
    for row in formats.models:
        if row.model not in strangers:
            assert not misfits(row, EARLIER), row.model
    poor = [row.model for row in formats.models if len(misfits(row, present)) >= 3]
    assert len(poor) > 0.9 * len(formats.models), "with the present counts hardly any model fits"
    said(formats, "2,096", "2,183", "783 and 499", "50 and 113")


def misfits(row: Entry, numbers: dict[str, tuple[int, ...]]) -> list[str]:
    """The figures that are no fraction of so many, to two decimals."""
    found: list[str] = []
    for form, pair in numbers.items():
        for tag, number in zip(TAGS, pair, strict=True):
            value = row.figures[f"{form}_{tag}"]
            if abs(100 * round(value * number / 100) / number - value) > 0.0051:
                found.append(f"{form}_{tag}")
    return found


def test_csbench_averages_fit_their_parts_but_for_the_rows_that_are_named() -> None:
    named: dict[tuple[str, str], tuple[float, float]] = {}
    both = {tag: by_domain(tag) for tag in TAGS}
    for language in ("en", "zh"):
        for row in table("csbench", f"{language}_domains").models:
            for domain in DOMAINS:
                parts = {tag: row.figures[f"{domain}_{tag}"] for tag in TAGS}
                given = mean(parts, {tag: both[tag][domain] for tag in TAGS})
                printed = row.figures[f"{domain}_average"]
                if abs(given - printed) > 0.015:
                    named[language, row.model] = (printed, round(given, 2))
                    said(table("csbench", f"{language}_domains"), row.model, f"{printed:.2f}", f"{given:.2f}")
    assert named == {
        ("en", "PaLM-2"): (55.22, 55.04),
        ("zh", "ChatGLM3-6B"): (35.98, 39.25),
        ("zh", "ERNIE-3.5"): (68.94, 68.88),
        ("zh", "ERNIE-4"): (73.54, 73.50),
        ("zh", "GLM-4"): (71.06, 71.02),
        ("zh", "GPT-4o"): (71.67, 71.65),
    }
    formats = {tag: by_format(tag) for tag in TAGS}
    for language in ("en", "zh"):
        for row in table("csbench", f"{language}_formats").models:
            for form in FORMATS:
                parts = {tag: row.figures[f"{form}_{tag}"] for tag in TAGS}
                given = mean(parts, {tag: formats[tag][form] for tag in TAGS})
                assert given == pytest.approx(row.figures[f"{form}_average"], abs=0.012), row.model


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


def test_csbench_experts_are_beside_the_chat_models_of_table_2() -> None:
    experts, domains = table("csbench", "en_experts"), table("csbench", "en_domains")
    for row in experts.entries:
        for tag in TAGS:
            given = mean({name: row.figures[f"{name}_{tag}"] for name in DOMAINS}, by_domain(tag))
            assert given == pytest.approx(row.figures[f"overall_{tag}"], abs=0.012), row.model
        if not row.words:
            assert row.figures.items() <= called(domains.entries, row.model).figures.items()
        else:
            assert called(experts.entries, row.words["base"]).words == {}


def test_csbench_counts_are_those_of_the_published_files(published: Path) -> None:
    questions = list(opened("csbench", published).questions())
    found = Counter((q.tags["domain"], q.tags["format"], q.tags["tag"]) for q in questions)
    for row in table("csbench", "questions").entries:
        for column in table("csbench", "questions").columns:
            form, _, tag = column.name.rpartition("_")
            assert row.figures[column.name] == found[row.model, LABELS[form], tag.capitalize()]
    chapters = {row.model: row.figures for row in table("csbench", "chapters").entries}
    assert {name: row["test"] for name, row in chapters.items()} == Counter(q.tags["subfield"] for q in questions)
    for row in chapters.values():
        assert row["questions"] == 2 * (row["test"] + row["validation"])
    assert sum(row["questions"] for row in chapters.values()) == 4838
    said(table("csbench", "chapters"), "4,838")


LABELS = dict(zip(FORMATS, ("Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended"), strict=True))


@pytest.mark.parametrize(("setting", "many"), [("zero_shot", 8), ("five_shot", 6)])
def test_cmmlu_averages_that_are_not_those_of_67_subjects_are_named(setting: str, many: int) -> None:
    found = table("cmmlu", setting)
    subjects = {"stem": 17, "humanities": 13, "social_science": 22, "other": 15}
    strange = 0
    for row in found.entries:
        given = mean(row.figures, {name: float(count) for name, count in subjects.items()})
        if abs(given - row.figures["average"]) > 0.2:
            strange += 1
            said(found, f"{row.figures['average']:.2f} (", f"{given:.2f})", row.model.split("-2024")[0])
    assert strange == many


def test_cmmlu_has_one_model_that_forgets_by_exemplars() -> None:
    zero, five = (table("cmmlu", name).models for name in ("zero_shot", "five_shot"))
    losses = sorted(
        (row.figures["average"] - called(zero, row.model).figures["average"], row.model)
        for row in five
        if any(other.model == row.model for other in zero)
    )
    assert losses[0] == (pytest.approx(36.85 - 66.74), "Llama-3-70B-Instruct")
    assert losses[1][0] > -6
    said(table("cmmlu", "five_shot"), "36.85", "66.74")


def test_infibench_repeats_a_row_and_exchanges_sizes() -> None:
    board = table("infibench", "leaderboard")
    gpt4 = called(board.entries, "GPT-4-0613")
    ablations = {row.words["generation_parameters"]: row for row in board.entries if row.kind == "ablation"}
    shared = gpt4.figures.keys() - {"humaneval"}
    assert {name: gpt4.figures[name] for name in shared} == ablations["(0.2,0.7)"].figures
    again = ablations["(0.2,0.9)"].figures
    assert (again["score"], again["score_std"], again["responses"]) == (70.93, 1.06, 100)
    said(board, "70.64 ± 0.82", "70.93 ± 1.06", "(0.2, 0.7)")
    phi = {row.model: (row.words["parameters"], row.size) for row in board.entries if row.words["family"] == "Phi"}
    assert phi == {
        "Phi1": ("2.7B", Size(1.3, 1.3)), "Phi1.5": ("1.5B", Size(1.3, 1.3)), "Phi2": ("1.3B", Size(2.7, 2.7)),
    }  # fmt: skip
    said(board, "2.7B", "1.3B")


def test_infibench_human_rows_are_marked_and_sampled_like_models() -> None:
    board = table("infibench", "leaderboard")
    people = [row for row in board.entries if row.kind == "human"]
    assert [row.figures["responses"] for row in people] == [1, 1, 10]
    assert {row.words["generation_parameters"] for row in people} == {"(0.2,0.9)"}
    assert [row.figures["metric_unit_test"] for row in people] == [6, 6, 7]
    assert called(people, "Human Top 10").figures["mean_score"] == 33.22
    said(board, "33.22", "6 to 7 per cent")


def test_infibench_other_oddities_are_as_the_notes_say() -> None:
    board = table("infibench", "leaderboard")
    figures = {row.model: row.figures for row in board.models}
    assert (figures["Claude 3 Opus"]["humaneval"], figures["Claude 3 Sonnet"]["humaneval"]) == (73.0, 84.9)
    medium, small = figures["mistral-medium"], figures["mistral-small"]
    assert (medium["score"], small["score"]) == (40.95, 55.62)
    assert (medium["mean_score"], small["mean_score"]) == (38.58, 41.31)
    said(board, "73.0", "84.9")
    said(board, "40.95", "55.62", "38.58", "41.31")


def test_infibench_types_weighted_by_their_questions_give_the_score(published: Path) -> None:
    asked = Counter(q.tags["type"] for q in opened("infibench", published).questions())
    by_name = {re.sub("[ -]", "_", name): count for name, count in asked.items()}
    for row in table("infibench", "leaderboard").entries:
        given = mean(row.figures, {name: float(count) for name, count in by_name.items()})
        assert given == pytest.approx(row.figures["score"], abs=0.012), row.model


def test_infibench_sampling_adds_up_and_is_that_of_the_suite(published: Path) -> None:
    sampling = table("infibench", "sampling")
    sums = {c.name: sum(row.figures.get(c.name, 0) for row in sampling.entries) for c in sampling.columns}
    assert sums == {"initial_seed_set": 13854, "quota": 270, "questions": 234}
    gone = {row.model: row.figures["quota"] for row in sampling.entries if "questions" not in row.figures}
    assert sum(gone.values()) == 29
    assert set(gone) == {"Kotlin", "Swift", "VBA"}
    dropped = {
        row.model: row.figures["quota"] - row.figures["questions"]
        for row in sampling.entries
        if row.model not in gone and row.figures["quota"] != row.figures["questions"]
    }
    assert dropped == {"HTML": 1, "Java": 1, "PHP": 1, "Go": 1, "R": 1, "Bash": 2}
    asked = Counter(q.tags["language"] for q in opened("infibench", published).questions())
    kept = {row.model.lower().replace("c/c++", "c++/c"): row.figures["questions"] for row in sampling.entries
            if row.model not in gone}  # fmt: skip
    assert kept == asked
    said(sampling, "13,854; 270; 234", "29 of the quota", "241")


def test_infibench_similarity_is_no_eighth_of_the_questions(published: Path) -> None:
    metrics = Counter(question.tags["metric"] for question in opened("infibench", published).questions())
    similar, total = metrics["similarity"], sum(metrics.values())
    printed = 11.85
    shares = {count: round(100 * count / total, 2) for count in range(total + 1)}
    assert printed not in shares.values()
    assert round(100 * 16 / 135, 2) == printed
    said(table("infibench", "sampling"), f"{printed}", f"{similar} ({shares[similar]:.2f} per cent)",
         f"27 are {shares[27]}", f"28 are {shares[28]}", "16 of the development generation's 135")  # fmt: skip


@pytest.mark.parametrize(("shots", "printed"), [("zero_shot", "53.41"), ("few_shot", "55.44")])
def test_syneval_average_rows_have_a_row_in_them_that_is_not_printed(shots: str, printed: str) -> None:
    points = table("syneval", f"{shots}_points")
    average = next(row for row in points.entries if row.kind == "average")
    assert average.model == "Avg."
    assert f"{average.figures['GS']:.2f}" == printed
    plain = sum(row.figures["GS"] for row in points.models) / len(points.models)
    assert len(points.models) == 23
    said(points, "24 rows", f"{plain:.2f}", printed)
    for column in points.columns:
        missing = 24 * average.figures[column.name] - sum(row.figures[column.name] for row in points.models)
        assert 20 < missing < 35, "such as guessing scores"
