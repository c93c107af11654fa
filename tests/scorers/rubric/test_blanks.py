"""Blanks: the text filled in, and whether it is accepted."""

import pytest

from rows import each_row, tables_beside
from viva.scorers.rubric.blanks import BlanksError, fill_in, grade_blanks
from viva.scorers.rubric.patterns import PatternError
from viva.scorers.rubric.rubrics import Accepted, Blank, Blanks

TABLES = tables_beside(__file__)

TEMPLATE = "Use [blank] to open the file,\nthen [blank] to close it.\n"


def blanks(*accepted: str | Blank, template: str = TEMPLATE, **settings: str) -> Blanks:
    targets = tuple(each if isinstance(each, Blank) else Blank(accepted=(Accepted(each),)) for each in accepted)
    return Blanks(template=template, targets=targets, **settings)


def filled(text: str, template: str = TEMPLATE, *, published: bool = False, **settings: str) -> list[str]:
    count = template.count(settings.get("marker", "[blank]"))
    rubric = blanks(*[""] * count, template=template, **settings)
    return [each.text for each in fill_in(rubric, text, published=published)]


def grade(target: Blank, word: str) -> tuple[float, str]:
    points, details = grade_blanks(
        blanks(target, template="Please call it [blank] from now on.\n"), f"Please call it {word} from now on.\n"
    )
    assert points.details == details
    return points.points, details[0]


@each_row(
    ("Use open() to open the file,\nthen close() to close it.\n", ["open()", "close()"]),
    ("Sure!\n\nUse `open` to open the file,\nthen 'shut' to close it.\n\nGood luck.", ["open", "shut"]),
    ("Use [open] to open the file,\nthen [blank] to close it.\n", ["[open]", "[blank]"]),
    ("Use to open the file,\nthen to close it.\n", ["", ""]),
    ("Use to to open the file,\nthen 关闭 to close it.\n", ["to", "关闭"]),
    ("Use 😀 to open the file,\nthen x\ny to close it.\n", ["😀", "x\ny"]),
)
def test_what_was_filled_in_is_found(text, found):
    assert filled(text) == found


def test_an_answer_that_says_something_else_has_filled_in_nothing():
    points, details = grade_blanks(blanks("", ""), "I cannot help with that.")
    assert (points.points, points.total) == (0.0, 2.0)
    assert all(detail.startswith("unmatched: match rate too low - 0.") for detail in details)
    targets = [Blank(accepted=(Accepted("x"),), weight=weight) for weight in (0.5, 0.25)]
    points, _ = grade_blanks(blanks(*targets), "Use x to open the file,\nthen y to close it.\n")
    assert (points.points, points.total) == (0.5, 0.75), "weights are added"
    target = Blank(accepted=(Accepted("One"), Accepted("Two"), Accepted("Three")), ignore_case=True)
    assert grade(target, "TWO")[1] == "matched: response string: TWO, ans: Two"
    assert grade(target, "Four")[1] == "unmatched: response string: Four, ans: Three", "or else the last"


@each_row(
    ("012345678[blank]9", "0123456789", 1.0, 1.0),
    ("01234567__[blank]\n", "01234567x", 0.0, 8 / 11),
    ("01234567_[blank]\n", "01234567x", 0.0, 8 / 10),
    ("0[blank]1", "0[blank]1", 1.0, 4.5),  # the marker repeated, too
    ("We use [blank] to open it.", "we use x to shut it!", 9 / 14, 13 / 19),
)
def test_the_rate_is_the_part_of_the_template_that_is_repeated(template, text, rate, as_published):
    rubric = blanks("x", template=template, strip="\n")
    assert fill_in(rubric, text)[0].rate == rate
    assert fill_in(rubric, text, published=True)[0].rate == as_published


def test_four_fifths_of_the_template_are_enough():
    rubric = blanks("x", template="01234[blank]56789")
    for published in (False, True):
        assert grade_blanks(rubric, "01234x567", published=published)[1] == ("matched: response string: x, ans: x",)
        assert grade_blanks(rubric, "01234x56", published=published)[1] == ("unmatched: match rate too low - 0.7",)


ENDS = "It is called [blank] from now on.\n"


@each_row(
    ("a = <<x>>;", "a = ___;", {"marker": "___", "strip": "<>"}, "x"),
    ('a = "`x`";', "a = [blank];", {}, "x"),
    ('a = "`x`";', "a = [blank];", {"strip": ""}, '"`x`"'),
    ("It is called a b from now on.\n", ENDS, {}, "a b"),
    ("It is called a b from now on.\n", ENDS, {"published": True}, "b"),  # the text before is found as late as possible
    ("one two three", "[blank] three", {}, "one two"),
    ("one two three", "[blank] three", {"published": True}, "ne two"),  # it begins after the marker
    ("Of course. one two three", "[blank] three", {}, "one two"),
)
def test_marker_and_stripping_are_the_questions_and_the_published_reading_is_its_own(text, template, settings, found):
    assert filled(text, template, **settings) == [found]


@each_row(
    "You only need to modify the `{}` property in your `{}` file --- set the base",
    "You only need to modify the ``{}`` property in your ``{}`` file --- set the base",
    "You only need to modify the **{}** property in your **`{}`**, --- set the base",
    "You only need to modify `{}`, property in your `{}`: --- set the base",
    "You only need to modify the the `{}` property in your own `{}` config file --- set the base",
    "You only need to modify [{}] property in your the {}, --- set the base",
)
def test_an_article_a_comma_and_a_noun_around_a_term_are_no_part_of_it(text):
    template = "You only need to modify [blank] property in your [blank] --- set the base"
    rubric = blanks("baseUrl", "tsconfig.json", template=template)
    details = grade_blanks(rubric, text.replace("own ", "").format("baseUrl", "tsconfig.json"))[1]
    assert all(detail.startswith("matched") for detail in details), details
    for wrong in ("other", "tsconfig.json` and not `jsconfig", "tsconfig", "not `tsconfig.json`"):
        assert grade_blanks(rubric, text.format("baseUrl", wrong))[1][1].startswith("unmatched"), wrong


def test_a_list_with_a_comma_before_and():
    names = Accepted("ElevatedButton"), Accepted("TextButton"), Accepted("OutlinedButton")
    template = "You can use [blank], [blank] and [blank] that are not deprecated button themes."
    rubric = blanks(*[Blank(accepted=names)] * 3, template=template)
    for mark in ("`", "", "**", "``"):
        text = template.replace("[blank] and", "[blank], and")
        for name in names:
            text = text.replace("[blank]", f"{mark}{name.text}{mark}", 1)
        assert grade_blanks(rubric, text)[0].points == 3.0, mark


def test_the_sentence_before_a_block_may_be_missing_where_all_blanks_are_in_the_block():
    template = "You can rewrite the code as follows here: ```go\npackage main;\n[blank]\nmessage Person { }\n```"
    rubric = blanks("option x = 1;", template=template)
    block = "```go\npackage main;\noption x = 1;\nmessage Person { }\n```"
    for text in (block, block.replace("```go", "").replace("```", ""), f"Sure:\n\n{block}\n\nIt names the package."):
        assert grade_blanks(rubric, text)[0].points == 1.0, text
        assert grade_blanks(rubric, text.replace("message Person", "enum"))[0].points == 0.0, text
    outside = blanks("x", "option x = 1;", template="The [blank] is " + template)
    assert grade_blanks(outside, block)[0].points == 0.0


@each_row(*TABLES["anchored"])
def test_the_text_around_blanks_is_their_anchor(template, text, found):
    assert filled(text, template) == [*found]


@each_row(
    *(("open file", word, 1.0) for word in (
        "**open file**", "`open file`", "***open file***", '_"open file"_', "**`open file`**", "open\n file",
        "'open file'",
    )),
    *(("open file", word, 0.0) for word in (
        "open **file**", "*open file", "reopen file", "openfile", "**open** not open file",
    )),
    ("__init__", "__init__", 1.0),
)  # fmt: skip
def test_emphasis_quotes_and_line_breaks_around_what_was_filled_in_do_not_count(accepted, word, points):
    assert grade(Blank(accepted=(Accepted(accepted),)), word)[0] == points


@each_row(
    (Blank(accepted=(Accepted("open"),)), "open", True),
    (Blank(accepted=(Accepted("open"),)), "reopen", False),
    (Blank(accepted=(Accepted("open"),)), "Open", False),
    (Blank(accepted=(Accepted("Open"),), ignore_case=True), "oPEN", True),
    (Blank(accepted=(Accepted("open"),), substring=True), "reopen", True),
    (Blank(accepted=(Accepted("Open"),), substring=True, ignore_case=True), "reOPEN", True),
    (Blank(accepted=(Accepted("x"), Accepted("open"))), "open", True),
    (Blank(accepted=(Accepted("o.*n", regex=True),)), "open", True),
    (Blank(accepted=(Accepted("o.*n", regex=True),)), "opened", False),
    (Blank(accepted=(Accepted("o.*n", regex=True),), substring=True), "reopened", True),
    (Blank(accepted=(Accepted("O.*N", regex=True),)), "open", False),
    (Blank(accepted=(Accepted("O.*N", regex=True),), ignore_case=True), "open", True),
    (Blank(accepted=(Accepted("O\\S*N", regex=True),), ignore_case=True), "Open", True),
    (Blank(accepted=(Accepted("O\\S*N", regex=True),), ignore_case=True, fold_pattern=True), "Open", False),
    (Blank(accepted=(Accepted("O\\S*N", regex=True),), ignore_case=True, fold_pattern=True), "o\tn", True),
    (Blank(accepted=()), "open", False),
)
def test_what_is_accepted(target, word, matched):
    points, detail = grade(target, word)
    assert points == float(matched)
    tried = [each.text for each in target.accepted]
    assert detail.startswith(("unmatched: ", "matched: ")[matched] + f"response string: {word}, ans: ")
    assert detail.rpartition(", ans: ")[2] in (tried or [""])


@each_row(
    (blanks("x"), r"2 blanks .* and 1 accepted"),
    (blanks("x", "y", template="[blank][blank]"), "no text around"),
    (blanks(template=""), "no text around"),
    (blanks("x", template="it is [blank]"), "ends with a blank"),
    (blanks("x", template="text", marker=""), "marker of a blank is empty"),
    (blanks("b", template="aaaaax", marker="aa"), "2 blanks"),  # which do not overlap
)
def test_templates_that_cannot_be_graded_with_are_refused(rubric, said):
    with pytest.raises(BlanksError, match=said):
        fill_in(rubric, "it is x")
    with pytest.raises(PatternError):
        grade(Blank(accepted=(Accepted("(", regex=True),)), "x")
