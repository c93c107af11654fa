"""Declining is neither a wrong answer nor an unreadable one."""

from rows import each_row
from viva.scorers.choice import read_choice
from viva.scorers.refusal import WINDOW, refusal
from viva.scorers.truth import read_truth

REFUSALS = (
    "I cannot answer this question.",
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "I am unable to provide an answer to this.",
    "I won't answer that.",
    "As an AI language model, I do not have access to this.",
    "I must decline.",
    "作为一个人工智能语言模型，我无法回答。",
    "抱歉，我不能提供帮助。",
    "对不起，我无法回答该问题。",
    "Das kann ich nicht beantworten.",
    "Es tut mir leid, aber ich kann dabei nicht helfen.",
    "Ich kann diese Frage leider nicht beantworten.",
    "Je ne peux pas répondre à cette question.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "En tant qu'IA, je ne suis pas en mesure de répondre.",
)
NO_REFUSALS = (
    "I don't know.",
    "I am not sure.",
    "I cannot determine which one it is.",
    "The server cannot respond to the client.",
    "Keine Ahnung.",
    "Je ne sais pas.",
    "我不知道。",
    "A stack cannot be read from below.",
)


@each_row(*REFUSALS)
def test_declining_is_read_as_refused_and_a_commitment_beats_it(reply):
    assert read_choice(reply).read == "refused"
    assert read_truth(reply).read == "refused"
    start, end = refusal(reply) or (0, 0)
    assert 0 <= start < end <= len(reply)
    assert read_choice(reply + "\n\nAnswer: B").read == "B"
    assert read_truth(reply + "\n\nAnswer: False").read == "false"


@each_row(*NO_REFUSALS)
def test_not_knowing_is_not_declining(reply):
    assert read_choice(reply).read == "unparsed"


def test_only_the_beginning_is_searched():
    assert refusal("stack " * WINDOW + "I cannot answer this.") is None
