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
    ("cpp", "int main() { assert(f(3) == 0); assert(g(3) == false); int n = 4; if (f(n) != 5) exit(EXIT_FAILURE); }", [
        Call(call="f", args=(3,), truth="false"), Call(call="g", args=(3,), truth="false"),
        Call(call="f", args=(4,), returns=5),
    ]),
    ("cpp", "int main() { assert(f(3) == 1); assert(true == g(3)); double d = f(4); assert(d == 2.5); }", [
        Call(call="f", args=(3,), returns=1, truth="true"), Call(call="g", args=(3,), returns=1, truth="true"),
        Call(call="f", args=(4,), returns=2.5),
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
    ("ruby", 'raise "wrong" unless f(2) && f(3) == 4\nraise "wrong" if g(3)', [
        Call(call="f", args=(2,), truth="given"), Call(call="f", args=(3,), returns=4),
        Call(call="g", args=(3,), truth="nil"),
    ]),
    ("cpp", "int main() { const std::size_t r = s::f(7); unsigned long t = g(8); assert(t == 5); assert(r == 4); }", [
        Call(call="g_as_unsigned_long_1", returns=5), Call(call="s_f_as_std_size_t_0", returns=4),
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
    ("cpp", "int main() { std::vector<int> v{1, 2}; assert(f(v) == 2); assert(f(v) == 3); }"),
    ("cpp", "int main() { std::vector<int> v{1, 2}; assert(v == f(v)); }"),
    ("cpp", "int main() { int n = 7; int r = f(n); assert(r == 4); }"),
    ("cpp", "int main() { auto a = f(1), b = f(2); assert(b == 3); }"),
    ("cpp", "int main() { if (f(3) != 4) return check(1); }"),
    ("cpp", "int main() { if (f(3) != 4) exit(check(1)); }"),
    (
        "java",
        "class M { public static void main(String[] x) { int[] a = {1}; if (f(a) != 2) System.exit(1); "
        "if (f(a) != 3) System.exit(1); } }",
    ),
    ("go", "func main() {\n\ta := []int{1}\n\tif f(a) != 2 { panic(1) }\n\tif f(a) != 3 { panic(1) }\n}"),
    (
        "csharp",
        "class T { static int Main() { var a = new[] {1}; if (F(a) != 2) return 1; if (F(a) != 3) return 1; "
        "return 0; } }",
    ),
    ("csharp", 'class T { static int Main() { if (F(3) != """abc""") return 1; return 0; } }'),
    ("csharp", "class T { static int Main() { if (F(3) != 4) return Check(1); return 0; } }"),
    ("ruby", "a = [1]\nraise unless f(a) == 2\nraise unless f(a) == 3"),
    ("ruby", "a = [1]\nraise unless f([a]) == 2\nraise unless f(a) == 3"),
    ("ruby", 's = "a"\nraise unless f(s) == 2\nraise unless f(s) == 3'),
    ("ruby", "raise unless f([1, 2]) { |x| x * 2 } == [2, 4]"),
    ("ruby", "raise unless f([1, 2]) do |x| x * 2 end"),
    ("ruby", "raise unless f(3).equal?(4)"),
    ("ruby", "exit if f(3) != 4"),
    ("ruby", "exit 0 if f(3) != 4"),
    ("ruby", "exit!(0) if f(3) != 4"),
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
NEARLY = (
    (
        "cpp",
        "#include <vector>\nint pop(std::vector<int>& v) { int x = v.back(); v.pop_back(); return x; }",
        "#include <cassert>\nint main() { std::vector<int> v{1, 2}; assert(pop(v) == 2); assert(pop(v) == 1); }",
    ),
    (
        "cpp",
        "bool prime(int n) { return n == 7; }",
        "#include <cassert>\nint main() { assert(prime(7) == 1); assert(prime(8) == 0); }",
    ),
    ("cpp", "double g(int n) { return 4.7; }", "#include <cassert>\nint main() { int r = g(7); assert(r == 4); }"),
    (
        "cpp",
        "namespace s { long g(long n) { return 4; } }",
        "#include <cassert>\n#include <cstdint>\nint main() { std::int64_t r = s::g(7); assert(r == 4); }",
    ),
    ("ruby", "def answer(a) = a.map { |x| yield x }", "raise unless answer([1, 2]) { |x| x * 2 } == [2, 4]"),
    ("ruby", "def answer(n) = 0", 'raise "wrong" unless answer(2)'),
    (
        "ruby",
        "def answer(text) = text.match(/a/)",
        'raise "wrong" unless answer("cat")\nraise "wrong" if answer("dog")',
    ),
)
"""Language, program and test."""
WRONG = (
    ("cpp", "double g(int n) { return 5.7; }", "#include <cassert>\nint main() { int r = g(7); assert(r == 4); }"),
    ("cpp", "int prime(int n) { return n; }", "#include <cassert>\nint main() { assert(prime(7) == 1); }"),
    ("ruby", "def answer(n) = 0", 'raise "wrong" if answer(2)'),
    ("ruby", "def answer(n) = nil", 'raise "wrong" unless answer(2)'),
)  # fmt: skip
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


@pytest.mark.sandbox
def test_what_a_program_says_does_not_bring_its_test_to_it(run: Run) -> None:
    says = 'def answer(n) = raise("call 1 of 1, answer(2), is not to be called: x")'
    said, lacking = run(*(request("ruby", one, TESTS["ruby"]) for one in (says, "def other(n) = n")))
    assert (said.verdict, said.isolation) == ("failed", "separate")
    assert (lacking.verdict, lacking.isolation) == ("failed", "shared")


@pytest.mark.sandbox
def test_right_programs_of_tests_that_are_nearly_narrow_pass(run: Run) -> None:
    found = run(*(request(language, program, test, seconds=30) for language, program, test in NEARLY))
    for (_, ran), row in tabled(*zip(NEARLY, found, strict=True)):
        with row:
            assert ran.verdict == "passed", ran.detail
    found = run(*(request(language, program, test, seconds=30) for language, program, test in WRONG))
    for (_, ran), row in tabled(*zip(WRONG, found, strict=True)):
        with row:
            assert (ran.verdict, ran.isolation) == ("failed", "separate"), ran.detail
