"""Templates: every text of theirs is made visible, then escaped; a name that is not there is an error."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from viva.shipped import shipped_text
from viva.visible import one_line
from viva.web.pagetext import shown


def environment(package: str) -> Environment:
    """Return the templates in the folder `templates` of a package ("viva.review")."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalised,
    )
    made.globals |= {"one_line": one_line}
    return made


def finalised(value: object) -> object:
    """Every text of a template goes through here before it is escaped; what is markup already is ours."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    """Return a style sheet or script of `viva.web`, to be put into a page or served beside it."""
    return shipped_text(__file__, f"static/{name}")
