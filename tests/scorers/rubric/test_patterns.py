"""Untrusted regular expressions: Python's meaning, bounded time."""

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tables_beside
from viva.scorers.rubric import patterns
from viva.scorers.rubric.patterns import MAX_LENGTH, MAX_REPEAT, PatternError, compile_error
from within import within

TABLES = tables_beside(__file__)

ATOMS = [
    *"abA1é_-. \"#'", r"\.", r"\\", r"\(", r"\n", r"\t", "{", "}", "]", "{a}", "{1,x}",
    r"\s", r"\S", r"\w", r"\W", r"\d", r"\D", r"\b", "^", "$", r"\A", r"\Z",
    "[ab]", "[^ab]", "[a-c]", r"[\s\S]", r"[^\w]", "[]a]", "[^]a]", "[a-]", "[-a]", "[[:a]", "[[:alpha:]]",
    r"[\w-]", "[--a]", "[a||b]", "[a&&b]", "[a-z-9]", r"[\b]", r"\x41", r"\u00e9", r"\07", r"\N{DIGIT ONE}",
    r"[\N{DIGIT ONE}-9]", "(?=a)", "(?!a)", "(?<=a)", "(?<!b)", "(?i:a)", "(?s:.)", "(?>a+)", "(?#c)", "a{e<=1}",
]  # fmt: skip
QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{2,}", "{1,2}?", "*+"]
TEXTS = st.text(alphabet='aabbAé1_-. \n\t\\({}]:"#²́\x1c\x85&|<=e', max_size=12)


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.sampled_from(["(", "(?:", "(?=", "(?!"])
    return st.one_of(
        st.builds(lambda opening, body: f"{opening}{body})", groups, inner),
        st.builds(lambda opening, body, mark: f"{opening}{body}){mark}", groups, inner, st.sampled_from(QUANTIFIERS)),
        st.builds(lambda body, mark: body + mark, inner, st.sampled_from(QUANTIFIERS)),
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
    )


PATTERNS = st.recursive(st.sampled_from(ATOMS), grow, max_leaves=8)


def python(pattern: str, flags: int = 0) -> re.Pattern[str] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile(pattern, flags)
        except re.error:
            return None


@given(PATTERNS, TEXTS)
def test_ordinary_patterns_mean_what_they_mean_in_python(pattern: str, text: str):
    own = python(pattern)
    if own is None:
        return
    assert compile_error(pattern) == ""
    assert patterns.search(pattern, text) == bool(own.search(text))
    assert patterns.fullmatch(pattern, text) == bool(own.fullmatch(text))
    regardless = python(pattern, re.IGNORECASE)
    assert regardless
    assert patterns.search(pattern, text, ignore_case=True) == bool(regardless.search(text))


@given(PATTERNS)
def test_what_python_refuses_is_refused(pattern: str):
    if python(pattern) is None:
        # a repeated comment repeats what is before it, which may be nothing
        assert compile_error(pattern) or "(?#c)" in pattern


@each_row(*TABLES["near misses"])
def test_near_misses(pattern, text, found):
    assert patterns.search(pattern, text) is found


def test_the_whole_text_must_match_where_that_is_asked():
    assert patterns.fullmatch("a|ab", "ab")
    assert not patterns.fullmatch("a", "ab")
    assert not patterns.fullmatch("a", "a\n")
    assert patterns.fullmatch("AB", "ab", ignore_case=True)


@each_row(*TABLES["what is wrong is said with its place"])
def test_what_is_wrong_is_said_with_its_place(pattern, said):
    assert said in compile_error(pattern)


@each_row(
    "a" * (MAX_LENGTH + 1),
    "(" * 4_000,
    f"a{{{MAX_REPEAT + 1}}}",
    "a{1000000000}",
    "a{99999999999999999999999}",
    "(a{1,1000}){1000}",
    "(?:(?:(?:a{0,99}){0,99}){0,99}){0,99}",
    "(?:a{100}|b)*(?:(?:a{101}){,100})",
    r"\b" * 2_000,
)
def test_patterns_that_are_too_large_are_refused_at_once(pattern):
    with within(0.5):
        assert compile_error(pattern)


@each_row(
    "|".join(f"w{n}" for n in range(900)),
    "(" * 50 + "a" + ")" * 50,
    "(?:" * 50 + "a*" + ")*" * 50,
    f"a{{{MAX_REPEAT}}}",
    "(?:a{100}){100}",
    "(?i)" + "[\x00-\U0010ffff]" * 300,
    "(?i)" + "é|" * 2_400,
)
def test_the_largest_patterns_compile_in_bounded_time(pattern):
    with within(2):
        assert compile_error(pattern) == ""


CATASTROPHIC = (
    ("(a+)+$", "a", 100_000),
    ("(a|b|ab)*[cd]", "ab", 200_000),
    (r"\s+$", " ", 300_000),
    ("(?=(a+))\\1*[bc]", "a", 100_000),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a", 1_000),
    (".*foo.*bar", "foo", 300_000),
)


def search_without_end(pattern: str, unit: str, times: int) -> None:
    with within(5), pytest.raises(PatternError, match=r"takes more than 0\.5 s"):
        patterns.search(pattern, unit * times + "!")


def test_a_catastrophic_search_ends_in_an_error():
    search_without_end(*CATASTROPHIC[0])


@pytest.mark.slow  # half a second each, and that is the point
@each_row(*CATASTROPHIC[1:])
def test_whatever_makes_a_search_catastrophic_it_ends_in_an_error(pattern, unit, times):
    search_without_end(pattern, unit, times)
