"""What a SynEval examination is made of: facts, and the questions that ask for them. Both are plain JSONL.

A fact is one thing that a tree says about its sentence ("the subject of `will join` is `pierre vinken`"); `viva build
syneval` writes them to facts.jsonl. An item is one question in one format; a set is a folder with

    test.jsonl        the items that are asked
    exemplars.jsonl   the items that few-shot prompts show
    build.json        how the set was made (build.Manifest)
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

KnowledgePoint = Literal["GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA"]
"""Grammatical (surface) subject, subject complement, direct and indirect object, main verb phrase, adjective modifier,
adverbial modifier, coordinated phrase, prepositional phrase attachment (arXiv 2311.08287, section 3)."""
KNOWLEDGE_POINTS: tuple[KnowledgePoint, ...] = ("GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA")

Format = Literal["TF", "MC", "FITB"]
"""True or false, multiple choice, fill in the blank."""
FORMATS: tuple[Format, ...] = ("TF", "MC", "FITB")

SlotKind = Literal[
    "verb_phrase", "noun_phrase", "prepositional_phrase",
    "grammatical_subject", "direct_object", "indirect_object", "subject_complement",
]  # fmt: skip
"""What the phrase that a question shows is; MVP shows an argument and asks for its verb phrase."""


class Fact(Struct, frozen=True, kw_only=True):
    """One fill-in-the-blank fact: a row of facts.jsonl."""

    file: str
    """The treebank file's stem: "wsj_0001"."""
    tree: int
    """Which tree of its file, from 0."""
    sentence: str
    knowledge_point: KnowledgePoint
    slot_kind: SlotKind
    slot: str
    """The phrase that the question shows."""
    answer: str
    category: str
    """The answer's syntactic category, the stratum of clean sampling."""
    tags: tuple[str, ...]
    """The published strata."""
    nodes: tuple[str, ...]
    """Paths of the slot's and the answer's nodes, child by child from the root: "0.1.1"."""
    rule: str
    """Which pattern of its knowledge point found it."""


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question: a row of questions.jsonl, test.jsonl and exemplars.jsonl."""

    id: str
    """Unique in its set, and telling: file, tree, knowledge point, format, running number ("wsj_0001-0-GS-MC-2")."""
    knowledge_point: KnowledgePoint
    format: Format
    sentence: str
    question: str
    """Without sentence and options."""
    options: tuple[str, ...] = ()
    """Of a multiple-choice question: four."""
    answer: str
    """ "true" or "false"; a letter A to D; or the phrase."""
    accepted: tuple[str, ...] = ()
    """Other phrases that are as right (FITB)."""
    category: str
    tags: tuple[str, ...] = ()
    file: str
    tree: int
    nodes: tuple[str, ...] = ()
    rule: str = ""
    wording: str = ""
    """Which wording of wordings.toml: knowledge point, format, and its number there."""
    stratum: str = ""
    """In a sampled set: the stratum that it was drawn for. The published scheme may draw a question for several, and
    then it is listed and counted as often."""
