"""Items in which every text tries to run, load, hide or break out."""

from msgspec.structs import replace

from pages.review.material import item
from viva.engine.reviews import item_key
from viva.review.items import Item
from web.hostile import TEXTS


def hostile(text: str) -> Item:
    """An item that is this text, wherever a text can be."""
    both = {"answer": (text, text), "rationale": (text, text), "options": (text, text)}
    made = item(text, text, type=text, discipline=text, reasons=text, model=text, opinions=(0.5, 1.0), **both)
    opinions = {text: 0.5, "b" + text: 1.0}
    drafts = (replace(draft, value=0.5, decided="judge", reasons=text, opinions=opinions) for draft in made.drafts)
    about = dict.fromkeys((*made.about,), text)
    key = item_key(*[text] * 3, 0, text)
    return replace(made, key=key, about=about, drafts=(*drafts,), disagreement=0.5, thought=text)


HOSTILE = tuple(hostile(text) for text in TEXTS.values())
