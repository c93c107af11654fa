"""Verb sequences: SynEval's verb phrases ("will have been joined"), one per conjunct.

Collected from the topmost VPs downwards: the verbs, auxiliaries, modals and `to` of each level; for coordinated VPs one
sequence per conjunct with the shared auxiliaries ("will provide ... and spur": `will provide`, `will spur`).
arXiv 2311.08287, section 3.2 and appendix; specification of Viva, "Verb sequences" and "Form / voice".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, cast

from viva.build.treebank.tree import TAGS, WORDS, Layout, Node, Tree, TreeError
from viva.files import shipped_table

VERB_TAGS = TAGS["verbs"]
BE, _HAVE = WORDS["be"], WORDS["have"]
LINKING = BE | _HAVE | WORDS["linking"]
MAX_PATHS = 64
"""Most verb sequences of one topmost VP; six in the sample."""

Voice = Literal["active", "passive", ""]
"""Empty if the form is not recognised."""


class VerbForm(NamedTuple):
    """Form, voice and tense of a verb sequence."""

    form: str
    voice: Voice
    tense: str
    """ "past:perfect", "None:None", ..."""


class VerbPath(NamedTuple):
    """A path down from a topmost VP: the VPs, the verbs, and whether the last VP has its own verb."""

    levels: tuple[Node, ...]
    verbs: tuple[Node, ...]
    whole: bool


@dataclass(slots=True, eq=False)
class VerbSequence:
    """A verb phrase in SynEval's sense. `top` is the topmost VP, `levels` the VPs on the way down to the last verb."""

    top: Node
    levels: tuple[Node, ...]
    verbs: tuple[Node, ...]
    plain: str
    """As published, with the adverb phrase after each verb and without `not`; by default the same as `text`."""
    text: str
    """With `not`, without adverbs."""
    form: str = ""
    voice: Voice = ""
    tense: str = ""
    """ "past:perfect", "None:None", ..."""
    with_adverbs: str = ""
    """By default, `plain` with adverb phrases, which is also a right answer."""

    @property
    def subjects(self) -> list[Node]:
        """Its subjects: sisters before it with -SBJ."""
        return [node for node in self.top.before if "SBJ" in node.functions]

    @property
    def last(self) -> Node:
        """The last verb, which identifies the sequence."""
        return self.verbs[-1]


def sequences(tree: Tree, published: bool) -> list[VerbSequence]:
    """Return all verb sequences of a sentence, from left to right by topmost VP."""
    verbs: list[VerbSequence] = []
    for node in tree.nodes:
        if node.tag == "VP" and node.parent.tag != "VP":
            for path in verb_paths(node, published):
                if path.whole:
                    verbs.append(_sequence(tree.layout, node, path, published))
    return verbs


def verb_paths(
    vp: Node, published: bool, levels: tuple[Node, ...] = (), verbs: tuple[Node, ...] = ()
) -> list[VerbPath]:
    """Return every path from a VP down to a last verb; `whole` is False if the last VP has no verb (gapping,
    mislabelling). Raises TreeError for more than MAX_PATHS.
    """
    levels = (*levels, vp)
    own = [child for child in vp.children if child.tag in VERB_TAGS and child.word is not None]
    below = [child for child in vp.children if child.tag == "VP"]
    chains = [(verb,) for verb in own] if published else _chains(vp, own)
    if not published and verbs and chains and not _agree(verbs[-1], chains[0][0]):
        verbs = ()  # "are written ... and usually carry": the conjunct does not share the auxiliary
    if not below:
        return [VerbPath(levels, (*verbs, *chain), True) for chain in chains] or [VerbPath(levels, verbs, False)]
    if own and not published and not (any(_links(verb) for verb in own) and _is_auxiliary(vp, own[-1], below[0])):
        # "were filed alleging", "do three things: raise": the lower phrase is no part of the verb phrase, despite its
        # bracket.
        return [VerbPath(levels, (*verbs, *chain), True) for chain in chains]
    starts = [(*verbs, *chain) for chain in chains] or [verbs]
    paths: list[VerbPath] = []
    for start in starts:
        for child in below:
            paths += verb_paths(child, published, levels, start)
            if len(paths) > MAX_PATHS:
                raise TreeError(f"a verb phrase that could be read in more than {MAX_PATHS} ways: {top_text(vp)!r}")
    return paths


def _chains(vp: Node, own: list[Node]) -> list[tuple[Node, ...]]:
    """Return a VP's verbs, one chain per conjunct: "will greatly reduce" in one bracket is one, "buy and sell" two."""
    chains: list[tuple[Node, ...]] = []
    for verb in own:
        before = chains[-1][-1] if chains else None
        if before is not None and _links(before) and _is_auxiliary(vp, before, verb) and _agree(before, verb):
            chains[-1] = (*chains[-1], verb)
        else:
            chains.append((verb,))
    return chains


def _is_auxiliary(vp: Node, verb: Node, below: Node) -> bool:
    """Return whether a verb can be auxiliary to `below`: no object, clause, colon or conjunction is in between."""
    between = vp.children[verb.position + 1 : below.position]
    return not any(
        child.tag in TAGS["parting"]
        or child.text in (":", ";")
        or (child.tag == "NP" and not child.functions and bool(child.text))
        for child in between
    )


def _agree(verb: Node, following: Node) -> bool:
    """Return whether a verb's form can follow an auxiliary: "could raise" and "was raised", but not "are carry" or a
    second "has" in "has heard ... and has received".
    """
    word = verb.lowered
    if verb.tag in ("MD", "TO"):
        return following.tag not in ("VBZ", "VBG", "MD")
    if word in BE:
        return following.tag not in ("VB", "VBP", "VBZ", "MD")
    if word in _HAVE:
        return following.tag not in ("VBP", "VBZ", "MD")
    return True


def top_text(vp: Node) -> str:
    """Return the beginning of a verb phrase for a message."""
    return vp.text if len(vp.text) <= 40 else vp.text[:39] + "…"


def _links(verb: Node) -> bool:
    """Return whether a verb joins the verb below it: an auxiliary, a modal, `to`, or one like help and get."""
    return verb.tag in ("MD", "TO") or verb.lowered in LINKING


def _sequence(layout: Layout, top: Node, path: VerbPath, published: bool) -> VerbSequence:
    negated: list[int] = []  # the verbs with `not`
    adverbs: list[int] = []  # the verbs with the adverb phrases that follow
    both: list[int] = []
    for verb in path.verbs:
        for rendering in (negated, adverbs, both):
            rendering.append(verb.start)
        following = verb.after[:2]
        negation = bool(following) and following[0].tag == "RB" and following[0].word in WORDS["not"]
        if negation and (published or _links(verb)):
            negated.append(following[0].start)
            both.append(following.pop(0).start)
        if following and following[0].tag == "ADVP":
            phrase = range(following[0].start, following[0].end)
            both += phrase
            adverbs += phrase if not negation else ()
    text, form = layout.join(negated), verb_form(path.verbs)
    if published:
        return VerbSequence(top, path.levels, path.verbs, layout.join(adverbs), text, *form)
    return VerbSequence(top, path.levels, path.verbs, text, text, *form, layout.join(both))


def verb_form(verbs: tuple[Node, ...]) -> VerbForm:
    """Return form, voice and tense of a sequence; comparisons of words are case-sensitive, as published."""
    return _form_of(" ".join(".".join((verb.tag, *_lists(verb.word))) for verb in verbs))


def _lists(word: str | None) -> list[str]:
    return [name for name in ("be", "have", "future", "future_in_past", "been", "having") if word in WORDS[name]]


@lru_cache(4096)
def _form_of(shown: str) -> VerbForm:
    """Return the form of a sequence that is written as in verbforms.toml."""
    form, voice, tense, aspect = (
        next(name for name, pattern in patterns.items() if re.fullmatch(pattern, shown))
        for patterns in shipped_table(__file__, "verbforms.toml", dict[str, dict[str, str]]).values()
    )
    if form == "unrecognized":
        return VerbForm(form, "", "None:None")
    return VerbForm(form, cast("Voice", voice), f"{tense}:{aspect}")
