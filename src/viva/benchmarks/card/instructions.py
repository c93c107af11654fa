"""The 25 instructions of IFEval that a program can check (Zhou et al., 2023, arXiv 2311.07911, table 1 and section 2).

Written from the paper's description. Three of the published checkers are known to be defective; here they are repaired,
and `published` checks as they do: `letter_frequency` takes a letter at random where it is asked for a character that is
no letter (# and !), `english_capital` has the language of a text in capitals detected as it is, and
`nth_paragraph_first_word` counts empty paragraphs up to the one that it looks at.

Sentences are split by rules of Viva's own; the authors use NLTK's Punkt, whose data Viva does not have.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from viva.files import UNREADABLE, shipped_table

Arguments = Mapping[str, Any]
_LANGUAGE = frozenset({"language:response_language", "change_case:english_capital", "change_case:english_lowercase"})
"""Instructions that need the package langdetect."""
_WORDS = shipped_table(__file__, "instructions.toml", dict[str, list[str]])
_SENTENCE_END = re.compile(r"[.!?][)\]}\"'”’*]*(?=\s+(\S))")
_LONGEST_WORD = 30


def follows(reply: str, instructions: str, *, published: bool = False) -> tuple[list[bool], list[bool]]:
    """Return for each instruction (JSON of [name, arguments]) whether a reply follows it, strictly and loosely.

    Loosely: with or without its asterisks, its first line and its last line, in any combination (section 2.2).
    """
    asked = msgspec.json.decode(instructions)
    lines = reply.split("\n")
    texts = {
        (text.replace("*", "") if bare else text).strip()
        for first, last, bare in itertools.product((0, 1), (0, 1), (False, True))
        for text in ["\n".join(lines[first : len(lines) - last])]
    }
    strict = [bool(reply.strip()) and check(reply, name, given, published=published) for name, given in asked]
    loose = [
        done or any(text and check(text, name, given, published=published) for text in texts)
        for done, (name, given) in zip(strict, asked, strict=True)
    ]
    return strict, loose


def needs_langdetect(instructions: str) -> bool:
    """Tell whether one of the instructions is about the language of a reply."""
    return any(name in _LANGUAGE for name, _ in msgspec.json.decode(instructions))


def check(reply: str, name: str, given: Arguments, *, published: bool = False) -> bool:
    """Return whether a reply follows one instruction. Raises KeyError for an unknown one and for an argument that it
    lacks.
    """
    return _CHECKS[name](reply, {**given, "published": published})


def _compared(count: int, given: Arguments, relation: str, number: str) -> bool:
    """Tell whether a count is "at least" or "less than" the number asked for."""
    if given[relation] not in ("at least", "less than"):
        raise ValueError(f"{relation} is {given[relation]!r}; it is 'at least' or 'less than'")
    wanted = int(given[number])
    return count >= wanted if given[relation] == "at least" else count < wanted


def _times(word: str, text: str, *, whole: bool = False) -> int:
    edge = r"\b" if whole else ""
    return len(re.findall(f"{edge}{re.escape(word.strip())}{edge}", text, re.IGNORECASE))


def _letter_frequency(text: str, given: Arguments) -> bool:
    letter = str(given["letter"]).strip().lower()
    if given["published"] and not re.fullmatch("[a-z]", letter):
        letter = random.Random(letter).choice("abcdefghijklmnopqrstuvwxyz")
    return _compared(text.lower().count(letter), given, "let_relation", "let_frequency")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, by rules that imitate the authors' splitter (Punkt; Kiss and Strunk, 2006).

    One ends in `.`, `!` or `?` before a space, whatever closing signs are between; none in an abbreviation, an initial,
    or an ellipsis before a small letter. A new line ends none. docs/sets.md says how often the two differ.
    """
    parts, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        word = re.split(r"\s", text[max(start, end.start() - _LONGEST_WORD) : end.start()])[-1]
        bare = word.lstrip("(\"'“‘[*_").lower()
        initial = len(bare) == 1 and bare.isalpha()
        if end[0][0] != "." or not (
            initial or bare in _WORDS["abbreviations"] or (word.endswith("..") and end[1].islower())
        ):
            parts.append(text[start : end.end()].strip())
            start = end.end()
    return [*parts, *filter(None, [text[start:].strip()])]


def _paragraphs(text: str, given: Arguments) -> bool:
    parts = re.split(r"\s?\*\*\*\s?", text)
    inner = [part for index, part in enumerate(parts) if part.strip() or 0 < index < len(parts) - 1]
    return all(part.strip() for part in inner) and len(inner) == int(given["num_paragraphs"])


def _first_word(text: str, given: Arguments) -> bool:
    pieces = re.split(r"\n\n", text)
    full = [piece for piece in pieces if piece.strip()]
    nth = int(given["nth_paragraph"])
    looked_at = pieces if given["published"] else full
    if len(full) != int(given["num_paragraphs"]) or not 1 <= nth <= len(full):
        return False
    words = looked_at[nth - 1].split()
    first = re.split(r"[.,?!'\"]", words[0].lstrip("'\""))[0] if words else ""
    return first.lower() == str(given["first_word"]).strip().lower()


def _postscript(text: str, given: Arguments) -> bool:
    marker = str(given["postscript_marker"]).strip()
    if marker.upper() in ("P.S.", "P.P.S"):
        pattern = r"\.\s?".join(re.sub(r"[^a-z]", "", marker.lower()))
    else:
        pattern = re.escape(marker.lower())
    return re.search(rf"^.*{pattern}.*$", text.lower(), re.MULTILINE) is not None


def _highlights(text: str, given: Arguments) -> bool:
    double = re.findall(r"\*\*[^\n*]*\*\*", text)
    single = re.findall(r"\*[^\n*]*\*", text)
    count = sum(bool(highlight.strip("*").strip()) for highlight in (*single, *double))
    return count >= int(given["num_highlights"])


def _sections(text: str, given: Arguments) -> bool:
    mark = re.escape(str(given["section_spliter"]).strip())
    return len(re.split(rf"\s?{mark}\s?\d+\s?", text)) - 1 >= int(given["num_sections"])


def _json(text: str, given: Arguments) -> bool:
    bare = re.sub(r"\A```(?:json|JSON|Json)?|```\Z", "", text.strip()).strip()
    try:
        msgspec.json.decode(bare)
    except UNREADABLE:
        return False
    return True


def _two_responses(text: str, given: Arguments) -> bool:
    parts = text.split("******")
    inner = [part.strip() for index, part in enumerate(parts) if part.strip() or 0 < index < len(parts) - 1]
    return all(inner) and len(inner) == 2 and inner[0] != inner[1]


def _quoted(text: str, given: Arguments) -> bool:
    bare = text.strip()
    return len(bare) > 1 and bare[0] == bare[-1] == '"'


def _ends(text: str, given: Arguments) -> bool:
    return text.strip().strip('"').lower().endswith(str(given["end_phrase"]).strip().lower())


def _repeats(text: str, given: Arguments) -> bool:
    return text.strip().lower().startswith(str(given["prompt_to_repeat"]).strip().lower())


def _capital_words(text: str, given: Arguments) -> bool:
    count = sum(word.isupper() for word in re.findall(r"\w+(?:[-'’.]\w+)*", text))
    return _compared(count, given, "capital_relation", "capital_frequency")


def _language(text: str) -> str:
    """Return the language of a text by langdetect, seeded; "" where it has none."""
    if not text.strip():
        return ""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0
    try:
        return str(detect(text))
    except LangDetectException:
        return ""


def _is(text: str, language: str) -> bool:
    """Return whether a text is in a language, or in no recognisable one (digits, signs)."""
    return _language(text) in (language, "")


def _all_capital(text: str, given: Arguments) -> bool:
    return text.isupper() and _is(text if given["published"] else text.lower(), "en")


_CHECKS: dict[str, Callable[[str, Arguments], bool]] = {
    "keywords:existence": lambda text, given: all(_times(str(word), text) for word in given["keywords"]),
    "keywords:frequency": lambda text, given: _compared(
        _times(str(given["keyword"]), text), given, "relation", "frequency"
    ),
    "keywords:forbidden_words": lambda text, given: (
        not any(_times(str(word), text, whole=True) for word in given["forbidden_words"])
    ),
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": lambda text, given: _is(text, str(given["language"])),
    "length_constraints:number_sentences": lambda text, given: _compared(
        len(sentences(text)), given, "relation", "num_sentences"
    ),
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": lambda text, given: _compared(
        len(re.findall(r"\w+", text)), given, "relation", "num_words"
    ),
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": lambda text, given: (
        len(re.findall(r"\[.*?\]", text)) >= int(given["num_placeholders"])
    ),
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": lambda text, given: (
        len(re.findall(r"^\s*(?:\*[^*]|-).*$", text, re.MULTILINE)) == int(given["num_bullets"])
    ),
    "detectable_format:constrained_response": lambda text, given: any(answer in text for answer in _WORDS["answers"]),
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _json,
    "detectable_format:title": lambda text, given: any(
        title.strip("<> \t") for title in re.findall(r"<<[^\n]+>>", text)
    ),
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeats,
    "startend:end_checker": _ends,
    "startend:quotation": _quoted,
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": _all_capital,
    "change_case:english_lowercase": lambda text, given: text.islower() and _is(text, "en"),
    "punctuation:no_comma": lambda text, given: "," not in text,
}
