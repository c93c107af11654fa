# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the truth reader."""

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.scorers.truth import read_truth

REPLIES = tomllib.loads(Path(__file__).with_name("truth.toml").read_text(encoding="utf-8"))

STATEMENTS = {
    "true": (
        "True", "The statement is true.", "Answer: True", "It is correct.", "Yes.", "not false", "正确", "答案：正确", "该说法是对的。", "没错", "对",
        "Wahr", "Die Aussage ist richtig.", "Antwort: Wahr", "Das stimmt.", "Vrai", "L'affirmation est vraie.", "Réponse : Vrai", "C'est exact.",
    ),
    "false": (
        "False", "The statement is false.", "Answer: False", "It isn't correct.", "No.", "not true", "错误", "答案：错误", "该说法是不对的。", "不对", "错",
        "Falsch", "Die Aussage ist unrichtig.", "Antwort: Falsch", "Das stimmt nicht.", "Faux", "L'affirmation est fausse.", "Réponse : Faux",
    ),
}  # fmt: skip
PLAIN = [(reply, read) for read, all_ in STATEMENTS.items() for reply in all_]


@each_row(*((reply, read) for read, all_ in REPLIES.items() for reply in all_))
def test_the_truth_value_that_a_reply_commits_to(reply, read):
    assert read_truth(reply).read == read


@given(
    st.sampled_from(PLAIN), st.text(alphabet=" \t\n", max_size=4), st.text(alphabet=" \t\n\u200b", max_size=4),
    st.sampled_from(["", "**", "__"]),
)  # fmt: skip
def test_plain_statements_are_read_in_any_wrapping(row: tuple[str, str], before: str, after: str, mark: str):
    reply, read = row
    assert read_truth(before + mark + reply + mark + after).read == read
