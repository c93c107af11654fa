"""Tests of narrow forms become calls; whatever else a test does, it stays as it is."""

from __future__ import annotations

import pytest

from rows import table, tabled
from sandbox.conftest import Run, request
from viva.sandbox.narrow import as_calls, readable
from viva.types import Call

SLOW = pytest.mark.slow
pytestmark = pytest.mark.skipif(not readable("cpp"), reason="needs the extra tests-as-calls")

CPP = """
#include <cassert>
int main() {
    assert(f(3) == 4);
    if (f(3) != 4) return 1;
    std::vector<int> v{1, 2};
    auto r = f(v);
    assert(r == (std::vector<int>{1, -2}));
    assert(std::abs(g("a", 'b', true, nullptr) - 2.5) < 1e-9);
    assert(ns::h(std::string("x")));
    std::cout << "ok" << std::endl;
    return 0;
}
"""
JAVA = """
public class Main {
    public static void main(String[] args) {
        if (!f(3).equals("x")) throw new RuntimeException("wrong");
        assert Sol.f(new int[]{1, 2}) == 3 : "wrong";
        int r = f(3);
        if (r != 4) { System.exit(1); }
        if (!java.util.Arrays.equals(g(), new int[]{1})) throw new AssertionError();
        System.out.println("done");
    }
}
"""
GO = """
func main() {
	if f(3) != 4 { panic("wrong") }
	got := f([]int{1, 2})
	if !reflect.DeepEqual(got, map[string]int{"a": 1}) { os.Exit(1) }
	if math.Abs(f(1) - 2.5) > 1e-9 { panic(1) }
}
"""
SHARP = """
class T {
    static int Main() {
        if (Sol.F(3) != 4) return 1;
        if (!Sol.G("a").SequenceEqual(new[] {1, 2})) throw new Exception("wrong");
        return 0;
    }
}
"""
RUBY = """
raise "wrong" unless f(3) == 4
exit(1) if f(3) != [1, nil, {"b" => 2.5}]
r = f("x")
raise unless r == 1
raise "wrong" if (f(1) - 2.5).abs > 1e-9
puts "ok"
"""
READ = (
    ("cpp", CPP, [
        Call(call="f", args=(3,), returns=4), Call(call="f", args=(3,), returns=4),
        Call(call="f", args=([1, 2],), returns=[1, -2]),
        Call(call="g", args=("a", "b", True, None), returns=2.5, within=1e-9),
        Call(call="ns.h", args=("x",), truth="true"),
    ]),
    ("java", JAVA, [
        Call(call="f", args=(3,), returns="x"), Call(call="Sol.f", args=([1, 2],), returns=3),
        Call(call="f", args=(3,), returns=4), Call(call="g", returns=[1]),
    ]),
    ("java", "  public static void main(String[] a) { if (sum(10) != 45) { System.exit(-1); } }\n}\n", [
        Call(call="sum", args=(10,), returns=45),
    ]),
    ("go", GO, [
        Call(call="f", args=(3,), returns=4), Call(call="f", args=([1, 2],), returns={"a": 1}),
        Call(call="f", args=(1,), returns=2.5, within=1e-9),
    ]),
    ("csharp", SHARP, [Call(call="Sol.F", args=(3,), returns=4), Call(call="Sol.G", args=("a",), returns=[1, 2])]),
    ("ruby", RUBY, [
        Call(call="f", args=(3,), returns=4), Call(call="f", args=(3,), returns=[1, None, {"b": 2.5}]),
        Call(call="f", args=("x",), returns=1), Call(call="f", args=(1,), returns=2.5, within=1e-9),
    ]),
)  # fmt: skip
WIDE = (
    ("cpp", "int main() { for (int i = 0; i < 3; i++) assert(f(i) == i); }"),
    ("cpp", "int helper() { return 4; }\nint main() { assert(f(3) == helper()); }"),
    ("cpp", "int main() { Stack s; s.push(1); assert(s.size() == 1); }"),
    ("cpp", "int main() { auto r = f(3); assert(r == 4); assert(r != 5); }"),
    ("cpp", "int main() { auto r = f(3); }"),
    ("cpp", "int main() { if (f(3) != 4) return 0; }"),
    ("cpp", "int main() { assert(f(3) != 4); }"),
    ("cpp", "int main() { try { f(3); } catch (...) { return 0; } return 1; }"),
    ("cpp", "int main() { assert(f(010) == 8); }"),
    ("java", 'class M { public static void main(String[] a) { if (f() != "x") System.exit(1); } }'),
    ("java", "class M { public static void main(String[] a) { if (f(3) != 4) System.exit(0); } }"),
    ("java", "class M { public static void main(String[] a) { if (f(g(3)) != 4) System.exit(1); } }"),
    ("go", "func main() { if v, ok := f(3); v != 4 || !ok { panic(1) } }"),
    ("ruby", "raise unless f(3) == [:a]"),
    ("ruby", 'raise unless f(3) == "#{1 + 1}"'),
    ("ruby", "def f(n) = n\nraise unless f(3) == 3"),
    ("python", "assert f(3) == 4"),
)
ANSWERS = {
    "cpp": "int answer(int n) {{ return {}; }}",
    "java": "class Answer {{ static int answer(int n) {{ return {}; }} }}",
    "go": 'package main\nimport "os"\nfunc answer(n int) int {{ return {} }}',
    "ruby": "def answer(n) = {}",
}
TESTS = {
    "cpp": "#include <cassert>\nint main() { assert(answer(2) == 4); }",
    "java": "public class Main { public static void main(String[] a) { if (Answer.answer(2) != 4) System.exit(1); } }",
    "go": "func main() {\n\tif answer(2) != 4 {\n\t\tos.Exit(1)\n\t}\n}",
    "ruby": 'raise "wrong" unless answer(2) == 4',
}
FAKES = {
    "cpp": ("#define answer(n) true || answer(n)\nint answer_(int n) { return 5; }",
            "struct E { bool operator==(int) const { return true; } };\nE answer(int n) { return E(); }",
            "#include <cstdlib>\nint answer(int n) { exit(0); }"),
    "go": ('package main\nimport "os"\nfunc answer(n int) int { os.Exit(0); return 5 }',
           'package main\nimport "os"\nfunc init() { os.Exit(0) }\nfunc answer(n int) int { return 5 }'),
    "java": ("class Answer { static int answer(int n) { System.exit(0); return 5; } }",
             "class Answer { static { Runtime.getRuntime().halt(0); } static int answer(int n) { return 5; } }"),
    "ruby": ("class E; def ==(o) = true; end\ndef answer(n) = E.new",
             "class Integer; def ==(o) = true; end\ndef answer(n) = 5",
             "def answer(n) = exit!(0)"),
}  # fmt: skip


def test_a_test_of_narrow_forms_is_read_as_calls() -> None:
    with table() as row:
        for language, test, calls in READ:
            with row(test):
                assert list(as_calls(language, test)[0]) == calls


def test_every_other_test_stays_as_it_is() -> None:
    with table() as row:
        for language, test in WIDE:
            with row(test):
                assert as_calls(language, test) == ((), "")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language", ["ruby", "cpp", *(pytest.param(one, marks=pytest.mark.slow) for one in ("go", "java"))]
)
def test_a_program_is_asked_for_the_calls_and_holds_no_expected_value(language: str, run: Run) -> None:
    test = TESTS[language]
    asked = [request(language, ANSWERS[language].format(one), test, seconds=30) for one in ("2 * n", "n + 1")]
    fakes = [request(language, one, test, seconds=30) for one in FAKES[language]]
    right, wrong, *found = run(*asked, *fakes)
    assert (right.verdict, right.isolation) == ("passed", "separate"), right.detail
    assert (wrong.verdict, wrong.isolation) == ("failed", "separate")
    assert "returned 3, not 4" in wrong.detail
    for (fake, ran), row in tabled(*zip(fakes, found, strict=True)):
        with row:
            assert ran.verdict != "passed", fake.program
