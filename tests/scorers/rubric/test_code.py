"""Code in answers: as extracted by a Markdown reader, and by the authors' grader."""

import itertools

import pytest

from rows import each_row, tabled
from scorers.rubric.test_program import fenced
from thorough import LONG
from viva.scorers.rubric.code import assemble, canonical, extract_code
from viva.scorers.rubric.fences import read_blocks
from viva.scorers.rubric.rubrics import Test as UnitTest
from within import within

DOCUMENTED = "def f():\n    '''\n    ```\n    f()\n    ```\n    '''"
ADD = "def add(a, b):\n    return a + b"


# --- names of languages ---


@each_row(
    ("C++", "cpp"), ("c", "cpp"), ("c/c++", "cpp"), ("c++/c", "cpp"), ("JS", "javascript"), ("ts", "typescript"),
    ("C#", "csharp"), ("R", "r"), ("golang", "go"), (" python3 ", "python"), ("bash", "bash"), ("Vba", "vba"),
)  # fmt: skip
def test_a_language_is_known_by_all_its_names(name, canonical_name) -> None:
    assert canonical(name) == canonical_name


# --- as a reader takes it ---


def test_a_reader_finds_the_code_behind() -> None:
    answers = (
        ("a fence", fenced(ADD)),
        ("a fence between sentences", f"Here it is:\n\n{fenced(ADD)}\n\nIt adds (a + b)."),
        ("no language at the fence", fenced(ADD, "")),
        ("a language nobody knows", fenced(ADD, "my-tag")),
        ("attributes behind the language", fenced(ADD, 'python title="add.py"')),
        ("R Markdown's braces", fenced(ADD, "{python}")),
        ("four backticks", f"````python\n{ADD}\n````"),
        ("more backticks at the end", f"```python\n{ADD}\n`````"),
        ("tildes", f"~~~python\n{ADD}\n~~~"),
        ("two backticks", f"``python\n{ADD}\n``"),
        ("a single backtick", f"`\n{ADD}\n`"),
        ("upper case", fenced(ADD, "Python")),
        ("a cut-off answer", f"Sure!\n\n```python\n{ADD}"),
        ("a cut-off answer, the fence half there", f"```python\n{ADD}\n``"),
        ("a closing fence behind the code", f"```python\n{ADD}```"),
        ("an opening fence behind words", f"The function: ```python\n{ADD}\n```"),
        ("a list item", "1. Write this:\n\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n"),
        ("a fence at a list mark", "- ```python\n  def add(a, b):\n      return a + b\n  ```"),
        ("a quotation", "> ```python\n> def add(a, b):\n>     return a + b\n> ```"),
        ("carriage returns", fenced(ADD).replace("\n", "\r\n")),
        ("thinking before it", f"<think>\n```python\nwrong()\n```\n</think>\n{fenced(ADD)}"),
        ("a shell command before it", f"```bash\npip install x\n```\n{fenced(ADD)}"),
        ("its output behind it", f"{fenced(ADD)}\n\n```\n3\n```"),
        ("a session", fenced(">>> def add(a, b):\n...     return a + b\n...\nadded")),
        ("a session without a fence", ">>> def add(a, b):\n...     return a + b\nadded"),
        ("a session of IPython", fenced("In [1]: def add(a, b):\n   ...:     return a + b\n   ...: \nOut[1]: 3")),
        ("commands", fenced(f"!pip install x\n%matplotlib inline\n$ ls\npython -m pip install y\n{ADD}")),
        ("changes", fenced("@@ -1 +1 @@\n def add(a, b):\n-    return 0\n+    return a + b\n\\ No newline", "diff")),
        ("a whole answer in a fence of Markdown", f"```markdown\nSo:\n\n{fenced(ADD)}\n\nDone.\n```"),
        ("LaTeX", f"\\begin{{code}}\n{ADD}\n\\end{{code}}"),
        ("no fence", ADD),
        ("no fence, sentences around", f"Sure! This adds:\n\n{ADD}\n\nHope this helps."),
        ("a byte order mark", f"\ufeff{ADD}"),
    )
    for (_why, answer), row in tabled(*answers):
        with row:
            assert extract_code(answer, "python").strip("\n") == ADD


def test_blocks_are_put_together_and_left_out_where() -> None:
    answers = (
        ("two blocks are one program", f"{fenced('import os')}\nand\n{fenced(ADD)}", f"import os\n\n{ADD}"),
        ("one line", "Use ```python x = 1``` here.", "x = 1"),
        ("one line without a language", "Use ```x = 1``` here.", "x = 1"),
        ("an inline answer", "`x = 1`", "x = 1"),
        ("a fence inside a docstring", fenced(DOCUMENTED), DOCUMENTED),
        ("backticks inside tildes", "~~~python\nx = '''\n```\n'''\n~~~", "x = '''\n```\n'''"),
        ("an indented body", "    return a + b\n", "    return a + b\n"),
        ("an indented body with a word behind", "    return a + b\n\nThat is all.", "    return a + b\n"),
        ("other languages only", fenced("ls", "bash"), "ls"),
        ("an unfinished second block", f"{fenced(ADD)}\n\n```\nThen run it", ADD),
        ("an unfinished second block that is code", f"{fenced(ADD)}\n\n```python\nadd(1, 2)", f"{ADD}\n\nadd(1, 2)"),
        ("an empty fence", "```python\n```", ""),
        ("nothing", "", ""),
        ("unfinished thinking", "<think>```python\nx\n```", ""),
        ("python code that is not python, no fence", "x := 1;", "x := 1;"),
        ("a body with what looks so", fenced("    return '''\n!x\n'''"), "    return '''\n!x\n'''"),
        ("what only looks like commands", fenced(f"s = '''\n!x\n>>> x\n'''\n{ADD}"), f"s = '''\n!x\n>>> x\n'''\n{ADD}"),
    )
    of_javascript = (  # without fences code ends where what was open before it is closed
        ("a body: it continues an open function", "  return a;\n}\n\nfunction main() {}", "  return a;\n}"),
        ("a whole", "const f = x => {\n  return x\n}\nconst g = 1", "const f = x => {\n  return x\n}\nconst g = 1"),
        ("between prose", "Use this:\nconst f = 1;\nThat is all.", "const f = 1;"),
        ("a module", fenced("import a from 'a'\nexport let f\nexport { f };", "js"), "const a = require('a')\nlet f\n"),
        ("a template", fenced("`\nimport a from 'a'\nexport let f`", "js"), "`\nimport a from 'a'\nexport let f`"),
        ("a page", fenced('<p>\n<script src="x"></script>\n<script>\nf()</script>', "html"), "\nf()"),
        ("a session", fenced("> function f() {\n... }\nundefined\n> f()", "js"), "function f() {\n}\nf()"),
    )
    assert extract_code("```js\nlet x = 1\n```\n```bash\nnpm i\n```", "typescript") == "let x = 1", "as if it were"
    longest = "\n".join([fenced("a\nb"), fenced("c\nd\ne"), fenced("f\ng\nh"), fenced("i" * 50)])
    for published in (False, True):  # the one with most lines, and the first of equals
        assert extract_code(longest, "python", longest_only=True, published=published) == "c\nd\ne"
    for language, rows in (("python", answers), ("javascript", of_javascript)):
        for (_why, answer, code), row in tabled(*rows):
            with row:
                assert extract_code(answer, language) == code


# --- as published ---


@each_row(
    ("blocks are joined by an empty line", "python", "```\na\n```\nor\n```\nb\n```", "a\n\nb"),
    ("an unpaired fence is dropped", "python", "```\na\n```\n```\nb", "a"),
    ("one line: nothing", "python", "Use ```x = 1``` here", ""),
    ("any line with backticks is a fence", "python", "see ```\na\n# ```\nb\n```\nc", "a"),
    ("LaTeX counts", "python", "\\begin{code}\na\n\\end{code}", "a"),
    ("three backticks of four", "python", "````\na\n````", "a"),
    ("tildes are nothing", "r", "~~~\na\n~~~", "~~~\na\n~~~"),
    ("an ordinary unfenced answer is lost", "python", "\n" + ADD, ""),
    ("an unfenced body stays", "python", "\n    return 1\n\nDone", "\n    return 1\n"),
    ("a body ends at a function", "python", "\n    return 1\ndef f():\n    x", "\n    return 1"),
    ("a tab is an indent", "python", "\n\treturn 1\n\nx", "\n\treturn 1\n"),
    ("braces", "javascript", "\nreturn 1;\n}\nlog()", "\nreturn 1;\n}"),
    ("braces that balance", "javascript", "\nf = () => {}\ng()", "\nf = () => {}"),
    ("no braces", "cpp", "\nint x;", "\nint x;"),
    ("go stops", "go", "\nx := 1\n}\n\nfunc main() {", "\nx := 1\n}"),
    ("go stops in the middle of a line", "go", "\n}\ntype a struct {", "\n}"),
    ("java closes two", "java", "\nreturn 1; } }\nrest", "\nreturn 1; } }"),
    ("java loses its main", "java", "\nint f() {}\npublic static void main() { f(); }", "\nint f() {}\n}"),
    ("java gets a missing brace", "java", "\nclass A { int f() {}\n//", "\nclass A { int f() {}\n}"),
    ("rust", "rust", "\nfn f() {}\nlet x", "\nfn f() {}"),
    ("others stay", "typescript", "\nlet x = {}\nrest", "\nlet x = {}\nrest"),
    ("a language nobody knows", "cobol", "\nMOVE 1 TO X.", "\nMOVE 1 TO X."),
)
def test_the_published_reading(why, language, answer, code) -> None:
    assert extract_code(answer, language, published=True) == code


# --- programs ---


def test_imports_from_the_future_come_first() -> None:
    code = "from __future__ import annotations\nx: Y = 1"
    for published in (False, True):
        program, after = assemble(UnitTest(code=code), fenced(code), "python", published=published)
        assert after == code, "it may be compiled apart"
        assert program.startswith("from __future__ import annotations\n")
        assert program.count("__future__") == 1
        compile(program, "program", "exec")
    program = assemble(UnitTest(code="using B;\nt"), fenced("#define X\nusing A;\n#if Y\nusing Z;\n#endif", "cs"), "c#")
    assert program == ("#define X\nusing A;\nusing B;\n#if Y\nusing Z;\n#endif", "t")


PREFIXED = UnitTest(code="assert xs", prefix="xs = [1]")


@each_row(
    (PREFIXED, fenced("ys = 2"), "python", True, "ys = 2", "xs = [1]"),  # lost with fences as published
    (PREFIXED, fenced("ys = 2"), "python", False, "xs = [1]\nys = 2", "?"),
    (PREFIXED, "ys = 2", "python", False, "xs = [1]\nys = 2", "?"),
    (UnitTest(code="assert f(np.ones(3))"), fenced("def f(x): return math.e"), "python", False, "import math", "panda"),
    (UnitTest(code="assert f(np.ones(3))"), fenced("def f(x): return 1"), "python", False, "numpy", "import math"),
    (UnitTest(code="t"), "```cpp\nboost::any x;\n```", "c++", False,
     "#if __has_include(<boost/any.hpp>)\n#include<boost/any.hpp>\n#endif", "?"),
    (UnitTest(code="t"), "```cpp\nint x;\n```", "c++", False, "int x;", "boost"),
    (UnitTest(code="f()", before="var a;"), "```js\nvar b;\n```", "js", False, "var a;\nvar b;", "import"),
    (UnitTest(code="t", before="package a;\nimport b.B;"), fenced("import c;\n/*\nimport d;*/\npublic final class E {}",
     "java"), "java", False, "import b.B;\nimport c;\n\n/*\nimport d;*/\nfinal class E {}", "package"),
    (UnitTest(code="t", before='import "a"'), fenced('package c\nimport ("a"; b "b" // (b)\n// "c"\n)\n`\nimport "d"`',
     "go"), "go", False, 'package main\nimport "a"\nimport b "b"\n`\nimport "d"`', "package c"),
    (UnitTest(code="t"), fenced('install.packages(c("x")); y', "r"), "r", False, "NULL; y", "install"),
    (UnitTest(code="t"), fenced("irb_sum = 0\nx", "rb"), "ruby", False, "irb_sum = 0\nx", "?"),
    (UnitTest(code="t()"), "```\n  x\n```", "js", True, "\n  x", "import"),  # without imports it keeps its blanks
)  # fmt: skip
def test_a_program_holds_what_it_needs_and_nothing_else(
    test: UnitTest, answer: str, language: str, published: bool, held: str, lacked: str
) -> None:
    program, after = assemble(test, answer, language, published=published)
    assert (held in program, lacked in program, after) == (True, False, test.code)


def test_a_missing_package_fails_no_program_that_can_do_without() -> None:
    program, test = assemble(UnitTest(code="assert yolk == 3"), fenced("yolk = 3\nxlsxwriter = None"), "python")
    assert "import yolk" in program
    assert "from typing import *" in program
    exec(f"{program}\n{test}", {})


PIECES_OF_LONG_ANSWERS = (
    "\\`", "`", "``` ", "```\n", "```python\n", "~~~\n", "a ```x``` ", "{", "}", "> ", "- ", "1. ", "(", "x\n", "\n",
    " ", "Aa ", "A" * 50 + ".\n", "\nclass", "\ndef", "\\begin{code}\n", "`\n", "``\n", "-", "<think>", "=", "a ```\n",
)  # fmt: skip


@pytest.mark.parametrize(
    "language", ["python", *(pytest.param(name, marks=pytest.mark.slow) for name in ("java", "go", "js", "r"))]
)
def test_a_long_answer_takes_no_longer_than_its_length(language: str) -> None:
    length = max(LONG, 250_000)  # longer than what Python's own parser is asked about, which takes 4 s a megabyte
    tried = [*itertools.product(PIECES_OF_LONG_ANSWERS, (False, True))][:: 1 if LONG > 50_000 else 3]
    for (piece, published), row in tabled(*tried):
        text = piece * (length // len(piece))
        with row, within(5e-6 * length):
            assemble(UnitTest(code="t"), text, language, published=published)


def test_blocks_say_what_their_fence_says() -> None:
    blocks = read_blocks("```js:main.js\na\n```\n~~~ Ruby linenos\nb\n~~~\n```\nc\n```")
    assert [block.tag for block in blocks] == ["js", "ruby", ""]
