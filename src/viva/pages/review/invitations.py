"""Options for opening a review: the filter shown first, invitations, samples, and notes for visitors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from viva.errors import VivaError, option
from viva.fields import note
from viva.files import read_regular
from viva.review.items import DECIDED, UNCERTAINTY, Filter, Item, name_of, name_problem
from viva.secretkey import personal_key
from viva.visible import escape_invisible

FEW = 20
"""The fewest labels for which the coverage of intervals was simulated (analysis/raters/prediction.py)."""


Token = Annotated[
    str, note("The token that a visitor needs, 16 characters or more.  [default: made where one is needed]")
]
TokenFile = Annotated[
    Path | None,
    note(
        "Read the token from this file: on the command line other users of the machine can see it (`ps`).",
        metavar="FILE",
    ),
]


Port = Annotated[int, Meta(ge=0, le=65535, description="0 takes a port that is free.")]


class Serving(Struct, kw_only=True):
    """Where a page is served, and its token."""

    host: Annotated[str, note("Where to serve; any other host needs a token.")] = "127.0.0.1"
    port: Port = 8470
    token: Token = ""
    token_file: TokenFile = None

    @property
    def where(self) -> dict[str, Any]:
        """Return the keywords of `serve`. Raises VivaError."""
        return {"host": self.host, "port": self.port, "token": token_given(self.token, self.token_file)}


class Opening(Serving, kw_only=True):
    """Options of a review: its first filter, reviewers, and where it is served."""

    reviewer: Annotated[str, note("Who marks; else the page asks.", metavar="NAME")] = ""
    invite: Annotated[
        tuple[str, ...],
        note(
            "Print a link with a key of their own for this reviewer (repeatable): marks count under that name and no "
            "other, and nobody gets in without such a link. It stays the same when the page is served again.",
            metavar="NAME",
        ),
    ] = ()
    blind: Annotated[bool, note("Begin without drafts, judges' opinions and others' marks.")] = False
    sample: Annotated[str, note("Begin with a random sample: 30, 0.1 or 10%.", metavar="N|SHARE")] = ""
    plan: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None,
        note(
            "Only print how many labels an interval of ± HALF_WIDTH needs (0.05 is ± 5 points).", metavar="HALF_WIDTH"
        ),
    ] = None
    strata: Annotated[
        str,
        note(
            "Of a sample: evenly by this tag (type, discipline, ...), or `uncertainty`: more of the answers that "
            "judges are less sure of, for a narrower interval of the score.",
            metavar="TAG",
        ),
    ] = ""
    seed: Annotated[int, Meta(ge=0, le=999_999_999, description="Draws the sample.")] = 0
    marks_per_item: Annotated[int, Meta(ge=1, le=100, description="Reviewers each answer needs.")] = 1


def name_given(given: str, field: str) -> str:
    """Return a reviewer's name from an option. Raises VivaError for what is none."""
    name = name_of(given)
    if problem := name_problem(name):
        raise VivaError(f"{escape_invisible(given, limit=80)!r}: {problem}", field=field)
    return name


def invited(opening: Opening, run: Path) -> dict[str, str]:
    """Return key → name for everybody invited. Raises VivaError for invalid or repeated names."""
    if opening.invite and (opening.token or opening.token_file or opening.reviewer):
        raise VivaError(
            f"gives everybody a key and a name of their own: leave out {option('token')} and {option('reviewer')}",
            field="invite",
        )
    names_by_key: dict[str, str] = {}
    for given in opening.invite:
        name = name_given(given, "invite")
        if name in names_by_key.values():
            raise VivaError(
                f"{escape_invisible(name, limit=80)!r} is there twice: one person is not two", field="invite"
            )
        names_by_key[personal_key("review", str(run.resolve()), name)] = name
    return names_by_key


def shares_of(drawn: Sequence[Item]) -> Iterator[str]:
    """Yield notes on models with few answers in a random sample."""
    counts = Counter((item.about["exam"], item.about["model"]) for item in drawn)
    for (exam, model), count in counts.items():
        if len(counts) > 1 or count < FEW:
            few = f": fewer than {FEW} give a wide interval" if count < FEW else ""
            yield escape_invisible(f"sample: {count:,} answers of {model} in {exam}{few}")


def start_filter(opening: Opening, items: list[Item]) -> Filter:
    """Return the reviewers' initial filter. Raises VivaError for strata that no answer has."""
    strata = [*dict.fromkeys(name for item in items for name in (*item.about, DECIDED)), UNCERTAINTY]
    if opening.strata and (opening.strata not in strata or not opening.sample):
        raise VivaError(
            f"{escape_invisible(opening.strata)!r} goes with {option('sample')}, and is one of: "
            f"{escape_invisible(', '.join(strata))}",
            field="strata",
        )
    query = {"sample": opening.sample, "seed": str(opening.seed), "by": opening.strata}
    return Filter.read(query, opening.blind)


def token_given(token: str, file: Path | None) -> str:
    """Return the token of the two options. Raises VivaError for both, and for a file without one."""
    if file is None:
        return token
    if token:
        raise VivaError(f"and {option('token_file')} exclude each other: give one of them", field="token")
    try:
        given = read_regular(file, 4096, follow=True).decode("ascii").strip()
    except OSError as problem:
        raise VivaError(f"cannot read {option('token_file')} {file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        given = ""
    if not given or not given.isprintable() or " " in given:
        raise VivaError(f"{file} holds no token: it is one word of ASCII characters", field="token_file")
    return given
