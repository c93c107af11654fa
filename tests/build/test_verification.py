"""Verification sheets: drawing, filling in, and evaluation."""

import json
from pathlib import Path

import pytest

from benchmarks.handmade import cmmlu, csbench, record, rows
from cli.collected import read_csv, write_csv
from cli.told import command_of, rows_of, told
from rows import tabled
from viva.analysis.uncertainty import zero_one_interval
from viva.errors import VivaError


def chinese(folder: Path, questions: int = 40) -> Path:
    content = rows(*((f"=Q{n}", "a", "b", "c", "d", "ABCD"[n % 4]) for n in range(questions)))
    return cmmlu(folder / "set", {"anatomy": content})


def sheet(out: Path, *arguments: object) -> list[dict[str, str]]:
    told(command_of("build verify sheet"), *arguments, "--out", out)
    return read_csv(out)


def filled(path: Path, sheet: list[dict[str, str]], verdicts: dict[str, str], column: str = "verdict: gold") -> Path:
    rows = ({**row, column: verdicts.get(row["question"], "")} for row in sheet)
    return write_csv(path, rows, sheet[0], delimiter=";")  # as a German spreadsheet saves it


def test_a_share_is_drawn_verified_by_two_and_rated(tmp_path: Path) -> None:
    data = chinese(tmp_path)
    one = sheet(tmp_path / "s.csv", "cmmlu", "--data", data, "--share", "25%")
    assert len(one) == 10
    assert one == sheet(tmp_path / "t.csv", "cmmlu", "--data", data, "--share", "25%"), "the seed draws them"
    assert one != sheet(tmp_path / "u.csv", "cmmlu", "--data", data, "--share", "25%", "--seed", "1")
    assert all(row["text"].startswith("'=Q") and "\nB. b" in row["text"] for row in one), "no formula"
    ids = [row["question"] for row in one]
    anna = {**dict.fromkeys(ids, "right"), ids[0]: "wrong", ids[1]: "wrong", ids[2]: "unsure"}
    ben = {**dict.fromkeys(ids[:9], "Right"), ids[0]: "WRONG"}
    sheets = [filled(tmp_path / "anna.csv", one, anna), filled(tmp_path / "ben.csv", one, ben)]
    found = json.loads(told(command_of("build verify rate"), "cmmlu", *sheets, "--data", data, "--format", "json"))
    low, high = zero_one_interval(2, 9) or (0, 0)
    rates = {row["rater"]: list(row.values())[3:] for row in found["rows"]}
    assert rates["anna"] == [9, 2, 1, low, high]
    assert rates["ben"][:2] == rates["most of them"][:2] == [9, 1], "one against one is undecided"
    assert [row["rate"] for row in rows_of(found, "Error rate")] == [2 / 9, 1 / 9, 1 / 9]
    assert rows_of(found, "Set") == [{"questions": 10, "of": 40, "wrong": [ids[0]]}]
    (pair,) = rows_of(found, "Agreement")
    assert (pair["equal"]["n"], pair["equal"]["value"]) == (8, pytest.approx(7 / 8))
    assert pair["kappa"]["value"] == pytest.approx(0.6)
    assert "10 of 40 questions" in told(command_of("build verify rate"), "cmmlu", *sheets, "--data", data)


def test_a_tag_is_labelled_without_seeing_it_and_explanations_are_verified(tmp_path: Path) -> None:
    test = [record(n, Tag=("Knowledge", "Reasoning")[n % 2], Explanation="why" if n < 3 else ...) for n in range(8)]
    data = csbench(tmp_path, "en", test)
    one = sheet(tmp_path / "s.csv", "csbench", "--data", data, "--ask", "tag", "--share", "all")
    assert not any("Knowledge" in cell or "Reasoning" in cell for row in one for cell in row.values())
    said = {str(n): ("Knowledge", "reasoning")[n % 2] for n in range(8)} | {"0": "Reasoning"}
    path = filled(tmp_path / "anna.csv", one, said, "verdict: tag")
    found = json.loads(told(command_of("build verify rate"), "csbench", path, "--data", data, "--format", "json"))
    assert (found["rows"][0]["decided"], found["rows"][0]["wrong"]) == (8, 1)
    assert rows_of(found, "Set")[0]["wrong"] == ["0"]
    (pair,) = rows_of(found, "Agreement")
    assert (pair["raters"], pair["kappa"]["value"]) == ("anna, the set", pytest.approx(0.75))
    why = sheet(tmp_path / "w.csv", "csbench", "--data", data, "--ask", "explanation", "--share", "all")
    assert [row["explanation"] for row in why] == ["why"] * 3


def test_what_cannot_be_taken_is_named(tmp_path: Path) -> None:
    data = chinese(tmp_path)
    one = sheet(tmp_path / "s.csv", "cmmlu", "--data", data)
    name = one[0]["question"]
    other = [{**row, "item": "0" * 12} for row in one]
    cases = (
        (filled(tmp_path / "a.csv", one, {name: "yes"}), r"row 2: 'yes'; write wrong, right or unsure"),
        (filled(tmp_path / "b.csv", other, {name: "right"}), r"has changed since"),
        (filled(tmp_path / "c.csv", one, {}), r"no verdict in .*c.csv"),
        (filled(tmp_path / "d.csv", [{**one[0], "question": "x"}], {"x": "right"}), r"the set has no question 'x'"),
        (filled(tmp_path / "e.csv", [one[0], one[0]], {name: "right"}), r"row 3: a second verdict"),
        (filled(tmp_path / "f.csv", [{"question": name, "remark": ""}], {}, "remark"), r"no column 'verdict: …'"),
    )
    for (path, said), row in tabled(*cases):
        with row, pytest.raises(VivaError, match=said):
            told(command_of("build verify rate"), "cmmlu", path, "--data", data)
    with pytest.raises(VivaError, match="there already"):
        sheet(tmp_path / "s.csv", "cmmlu", "--data", data)
    with pytest.raises(VivaError, match=r"--ask 'nix'.*explanation, and the tags subject"):
        sheet(tmp_path / "n.csv", "cmmlu", "--data", data, "--ask", "nix")
