"""The eight published questions with special rules: answers that earn their points, and near misses."""

from rows import each_row
from thorough import LONG, SECONDS
from viva.benchmarks.infibench.handlers import AFTER_BLANKS, AFTER_KEYWORDS, CUSTOM
from viva.scorers.rubric.rubrics import Points
from within import within

ITEM = "<Form.Item name='a'><Switch /></Form.Item>"
COPY = 'document.execCommand("copy");'
LINT = "// eslint-disable-next-line react/display-name"
RIGHT_BUTTON = "<button form='my-form' type=\"submit\">Go</button>"
TOP = "<div class='border-t-2 border-b-0 border-l-0'"


@each_row(
    ("0-0-14", f"{ITEM}<span>x</span>", 2.0),
    ("0-0-14", "<Form.Item><Switch /><span>x</span></Form.Item>", 1.0),
    ("0-0-14", "<Form.Item><Switch /><span >x</Form.Item><span>", 1.0),
    ("0-0-14", "<Form.Item><Switch /><span>", 1.0),  # nothing closes the item
    ("0-0-14", f"</Form.Item>{ITEM}<span>x</span>", 1.0),  # it is closed before it is opened
    ("0-0-14", f"<Form.Item></Form.Item>{ITEM}<span>", 1.0),  # only the first one counts
    ("0-0-14", ITEM, 0.0),
    ("0-0-14", f"{ITEM}<span class='x'>", 0.0),
    ("0-0-26", f"{LINT}\nrender: (x) => x", 1.0),
    ("0-0-26", f"render: (x) => x\n{LINT}", 0.0),
    ("0-0-26", f"render: x\n{LINT}\nrender: y", 0.0),  # the first of each
    ("0-0-26", f"{LINT}\nrender:(x) => x", 0.0),
    ("0-0-26", LINT, 0.0),
    ("0-0-37", "```\npath: '/a/:b?/:c?'\n```", 1.0),
    ("0-0-37", "```/a/:b?/c/:d?```", 1.0),
    ("0-0-37", "```\n'/a/:b?/:b?'\n```", 0.0),
    ("0-0-37", "```\n'/a/:b?/:c?/:d?'\n```", 0.0),
    ("0-0-37", "```\n'/a/:b?/:c'\n```", 0.0),
    ("0-0-37", "'/a/:b?/:c?'", 0.0),
    ("0-0-37", "```/a/:b?/:c?", 0.0),
    ("0-0-37", "```x```/:b?/:c?```", 0.0),  # only the first fenced text
    ("0-0-37", "``````", 0.0),
    ("0-0-37", "```js\nconst a = 1 / 2\nx = '/:b?/:c?' ```", 1.0),
    ("0-0-37", "```':b?/:c?'```", 1.0),  # the first part is cut at its quote
    ("0-0-38", "a => { console.log(this.newIds) });", 1.0),
    ("0-0-38", "}); console.log(this.newIds)", 0.0),
    ("0-0-38", "}); console.log(this.newIds) });", 0.0),
    ("0-0-38", "console.log(this.newIds)", 0.0),
    ("0-0-38", "});", 0.0),
    ("0-0-39", RIGHT_BUTTON, 3.0),
    ("0-0-39", RIGHT_BUTTON.replace("my-form", "myform"), 1.0),
    ("0-0-39", RIGHT_BUTTON.replace('"submit"', "{submit}"), 1.0),
    ("0-0-39", "<button>Go</button>", 0.0),
    ("0-0-39", "<button form='my-form'\ntype='submit'>Go</button>", 0.0),  # attributes on one line
    ("0-0-39", "<button form='my-form' type='submit'>Go", 0.0),
    ("0-0-39", f"<button x>Out</button>\n{RIGHT_BUTTON}", 1.0),  # the first one takes all the text
    ("0-0-39", f"<button \n{RIGHT_BUTTON}", 3.0),
    ("0-0-39", f"<button x>Out</button> {RIGHT_BUTTON}", 3.0),  # on one line its attributes reach into the second
    ("0-2-153", f"{TOP} border-r-0'>", 2.0),
    ("0-2-153", "<div class='border-0 border-t'>", 3.0),
    ("0-2-153", "<div class='border-0 border-t-2'>", 3.0),
    ("0-2-153", "<div class='border-0 border-t-0'>", 0.0),
    ("0-2-153", "<div class='border-0'> border-t", 0.0),  # outside the brackets
    ("0-2-153", "<div class='border-t border-0'>", 0.0),  # in this order all are off
    ("0-2-153", "<div class='border-solid border-b-0 border-l-0 border-r-0'>", 2.0),
    ("0-2-153", "<div class='border border-b-0 border-l-0'>", 0.0),  # the right one is on
    ("0-2-153", "<div class='border-t border-b-0 border-l-0'>", 0.0),  # and here it is unknown
    ("0-2-153", "<div class='border-0 border-top'>", 0.0),
    ("0-2-153", "<div class='border-0 border-t-", 0.0),
    ("0-2-153", "<div class='border-0 border-t", 3.0),
    ("0-2-153", "<div class='border-0 border-t border-red-500'>", 3.0),
    ("0-2-153", "<div class='border-0 border-t border-red-500 border-x'>", 2.0),
    ("0-2-153", "", 0.0),
)
def test_an_answer_earns_these_points(question: str, text: str, points: float) -> None:
    found = CUSTOM[question](text)
    assert found.points == points
    assert found.details


@each_row(
    ((True, True, False, False), 2.0),
    ((True, False, False, False), 1.0),
    ((True, True, True, False), 1.0),
    ((True, True, True, True), 2.0),
    ((False, False, True, False), 0.0),
    ((), 0.0),
)
def test_a_deployment_is_two_settings_and_no_careless_deletion(matched: tuple[bool, ...], points: float) -> None:
    assert AFTER_KEYWORDS["0-0-1"](Points(4.0, 4.0, ("a",)), matched) == Points(points, 2.0, ("a",))


@each_row(
    ("matched: response string: navigator.clipboard.writeText(x), ans: .select()", 2.0),
    (f"unmatched: response string: a.select(); {COPY}, ans: x", 1.0),
    (f"unmatched: response string: navigator.clipboard.writeText; a.select(); {COPY}, ans: x", 2.0),
    (f"unmatched: response string: a.select(), ans: {COPY}", 0.0),
    ("unmatched: response string: , ans: navigator.clipboard.writeText", 0.0),
    ("unmatched: match rate too low - 0.5", 0.0),
    ("", 0.0),
)  # fmt: skip
def test_copying_counts_by_what_was_filled_in(detail: str, points: float) -> None:
    assert AFTER_BLANKS["0-0-21"](Points(2.0, 2.0), (detail,)) == Points(points, 2.0)


PIECES = ["<button ", "<button \n", "<button x", "<", "<border", "<border-t", "```", "/:a?", "<Form.Item", "});"]


@each_row(*PIECES)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    for ending in ("", "</button>", ">"):
        text = piece * (LONG // len(piece)) + ending
        with within(5 * SECONDS):
            for handler in CUSTOM.values():
                handler(text)
