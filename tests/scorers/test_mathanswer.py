"""Answers to mathematical problems: the same by value, and what must not be the same; labelled by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.scorers.formula import same_formula
from viva.scorers.mathanswer import same_answer
from within import within

SAME = [
    (r"\frac{3}{4}", "3/4", "0.75", r"\dfrac{3}{4}", r"\frac34", r"\(\frac{3}{4}\)", r"75\%"),
    (r"-\frac{1}{2}", "-1/2", "-0.5", r"\frac{-1}{2}", "−0.5", "- 1/2"),
    ("1,024", "1024", "1{,}024", "1 024", "1,024.0", "2^{10}", "1024 m", "+1024"),
    (r"10\%", "10%", "10", "0.1"),
    (r"\$32", "32", "$32$", "32 dollars", "$32.00", r"\text{\$32}"),
    (r"90^\circ", "90", "90°", "90 degrees", r"90^{\circ}"),
    (r"2\sqrt{2}", r"2 \sqrt{2}", r"\sqrt{8}", r"2\sqrt2", r"\frac{4}{\sqrt{2}}"),
    (r"72 + 72\sqrt{2}", r"72(1+\sqrt{2})", r"72\sqrt{2}+72"),
    ("x - 3z = 0", "x-3z=0", "2x = 6z"),
    ("2x+y+1=0", "y = -2x - 1"),
    ("x^2+7x+10", "(x+2)(x+5)", "10+7x+x^2", "x²+7x+10"),
    ("(3,4]", "(3, 4]", r"\left( 3,4 \right]", r"x \in (3,4]"),
    (r"\left(2,\frac12\right)", "(2, 1/2)", "(2, 0.5)"),
    (r"152A_{11}", "152A", "152A_11"),
    (r"\text{(A)}", "(A)", "A"),
    ("x=5", "5", "x = 5.0"),
    (r"40 \sqrt{2} \pi", r"40\pi\sqrt{2}"),
    (r"3\frac{1}{2}", "3.5", "7/2", "3 1/2"),
    (r"1.5 \times 10^{-7}", "1.5e-7", "1.5 × 10^-7", "0.00000015"),
    (r"12 \text{ cm}^2", "12", "12 cm", "12 cm²"),
    (r"\{1,2,3\}", r"\{3,2,1\}", r"\left\{1, 2, 3\right\}"),
    ("1, -2", "-2, 1", "1 and -2", r"-2 \text{ or } 1"),
    (r"\pm 2", "2, -2"),
    (r"y=\pm \sqrt{3} x", r"y=\sqrt{3}x, y=-\sqrt{3}x"),
    (r"\begin{pmatrix} 1/2 \\ 0 \end{pmatrix}", r"\begin{pmatrix}\frac{1}{2}\\0\end{pmatrix}"),
    (r"(-\infty, 2)\cup(3,\infty)", r"(-\infty,2) \cup (3,+\infty)"),
    ("1-5i", r"1 - 5 \mathrm{i}", "-5i+1"),
    ("$5$; $10$", "5; 10", "5, 10"),
    (r"1; $\frac{8}{9}$", "1; 8/9"),
    (r"\log_2 8", "3", r"\sqrt[3]{27}", r"\binom{3}{2}", "3!/2"),
    (r"\sin^2 x", r"(\sin x)^2", r"1-\cos^2 x"),
    ("(1,2),(3,4)", "(3,4), (1,2)"),
    ("36", "36种", "36 种.", "thirty-six"),
    (r"\text{Monday}", "monday", "Monday."),
    (r"\emptyset", r"\varnothing"),
    ("10000000001", "10,000,000,001"),
    (
        "5 cm",
        r"5\text{ cm}",
        r"5\,\mathrm{cm}",
        r"5 \mathrm{~cm}",
        "5cm",
        "5 centimeters",
        "5 CM.",
        "50 mm",
        "0.05 m",
        "5 厘米",
    ),
    ("5 cm", "5"),
    ("5", r"5\,\mathrm{cm}", r"5\ \mathrm{m}", "5 meters per second", r"5 \mathrm{~m} / \mathrm{s}^2"),
    ("12 cm^2", "12 square centimeters", "12 cm²", "12 sq. cm", "1200 mm^2", "12 平方厘米", "12 cm"),
    ("36 km/h", "10 m/s", "36 kilometers per hour", r"10\ \text{m s}^{-1}", "10 m s^{-1}", "10 m·s^-1"),
    ("90 minutes", "1.5 hours", r"\frac{3}{2} \text{ hours}", "1 1/2 h", "90 min", "5400 s"),
    (r"3.5 \times 10^5 \text{ J}", "350 kJ", "350000", "3.5e5 J"),
    ("1 foot", "12 inches", "0.3048 m"),
    ("2.5 kg", "2500 grams", "2.5 kilograms"),
    ("5 mW", "0.005 W"),
    ("5 MW", "5000 kW"),
    ("3 apples", "3 apple", "3"),
]
OTHER = [
    ("1024", "1.024", "1,0024", "1025"),
    ("10%", "1%", "100"),
    ("0.5", "50", "5"),
    (r"2\sqrt{2}", "2.828", r"-2\sqrt{2}"),
    (r"\frac{295}{396}", "0.745"),
    ("1/3", "0.333"),
    ("x^2+7x+10", "x^2+7x-10", "(x-2)(x-5)"),
    ("2x+y+1=0", "2x+y-1=0"),
    ("(3,4]", "[3,4]", "(3,4)", "3,4", "(4,3]"),
    ("(2,3)", "(3,2)", r"\{2,3\}", "2"),
    ("10_2", "2", "10_3"),
    ("5", "5x", "x=5,y=6"),
    ("x = 5", "y = 5"),
    ("12 cm", "12 m"),
    ("1,2", "1,3", "1"),
    ("$5$; $10$", "10; 5", "5"),
    ("8:30", "8.30"),
    ("7:3", "7/3"),
    (
        r"\begin{pmatrix} 1 \\ 0 \end{pmatrix}",
        r"\begin{pmatrix}0\\1\end{pmatrix}",
        r"\begin{pmatrix} 1 & 0 \end{pmatrix}",
    ),
    ("1-5i", "1+5i"),
    ("BD", "DB"),
    ("4x+3", "4y+3"),
    ("p - q", "q - p"),
    ("Evelyn", "Briana"),
    (r"\text{even}", "odd"),
    ("10,20,30", "102030"),
    ("10000000001", "10000000000"),
    ("0.1", "0.10000001"),
    ("5", "", " ", "{"),
    ("1/0", "2/0"),
    ("5 cm", "5 m", "5 kg", "50 cm", "5 cm/s", "500 mm", "50"),
    ("50 mm", "5"),
    ("12 cm^2", "0.12 m", "0.12 m^2", "12 cm^3", "12 m^2"),
    ("10 m/s", "10 km/h", "10 m/s^2", "10 m s", "10 s/m"),
    ("5 mW", "5 MW"),
    ("5 hours", "5 minutes"),
    ("3 apples", "3 pears"),
    ("5", "5 x", "5 x y"),
    (r"\frac{1}{2} m v^2", r"\frac{1}{2}"),
    ("6 am", "6 pm"),
    ("$5", "5 cm + 1"),
]
PIECES = st.lists(
    st.sampled_from(
        [
            *"0123456789xyi+-*/^_(){}[]|!,;=.% $\\",
            r"\frac",
            r"\sqrt",
            r"\pm",
            r"\text{",
            r"\cup",
            "12",
            r"\left(",
            r"\pi",
        ]
    ),
    max_size=24,
).map("".join)


def test_answers_are_the_same_by_value() -> None:
    with table() as row:
        for gold, *others in SAME:
            for said in (gold, *others):
                with row(f"{gold} and {said}"):
                    assert same_answer(said, [gold]) == gold
                    assert same_answer(gold, [said]) == said


def test_other_answers_are_not() -> None:
    with table() as row:
        for gold, *others in OTHER:
            for said in others:
                with row(f"{gold} and {said}"):
                    assert same_answer(said, [gold]) is None


def test_a_number_may_be_off_by_the_tolerance() -> None:
    assert same_answer("3.14", [r"\pi"], 0.01) == r"\pi"
    assert same_answer("3.1", [r"\pi"], 0.01) is None
    assert same_answer("0.333", ["1/3"], 0.001) == "1/3"


@given(PIECES, PIECES)
def test_any_two_texts_are_compared(one: str, other: str) -> None:
    assert same_answer(one, [other]) in (None, other)
    assert (same_answer(one, [other]) is None) == (same_answer(other, [one]) is None)
    if one.strip():
        assert same_answer(one, [one]) == one


def test_a_sentence_with_a_relation_is_compared() -> None:
    said = r"The solution to the inequality is \( x \in (-6, 10) \)."
    assert same_answer(said, ["(-5, 10)"]) is None
    assert same_answer(said, [r"the set x \in (-6, 9)"]) is None


def test_a_hostile_formula_costs_little() -> None:
    for text in (
        "(" * 390,
        "9^" * 190 + "9",
        "-" * 390 + "1",
        r"\frac" * 70,
        "1!" + "!" * 380,
        "1 " + "km^9 " * 76,
        "1 " + "m/" * 190,
        "|" * 391,
        r"\pm" * 300,
        r"\{" + ",".join(r"\{" + ",".join(f"{6 * at + one}" for one in range(6)) + r"\}" for at in range(6)) + r"\}",
    ):
        with within(1):
            same_answer(text, ["1"])
            same_answer(text, [text[::-1]])
            assert not same_formula(text, "7")
