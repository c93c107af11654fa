"""Which blocks of an answer are the program, each with a near miss that is wrong; programs that solve nothing."""

import ast

import pytest

from rows import each_row, table
from viva.scorers.rubric.code import assemble, extract_code
from viva.scorers.rubric.programblocks import functions, values, without_examples
from viva.scorers.rubric.rubrics import Test as UnitTest
from viva.scorers.rubric.trivial import trivial_programs
from viva.types import Call

AREA = "def area(w, h):\n    return w * h"
TEST = "assert area(2, 3) == 6"
LONG = "\n".join(f"row {number}" for number in range(9))


def fenced(code: str, tag: str = "python") -> str:
    return f"```{tag}\n{code}\n```"


GO = "func area(w, h int) int {\n\treturn w * h\n}"
GO_TYPED = "type Side int"
GO_OTHER = "func area(w, h int) int {\n\treturn h * w\n}"
SIDE = GO.replace("int {", "Side {")
CLIENT = "var c Client\nif len(c.names) > 0 { panic(1) }"


def indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.split("\n"))


@each_row(
    ("a longer block was cut off", f"{fenced(AREA)}\n\nIn full:\n\n```python\nsizes = [\n    1,\n    2,\n", AREA),
    ("the only definition was cut off behind", f"{fenced('pip install x', '')}\n```python\n{AREA}\n", f"{AREA}\n"),
    ("a printed table is longer", f"{fenced(LONG, '')}\n{fenced(AREA)}", AREA),
    ("a shell session is longer", f"{fenced(LONG, 'bash')}\n{fenced(AREA)}", AREA),
    ("a usage example is longer", f"{fenced(AREA)}\n{fenced('w = 1' + chr(10) * 5 + 'print(area(w, 2))')}", AREA),
    ("a session shows it", f"{fenced('area = 1')}\n{fenced('>>> a = 1' + chr(10) + '>>> area = 2')}", "area = 1"),
    ("the question's code first", f"Yours:\n{fenced('w, h = 1, 2' + chr(10) * 5)}\nMine:\n{fenced(AREA)}", AREA),
    ("nothing defines it: the longest", f"{fenced('a = 1')}\n{fenced('b = 1' + chr(10) + 'c = 2')}", "b = 1\nc = 2"),
)
def test_the_block_that_defines_what_the_test_mentions_is_the_longest_one(why: str, answer: str, code: str) -> None:
    assert extract_code(answer, "python", longest_only=True, test=TEST) == code


@each_row(
    ("alternatives: the first", f"{fenced(GO, 'go')}\nAlternatively:\n{fenced(GO_OTHER, 'go')}", GO),
    ("an option 2: the first", f"{fenced(GO, 'go')}\n\n**Option 2**\n\n{fenced(GO_OTHER, 'go')}", GO),
    ("a correction: the last", f"{fenced(GO_OTHER, 'go')}\nOops, wrong. Corrected:\n{fenced(GO, 'go')}", GO),
    ("said again: the last", f"{fenced(GO_OTHER, 'go')}\nAll of it:\n{fenced(GO, 'go')}", GO),
    ("a corrected alternative: the last", f"{fenced(GO_OTHER, 'go')}\nAnother mistake fixed:\n{fenced(GO, 'go')}", GO),
    ("statements that show its use go", f"{fenced(GO, 'go')}\nUse:\n{fenced('x := area(1, 2)', 'go')}", GO),
    ("what it needs stays", f"{fenced(GO_TYPED, 'go')}\n{fenced(SIDE, 'go')}", f"{GO_TYPED}\n\n{SIDE}"),
    ("imports stay", f"{fenced('import math', 'go')}\n{fenced(GO, 'go')}", f"import math\n\n{GO}"),
    ("cut off", f"{fenced(GO, 'go')}\n```go\nfunc main() {{\n\tarea(", GO),
    ("only this, and cut off", "```go\nfunc area(w, h int) int {\n\tret", "func area(w, h int) int {\n\tret"),
)
def test_blocks_are_joined_without_alternatives_and_examples(why: str, answer: str, code: str) -> None:
    assert extract_code(answer, "go", test="if area(1, 2) != 2 { os.Exit(1) }") == code


def test_a_test_of_calls_names_what_it_needs() -> None:
    answer = f"{fenced('def area(w, h):' + chr(10) + '    return 0')}\nFixed:\n{fenced(AREA)}\n{fenced('print(area)')}"
    test = UnitTest(code="", calls=(Call(call="area", args=(2, 3), returns=6),), longest_only=False)
    assert assemble(test, answer, "python")[0].endswith(f"\n{AREA}")


@pytest.mark.parametrize("wrong", [False, True])
@each_row(
    ("glued", f"Use `w * h` like this:```python\n{AREA}\n```\nDone."),
    ("glued to a word", f"the code```python\n{AREA}\n```"),
    ("HTML", f"<p>So:</p>\n<pre><code class='language-python'>{AREA}\n</code></pre>\n<p>Ok.</p>"),
    ("HTML's entities", "<pre>\ndef area(w, h):\n    return w * h if w &lt; 9 else w * h\n</pre>"),
    ("indented", "It is this:\n\n    def area(w, h):\n        return w * h\n\nThat is all."),
    ("indented, two blocks", f"You need:\n\n    import math\n\nThen write:\n\n{indented(AREA)}"),
    ("between prose", f"Sure, here it is:\n\n{AREA}\n\nYou can call it with `area(2, 3)`, which gives 6 (w=2)."),
    ("indented, behind a name as code", f"`area` is short.\n\n{indented(AREA)}\nThat is all."),
    ("an example that reads a file", fenced(f"{AREA}\n\ntable = open('sizes.csv')\nprint(area(table, 2))")),
    ("between prose, a list behind", f"Here you go.\n\n{AREA}\n\n- `w` is the width\n- `h` is the height = 3"),
    ("an example that reads input", fenced(f"{AREA}\n\nw = int(input('w? '))\nprint(area(w, 2))")),
    ("a main that reads input", fenced(f"{AREA}\n\ndef main():\n    print(area(int(input()), 2))\n\nmain()")),
    ("a loop that reads lines", fenced(f"import sys\n{AREA}\n\nfor line in sys.stdin:\n    print(area(int(line), 1))")),
)
def test_a_function_passes_in_every_layout_and_a_wrong_one_in_none(why: str, answer: str, *, wrong: bool) -> None:
    text = answer.replace("w * h", "w + h") if wrong else answer
    program, test = assemble(UnitTest(code=TEST, longest_only=False), text, "python")
    if wrong:
        with pytest.raises(AssertionError):
            exec(f"{program}\n{test}", {})
    else:
        exec(f"{program}\n{test}", {})


UNTOUCHED = [
    ("no function", "w = input()", "print(w)"),
    ("no Python", "def f(): pass\nw = input(", "f()"),
    ("two on a line", "def f(): pass\nx = 1; w = input()", "f()"),
    ("a function that reads is the function's own doing", "def f():\n    return input()", "f()"),
    ("a word only", "def f(input):\n    return input\nx = f(1)", "f()"),
    ("the test needs it", "def f(x): pass\nw = open('w')", "f(w)"),
    ("the function needs it", "def f(x): return x + w\nw = open('w')", "f(1)"),
    ("a name that the test's side gives", "def f(x): pass\nf(np.ones(3), given)", "f(1)"),
    ("names of its own", "def f(x): pass\nfor n in [1]:\n    f([m for m in [n]], key=lambda k: k)", "f(1)"),
]
EXAMPLES = [
    ("the test's own w is another", "def f(w): pass", "w = input()\nf(w)", "def g(w): return f(w)\ng(1)"),
    ("what depends on it", "def f(w): pass\ny = 1", "w = input()\nx = w\nprint(x)", "f(1)"),
    ("a file", "def f(w): pass", "df = pd.read_csv('x.csv')\nprint(f(df))", "f(1)"),
    ("a name that nothing defines", "def f(w): pass", "t = load_all()\nprint(f(t))", "f(1)"),
    ("a test that is no Python", "def f(w): pass", "w = input()", "(f"),
]


def test_examples_that_cannot_work_here_are_no_part_of_the_program_unless_something_needs_them() -> None:
    with table() as row:
        for why, code, test in UNTOUCHED:
            with row(why):
                assert without_examples(code, test, "import numpy as np given") == code
        for why, code, example, test in EXAMPLES:
            with row(why):
                assert without_examples(f"{code}\n{example}", test, "import pandas as pd") == code


@each_row(
    ("async def a(x):\n    b = 1", {"a"}, set()),
    ("export default function a() {}\nconst b = async (x) => x;\nlet c = 3;", {"a", "b"}, {"b", "c"}),
    ("function* a() {}\nclass B extends C {}", {"a", "B"}, set()),
    ("public static <T> List<T> a(Map<String, T> m) throws IOException {", {"a"}, set()),
    ("std::vector<int> a(int n, int m) {\n  for (int i = 0; i < n; i++) {\n", {"a"}, set()),
    ("int* a(int n)\n{", {"a"}, set()),
    ("func (r *Reader) a(n int) (int, error) {\ntype B struct {", {"a", "B"}, set()),
    ("a <- function(df) {\n  b <- 1\n}\nc <- 2\nd = \\(x) x", {"a", "d"}, {"a", "c", "d"}),
    ("type A = {\n  [key in B]: number;\n}\ninterface C {", {"A", "C"}, {"A"}),
    ("def self.a(x)\nmodule B\nend", {"a", "B"}, set()),
    ("if (x) {\n} else if (y) {\n  return a(b) {", set(), set()),
    ("a == b\na(b)\nx.y = 1", set(), set()),
    ("a = lambda x: x\nb: int = 3\nList<int> c = 1", {"a"}, {"a", "b", "c"}),
)
def test_what_a_text_defines(code: str, of_functions: set[str], of_values: set[str]) -> None:
    assert functions(code) == of_functions
    assert values(code) >= of_values


@each_row(
    ("python", "assert solve(3) == 4", "def solve("),
    ("python", "from m import g\ndef f(x):\n    return x\nassert f(1) == g(1) == twice(1)", "def twice("),
    ("python", "assert all(x > 2 for x in chosen)", "chosen = []"),
    ("python", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    assert e\n", ""),
    ("javascript", "assert.equal(add(1, 2), 3)", "function add("),
    ("typescript", "// add(1)\nconst v: Kinds = { a: 1 }", ""),
    ("r", "f <- function(x) x\nstopifnot(f(1) == half(2))", "half <- function("),
    ("ruby", "raise unless half(2) == 1", "def half("),
    ("go", CLIENT, "type Client struct{}"),
    ("cpp", "int main() {\n    Shape s;\n    return area(s);\n}", "struct Shape"),
    ("cpp", "// compilable", "int main()"),
    ("java", "", "public class Main"),
)
def test_a_program_that_solves_nothing_has_what_the_test_leaves_to_it(language: str, test: str, made: str) -> None:
    programs = trivial_programs(language, test)
    assert programs
    assert all(made in program if made else not program for program in programs.values()), programs


def test_a_python_test_is_tried_with_each_thing_that_solves_nothing() -> None:
    programs = trivial_programs("python", "assert Box().wide(2).high(3).volume == 6 and size(7) == 7")
    returned = ("False", "None", "the last that it is given", "what it is given")
    assert sorted(programs) == ["has methods that return it", *(f"returns {what}" for what in returned)]
    for program in programs.values():
        ast.parse(program)
    made: dict[str, object] = {}
    exec(programs["has methods that return it"] + "\nbox = Box().wide(2).high(3)", made)
    assert isinstance(made["box"], made["size"])  # type: ignore[arg-type]
