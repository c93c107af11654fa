"""A simple generator for tests of the code around it: one fact per word, asked in all formats.

Words tell it to misbehave: `DEFECT!` makes it fail, `KILLED!` ends its process, `SLOW!` takes a while.
"""

import os
import re
import signal
import time

from viva.benchmarks.syneval.facts import KNOWLEDGE_POINTS, Fact, Item
from viva.build.treebank.tree import TreeError

LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+)\)")


def generate(text: str, file: str, tree: int, *, published: bool) -> tuple[list[Fact], list[Item]]:
    leaves = LEAF.findall(text)
    if not leaves:
        raise TreeError("no word in it", text.find(")"))
    words = [word for _, word in leaves]
    misbehave(words)
    facts: list[Fact] = []
    items: list[Item] = []
    for index, (tag, word) in enumerate(leaves):
        point = KNOWLEDGE_POINTS[index % len(KNOWLEDGE_POINTS)]
        tags = (f"tag:{tag}", f"first:{word[0]}(non-restrictive)" if index % 2 else f"first:{word[0]}")
        fact = Fact(
            file=file,
            tree=tree,
            sentence=" ".join(words),
            knowledge_point=point,
            slot_kind="verb_phrase",
            slot=str(index),
            answer=word.upper() if published else word,
            category=tag,
            tags=tags,
            nodes=(str(index),),
            rule="toy",
        )
        facts.append(fact)
        answers = (("TF", "true"), ("TF", "false"), ("MC", "ABCD"[(index + tree) % 4]), ("FITB", fact.answer))
        for number, (form, answer) in enumerate(answers):
            items.append(
                Item(
                    id=f"{file}-{tree}-{point}-{form}-{index}-{number}",
                    knowledge_point=point,
                    format=form,  # type: ignore[arg-type]
                    sentence=fact.sentence,
                    question=f"Which word is number {index}?",
                    options=("a", "b", "c", "d") if form == "MC" else (),
                    answer=answer,
                    category=tag,
                    tags=tags,
                    file=file,
                    tree=tree,
                )
            )
    return facts, items


def misbehave(words: list[str]) -> None:
    if "DEFECT!" in words:
        raise IndexError("a defect of ours")
    if "KILLED!" in words:
        os.kill(os.getpid(), signal.SIGKILL)
    if "SLOW!" in words:
        time.sleep(0.2)


def bracketed(*words: str) -> str:
    """A sentence in Penn Treebank brackets, over three lines."""
    first, *others = words
    rest = " ".join(f"({'N' if index % 3 else 'V'} {word})" for index, word in enumerate(others))
    return f"( (S (NP (N {first}))\n    (VP {rest})\n    (. .) ))\n"
