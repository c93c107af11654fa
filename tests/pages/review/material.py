"""Answers to review: questions, golds, replies and verdicts written for these tests, in the shapes of CLR-Bench."""

import time
from collections.abc import Callable

from viva.engine.reviews import Review, item_key, line_id
from viva.review.items import Item, spread
from viva.types import ANSWER, RATIONALE, ReviewItem

HALVES = (0.0, 0.5, 1.0)
JUDGES = ("openai/judge-a", "openai/judge-b", "openai/judge-c")


def item(
    question: str,
    text: str,
    *,
    type: str,
    discipline: str,
    answer: tuple[str, str],
    rationale: tuple[str, str],
    options: tuple[str, ...] = (),
    opinions: tuple[float, ...] = (1.0, 1.0, 0.5),
    reasons: str = "",
    model: str = "openai/examinee",
) -> Item:
    mean = sum(opinions) / len(opinions)
    value = min(HALVES, key=lambda mark: abs(mark - mean))
    given = dict(zip(JUDGES, opinions, strict=False))
    right = answer[0] == answer[1]
    return Item(
        key=item_key("clrbench-en", model, question, 0, "\n".join((*answer, *rationale))),
        about={
            "exam": "clrbench-en",
            "model": model,
            "question": question,
            "sample": "0",
            "type": type,
            "discipline": discipline,
            "outcome": "right" if right and value == 1 else "partly" if right else "wrong",
        },
        question=text,
        options=options,
        drafts=(
            ReviewItem(
                aspect=ANSWER,
                text=answer[0],
                gold=answer[1],
                value=float(right),
                scale=HALVES,
                decided="rule",
                reasons=f"read {answer[0]!r}, the gold is {answer[1]!r}",
            ),
            ReviewItem(
                aspect=RATIONALE,
                text=rationale[0],
                gold=rationale[1],
                value=value,
                scale=HALVES,
                decided="judge" if type != "FB" else "similarity",
                reasons=reasons or "The concept is named, but the step from it to the answer is only asserted.",
                opinions=given,
            ),
        ),
        disagreement=spread([given]),
    )


ITEMS = (
    item(
        "operating-systems/mc/1",
        "Two threads each increment a shared counter without a lock. What is its final value?",
        type="MC",
        discipline="Operating Systems",
        options=("Two million.", "Less, it may be.", "An odd number.", "None."),
        answer=("B", "B"),
        rationale=(
            "Both may read the same value.\n\nA is wrong for that.",
            "Updates are lost: A ignores the race.",
        ),
        reasons="Names the lost update. Does not say how small the value can become.",
    ),
    item(
        "databases/tf/1",
        "Every relation in Boyce–Codd normal form is also in third normal form.",
        type="TF",
        discipline="Databases",
        answer=("true", "true"),
        rationale=("BCNF is stronger.", "In BCNF every determinant is a superkey; 3NF allows one exception more."),
        opinions=(0.5, 0.0, 1.0),
    ),
    item(
        "algorithms/ms/1",
        "Which of these sorting algorithms take O(n log n) time in the worst case?",
        type="MS",
        discipline="Data Structures and Algorithms",
        options=("Heapsort", "Quicksort", "Merge sort", "Insertion sort"),
        answer=("AC", "AC"),
        rationale=("Heapsort: n extractions of log n each.", "A first-element pivot gives n²/2 comparisons."),
        opinions=(1.0, 1.0, 1.0),
    ),
    item(
        "networks/fb/1",
        "The TCP mechanism that doubles the congestion window every round trip is called ____.",
        type="FB",
        discipline="Computer Networks",
        answer=("slow start", "slow start"),
        rationale=("Because it starts slowly.", "The window grows by one segment per acknowledgement."),
        opinions=(0.0, 0.5, 0.0),
    ),
    item(
        "machine-learning/oe/1",
        "Show that the mean minimises the sum of squared deviations of a sample x₁, …, xₙ.",
        type="OE",
        discipline="Machine Learning",
        answer=("f'(c) = -2 Σ (xᵢ - c): zero iff c = (1/n) Σ xᵢ.", "Differentiate Σ (xᵢ - c)²."),
        rationale=("def f(xs, c):\n    return sum((x - c) ** 2 for x in xs)", "A sum of squares is convex in c."),
        opinions=(1.0, 0.5, 1.0),
    ),
    item(
        "nlp/mc/1",
        "对于语言模型，困惑度（perplexity）是什么？",
        type="MC",
        discipline="Natural Language Processing",
        options=("每个词元的平均负对数似然的指数", "词汇表大小", "训练步数", "注意力头的数量"),
        answer=("C", "A"),
        rationale=("困惑度随训练步数下降。", "困惑度等于交叉熵的指数，可理解为平均分支数。"),
        opinions=(0.0, 0.0, 0.0),
    ),
)


def many(count: int) -> tuple[Item, ...]:
    """So many items; types and disciplines in turn."""
    types, places = ("MC", "MS", "TF", "FB", "OE"), ("Databases", "Compilers", "Computer Vision")
    return tuple(
        item(
            f"{places[number % 3].lower()}/{types[number % 5].lower()}/{number}",
            f"Question number {number} of a long set.",
            type=types[number % 5],
            discipline=places[number % 3],
            answer=("true", "true" if number % 2 else "false"),
            rationale=(f"Reason {number}.", "The gold reason."),
            opinions=(number % 3 / 2, (number + 1) % 3 / 2, 1.0),
        )
        for number in range(count)
    )


def reviews(who: str, item: Item, design: str, mark: Callable[[ReviewItem], float]) -> list[Review]:
    """Lines as the page writes them: what somebody gives to each aspect of an item."""
    return [
        Review(
            id=line_id(who, item.key, draft.aspect), at=time.time(), reviewer=who, item=item.key, about=item.about,
            aspect=draft.aspect, after=mark(draft), draft=draft.value, drawn=design,
        )
        for draft in item.drafts
    ]  # fmt: skip


def editable(key: str = "f" * 32) -> Item:
    """A drafted rationale that an expert approves, edits or rejects."""
    draft = ReviewItem(
        aspect=RATIONALE, text="First line.\nSecond line.", gold="Say why.", value=None, scale=(0.0, 1.0)
    )
    return Item(key=key, about={"question": "own/mc/1"}, question="Why?", drafts=(draft,), editable=True)
