# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the truth reader."""

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.scorers.truth import read_truth
from within import within

# fmt: off
REPLIES: dict[str, tuple[str, ...]] = {
    "empty": ("",),
    "false": (
        "False.", "F", "No", "✗", "×", "❌", "错误", "错", "否", "不正确", "不对", "不是", "假", "falsch",
        "unrichtig", "stimmt nicht", "trifft nicht zu", "nein", "inkorrekt", "faux", "inexact", "non", "incorrect",
        "wrong", "not true", "It isn't correct.", "Ce n'est pas vrai.", "untrue",
        "False. The statement would be true only for stacks.",
        "A stack is LIFO. This is true for all. So the statement is false.", "因此该说法错误。",
        "Donc l'affirmation est fausse.", "Also ist die Aussage falsch.", "**False**", '{"answer": false}',
        "The statement is false because stacks are LIFO.", "Answer: False", "这个说法是错误的，因为栈是后进先出。",
        "Die Aussage stimmt nicht.", "Cette affirmation n'est pas correcte.", "Réponse : Faux", "Antwort: Falsch",
        "答案是错误", "True. Wait, actually it is false.", "Yes, the statement is false.", "No, this is not correct.",
        "判断：错误", "不对，应该是队列。", "<think>true</think>False",
        "Let's think. A stack is LIFO. A queue is FIFO. Therefore, the statement is **False**.", "It's false.",
        "Nein, das stimmt nicht.", "Non, c'est faux.", "I don't think the statement is true.",
        "The assertion is false.", "This claim is incorrect.", "It is false that stacks are FIFO.",
        "It is true that stacks are LIFO, but the statement is about queues and is false.",
        "Answer: **False**\n\nA stack is LIFO. It's not true that it is FIFO.", "<answer>false</answer>",
        "$\\boxed{\\text{False}}$",
        "To determine whether the statement is true or false, consider a stack. A stack is LIFO. So it's false.",
        "No. A stack is LIFO.", "No, it isn't.", "I'd say this is false.", "The correct answer is False.",
        "Verdict: False", "Answer: No", "F.", "Not true.", "Not correct, because stacks are LIFO.",
        "Incorrect. Stacks are LIFO.", "The statement can be considered false.",
        "The statement is definitely not correct.", "This is not the case; the statement is false.",
        "Statement: A stack is FIFO. True or False?\nAnswer: False",
        "False\n\nStatement: A queue is FIFO.\nAnswer: True", 'The statement "A stack is FIFO" is false.',
        "The claim that TCP is connectionless is false.", "该命题为假。", "答案：错误。栈是后进先出。", "答案：×",
        "这个陈述不正确。", "这个说法不对，因为栈是后进先出。", "此说法有误。",
        "错误。原因：队列是先进先出，正确的说法是…", "不正确，栈是后进先出", "不是的", "所以这个说法是错误的。",
        "我认为这是错误的", "本题说法错误", "原命题不成立", "Die Aussage ist falsch, da ein Stack LIFO ist.",
        "Das ist nicht richtig.", "Diese Aussage ist nicht korrekt.", "Falsch! Ein Stack ist LIFO.",
        "Die richtige Antwort ist: Falsch", "Die Behauptung trifft nicht zu.", "Somit stimmt die Aussage nicht.",
        "Nein.", "Es ist falsch.", "Das ist falsch.", "Unwahr", "L'affirmation est fausse car une pile est LIFO.",
        "C'est faux.", "Ce n'est pas correct.", "L'énoncé est inexact.", "La réponse est : Faux",
        "Non, c'est incorrect.", "L'affirmation n'est pas vraie.", "Faux. Une pile est LIFO, il est vrai que…",
        "True. No wait, false.", "True... hmm, on second thought, the statement is false.", "对。不，错。",
        "Richtig. Moment, nein: falsch.", "Vrai. Non, en fait c'est faux.",
        "False, because when the tree is empty it has no root.", '{"answer": "False"}',
        '{"verdict": false, "reason": "true for queues"}', "This is a false statement.", "That would be false.",
        "My answer is False.", "I choose False.", "I'm going to say false.", "So: false.", "Thus, false.",
        "Hence the given assertion is incorrect.", "Final answer: False", "### Answer: False",
        "Because stacks are LIFO, the statement is not correct.",
        "While the first half is true, the second half is wrong, making the statement false overall.",
        "The first clause is correct. The second clause is incorrect. So overall the assertion is false.",
        "It is not the case that the statement is true.", "False - it's true only for queues.", "FALSE", '"False"',
        "(False)", "False\n\nExplanation: the statement is true only in C.",
        "The correct answer is **False** because a stack is LIFO.", "No, a stack isn't FIFO.", "Wrong!",
        "That is wrong.", "That's not right.", "That isn't true.", "Definitely false.",
        "Clearly false, as stacks are LIFO.", "Answer: F",
        "TCP is reliable - true. UDP is reliable - false. Hence the combined statement is false.", "判断题答案：错",
        "答：错误。", "【答案】错误", "该说法是不正确的。", "这一说法并不准确。", "结论：错误", "该描述有误",
        "应判断为错误。", "所以是错误的。", "答案：False", "并不正确", "错，应为先进先出。", "不，该说法错误",
        "否，栈是后进先出", "首先，正确的说法是栈是后进先出。题目说先进先出，所以题目说法错误。", "这是错误的。",
        "Die Behauptung ist inkorrekt.", "Antwort: Falsch. Ein Stack ist LIFO.", "Das trifft nicht zu.",
        "Die Aussage trifft also nicht zu.", "Die Antwort ist Nein.", "Stimmt nicht, ein Stack ist LIFO.",
        "Die Aussage, dass ein Stack FIFO ist, ist falsch.", "Es stimmt nicht, dass ein Stack FIFO ist.",
        "C'est inexact.", "La déclaration est donc fausse.", "Je dirais que c'est faux.",
        "Il est faux que la pile soit FIFO.", "Réponse : **Faux**", "Faux, car une pile est LIFO.",
        "Non. Une pile est LIFO.",
        "The statement claims TCP is reliable. That is true. It also claims UDP is reliable. That is false. So overall the statement is false.",
        "First, stacks are LIFO (true). Second, queues are LIFO (false). Therefore the statement as a whole is incorrect.",
        "False. It is true that stacks are LIFO, but this says FIFO.",
        "It's a common misconception that this is true. It is false.",
        "Some say it is true, but the statement is false.",
        "Let me evaluate: the premise is right, the conclusion is wrong. Final verdict: False.",
        "The answer is not true.", "I disagree.", "这句话前半句正确，后半句错误，所以整体是错误的。",
        "TCP可靠，正确；UDP可靠，错误。综上，该说法错误。", "正确答案：错误", "判断：×", "应为错误", "说法错误",
        "错误，正确的是队列", "对于该命题，答案是错误。",
        "Die richtige Aussage wäre, dass Stacks LIFO sind. Die Aussage ist daher falsch.", "Nein, falsch.",
        "Unrichtig, weil ...", "Non.", "Réponse correcte : Faux", "C'est une affirmation fausse.",
        "Inexact : une pile est LIFO.",
    ),
    "refused": ("I cannot answer this.", "As an AI, I cannot answer this."),
    "true": (
        "True", "T", "yes", "✓", "√", "✅", "正确", "对", "是", "没错", "真", "wahr", "richtig", "stimmt",
        "trifft zu", "ja", "korrekt", "vrai", "juste", "exact", "oui", "Correct", "right",
        "The statement is not false.", "Das ist nicht falsch.", "这句话不是错误的。", "\\boxed{True}",
        '{"answer": true}', "The statement is true.", "This statement is correct.", "The answer is **True**.",
        "该说法是正确的。", "Die Aussage ist wahr.", "Die Aussage trifft zu.", "L'affirmation est vraie.",
        "答案：正确", "Yes, that's correct.", "对的", "是的，这句话正确。", "Wahr", "Vrai.", "I would say it's true.",
        "That's right.", "Ja, das ist richtig.", "Oui, c'est exact.", "I think the statement is true",
        "The given statement is True.", "That statement is accurate.",
        "**Answer:** True\n\n**Explanation:** It would be false if the list was empty.",
        "Let's check whether it is true. Yes, each node has one parent. Therefore, it is true.",
        "Yes. A stack is LIFO.", "Yes, it is.", "I believe this is true.", "The correct answer is: True",
        "Judgment: True", "the answer is yes", "Answer: T", "(T)", "T - stacks are LIFO", "Not false.",
        "Correct! Stacks are LIFO.", "The statement is not incorrect.",
        "True\n\nQuestion: A queue is LIFO.\nAnswer: False", "该命题为真。", "答案：√", "这句话是对的。",
        "正确。队列是先进先出。", "是的", "判断结果：正确", "综上，该说法正确。", "答案是：对", "题干说法正确",
        "√。因为栈是LIFO", "Das stimmt.", "Die Aussage ist korrekt.", "Richtig. Ein Stack ist LIFO.", "Antwort: Wahr",
        "Daher ist die Aussage wahr.", "Die Aussage stimmt.", "Ja, die Aussage ist richtig.", "C'est vrai.",
        "L'énoncé est exact.", "Réponse : Vrai", "Donc l'affirmation est vraie.", "Oui.",
        "Cette affirmation est correcte.", "L'affirmation n'est pas fausse.", "Ce n'est pas faux.",
        "False. Actually, it's true.", '```json\n{"answer": true}\n```', "The right answer is true.",
        "This is a true statement.", "The statement is a correct description of a stack.", "I would answer True.",
        "I'd go with true.", "Therefore: True", "**Final Answer:** True.", "## Answer\n\nTrue",
        "The assertion holds, so the answer is true.", "The statement appears to be true.",
        "It's not false, it's true.", "True, although in some languages it is false.", "TRUE", "true\n", "`True`",
        "'true'", "[True]", "True.\n\nExplanation: ...false...", "Yes, a stack is LIFO, so it's correct.", "Right.",
        "Indeed, the statement is true.", "Absolutely true.", "The answer is (T).",
        "Step 1: TCP is reliable: true.\nStep 2: UDP is reliable: false.\nAnswer: True", "判断：对", "答：正确",
        "【答案】√", "这个陈述是真的", "此题正确", "该说法没有错误", "我选择正确", "因此，答案为“正确”。",
        "因此是正确的", "正确的。", "对，栈是后进先出。", "是，该说法正确", "这句话说得对", "这是一个正确的说法。",
        "真命题", "Diese Aussage ist nicht falsch.", "**Richtig**", "Das trifft zu.",
        "Ich würde sagen, das ist wahr.", "Die Antwort lautet: Wahr.", "Stimmt!",
        "Die gegebene Aussage ist somit richtig.", "La réponse est vrai.", "C'est exact.", "Cette phrase est juste.",
        "Par conséquent, l'affirmation est correcte.", "Cela est vrai.",
        "True. This is because it is false that queues are LIFO.",
        'The statement "the loop condition is true" is correct.',
        "If the flag is true, the loop runs. The statement is correct.", "The answer isn't False, it's True.",
        "I agree.", "Agreed, it's true", "正确答案是正确", "这是对的", "我认为该说法是对的。", "判断为正确", "Ja.",
        "Ja, das stimmt.", "Korrekt!", "Oui, c'est vrai.", "La bonne réponse est Vrai.",
        "L'assertion est donc vraie.", "Exact.",
    ),
    "unparsed": (
        "partly true", "It is true only if the list is sorted.", "True or False?", "true and false", "<think>true",
        "I don't know", "I'm not sure.", "The right child of a node.", "False sharing is a performance problem.",
        "The statement is partially correct.", "The first part is true, the second is false.",
        "Answer with true or false.", "The statement is neither true nor false.", "It could be true or false.",
        "The statement may be true.", "It depends.", "Sometimes true.", "The statement is mostly true.",
        "True in some cases.", "It's half true.", "对错无法判断", "部分正确", "这个说法不完全正确。",
        "该陈述正确与否取决于实现。", "请判断对错", "Wahr oder falsch?", "Teilweise richtig.", "Vrai ou faux ?",
        "Partiellement vrai.", "False if the tree is empty.", "True only when n is even.",
        "The statement is true if and only if n is even.", "I cannot determine if this is true or false.",
        "Die Aussage ist wahr oder falsch.", "A true statement is one that is not false.",
        "The condition is true, so the loop continues.", "The function returns true.", "The flag is set to false.",
        "You are right.", "Not necessarily.", "This statement is not entirely true.",
        "Answer: T/F", "T/F", "True/False", "Respond with 'True' or 'False'.", "yes and no", "Yes or no?",
        "不完全正确，但总体错误。", "说法正确吗？", "Ce n'est pas tout à fait vrai.",
    ),
}
# fmt: on

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
HOSTILE = (
    "true ", "T", "false\n", "not ", "is ", "the statement ", "True or ", "对", "不", "不是", "是", "该说法", "nicht ", "it is true that ", " ", "\n",
    "**", "(", "<think>", "\\boxed{", "\u200b", "\ud800", "\x00", "İ", "if ", "wait, ", "Question: ", "so ", "yes ", "no, ",
)  # fmt: skip


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


PIECES = (
    "true false not is the statement answer : . , ? yes no 正确 错误 不 是 该说法 wahr falsch nicht die Aussage vrai faux pas est "
    "wait so if partly or and \\boxed{ } T F"
)


@given(
    st.one_of(
        st.text(alphabet=st.characters(), max_size=120),
        st.lists(st.sampled_from(["\n", *PIECES.split()]), max_size=40).map(" ".join),
    )
)
def test_any_text_is_read_the_same_every_time_with_its_span_inside(reply: str):
    reading = read_truth(reply)
    assert reading == read_truth(reply)
    assert reading.read in {"true", "false", "unparsed", "empty", "refused"}
    assert not reading.committed or reading.span is not None
    if reading.span:
        start, end = reading.span
        assert 0 <= start < end <= len(reply)


@each_row(*HOSTILE)
def test_a_megabyte_of_anything_is_read_quickly(unit):
    reply = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    with within(2):
        read_truth(reply)
