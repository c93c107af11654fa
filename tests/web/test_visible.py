"""What cannot be seen is spelled out in text, and escaped in JSON, without looking at every character of what can."""

import json
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from viva.render.markuptext import json_text
from viva.visible import escape_invisible, escaped
from viva.web.pagetemplates import highlighted
from web.hostile import TEXTS, assert_harmless

ANY = st.text(st.characters(codec="utf-8"))


def test_every_character_of_a_category_c_is_spelled_out_alone_and_among_others() -> None:
    for code in (*range(0x3000), *range(0x3000, sys.maxunicode, 61), *range(0xE0000, 0xE0200)):
        character = chr(code)
        hidden = unicodedata.category(character)[0] == "C" and character not in "\n\t"
        for around in ("", "a\nb 中\t"):
            shown = escape_invisible(around + character)
            assert not hidden or shown == f"{around}<U+{code:04X}>", hex(code)
            assert hidden or len(shown) - len(around) in (1, 8, 9), hex(code)


@given(ANY, ANY)
def test_escaped_json_means_the_same_and_hides_nothing(name: str, text: str) -> None:
    content = {name: [text, 1]}
    for said in (json_text(content), escaped(json.dumps(content, ensure_ascii=False))):
        assert json.loads(said) == content
        assert escape_invisible(said) == said


def test_hostile_texts_are_unharmed_in_json_and_harmless_in_a_terminal() -> None:
    said = json_text(TEXTS)
    assert json.loads(said) == TEXTS
    assert_harmless(said)


def test_parts_of_a_text_are_marked_where_they_overlap() -> None:
    made = highlighted("one <two> three", [(0, 9, "only"), (4, 9, "read"), (90, 95, "only")])
    assert made == '<mark class="only">one </mark><mark class="only read">&lt;two&gt;</mark> three'
