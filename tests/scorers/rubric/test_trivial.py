"""Programs that solve nothing, made for a test."""

import ast

from rows import each_row
from viva.scorers.rubric.trivial import trivial_programs

GO = "var c Client\nif len(c.names) > 0 { panic(1) }"


@each_row(
    ("python", "assert solve(3) == 4", "def solve("),
    ("python", "from m import g\ndef f(x):\n    return x\nassert f(1) == g(1) == twice(1)", "def twice("),
    ("python", "assert all(x > 2 for x in chosen)", "chosen = []"),
    ("python", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    assert e\n", ""),
    ("javascript", "assert.equal(add(1, 2), 3)", "function add("),
    ("typescript", "// add(1)\nconst v: Kinds = { a: 1 }", ""),
    ("r", "f <- function(x) x\nstopifnot(f(1) == half(2))", "half <- function("),
    ("ruby", "raise unless half(2) == 1", "def half("),
    ("go", GO, "type Client struct{}"),
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
    assert sorted(programs) == [
        "has methods that return it",
        "returns False",
        "returns None",
        "returns the last that it is given",
        "returns what it is given",
    ]
    for program in programs.values():
        ast.parse(program)
    made: dict[str, object] = {}
    exec(programs["has methods that return it"] + "\nbox = Box().wide(2).high(3)", made)
    assert isinstance(made["box"], made["size"])  # type: ignore[arg-type]
