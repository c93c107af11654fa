"""Items in which every text tries to run, load, hide or break out."""

from viva.engine.reviews import item_key
from viva.review.items import Item
from viva.types import ANSWER, RATIONALE, ReviewItem
from web.hostile import TEXTS


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


HOSTILE = tuple(hostile(text) for text in TEXTS.values())
