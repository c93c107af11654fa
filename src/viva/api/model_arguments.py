"""What may be asked: models by name, functions, and answers that are there already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from viva.contracts import Model
from viva.errors import VivaError
from viva.models.called import PROVIDER, Called, Function
from viva.models.replay import KEPT, Replay
from viva.visible import one_line

Answers = Mapping[str, str | Sequence[str]]
"""Question id → the reply, or one a sample."""
ModelArgument = (
    str | Function | Mapping[str, str | Sequence[str] | Function | Answers] | Sequence[str | Function | Answers]
)
"""PROVIDER/NAME, a function, answers, functions and answers by their names, or several of the first three."""
_LONGEST = 100


class ResolvedModels(Struct, kw_only=True):
    """Whom a run asks."""

    named: list[str] = []
    """Models by name."""
    own: dict[str, Model] = {}
    """Those that are here, by their names in run.json."""
    kept: dict[str, bytes] = {}
    """Files that the run keeps: the answers."""


def resolve_models(given: ModelArgument) -> ResolvedModels:
    """Whoever is meant. A mapping of names to functions or answers names them.

    Raises VivaError for what is none of these, and for two of one name.
    """
    found = ResolvedModels()
    for name, one in _each(given):
        if isinstance(one, str):
            found.named.append(one)
        elif isinstance(one, Mapping):
            file = f"answers-{len(found.kept) + 1}.jsonl" if found.kept else "answers.jsonl"
            found.kept[file] = content = answer_rows(cast("Answers", one))
            _add(found, f"replay/{KEPT}{file}", Replay(Path(file), shown=name and f"replay/{name}", content=content))
        elif callable(one):
            own = name or _called(one)
            _add(found, f"{PROVIDER}{own}", Called(own, cast("Function", one)))
        else:
            raise VivaError(
                f"model: {type(one).__name__} is no model; give PROVIDER/NAME, a function (prompt in, text out), or "
                "a dict of question ids and replies"
            )
    return found


def _add(found: ResolvedModels, name: str, model: Model) -> None:
    if name in found.own:
        raise VivaError(f"two models are both called {model.name}: name them, as in model={{'one': f, 'two': g}}")
    found.own[name] = model


def _each(given: object) -> Iterator[tuple[str, object]]:
    """Every examinee, with the name that it was given."""
    if isinstance(given, Mapping):
        values = list(given.values())
        if values and all(isinstance(value, Mapping) or callable(value) for value in values):
            for name, one in given.items():
                yield _checked(name), one
        else:
            yield "", given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for one in given:
            yield "", one
    else:
        yield "", given


def _checked(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable() or "/" in name:
        raise VivaError(f"model: {one_line(repr(name), 60)} names no model: up to {_LONGEST} visible signs, without /")
    return name


def _called(function: object) -> str:
    """What a function is called where nobody says: its own name, or its type's."""
    inner = getattr(function, "func", function)  # a partial's
    name = getattr(inner, "__name__", None) or type(function).__name__
    return one_line(str(name).strip("<>").replace("/", "."), _LONGEST) or "function"


def answer_rows(answers: Answers) -> bytes:
    """Answers as the file that `viva grade` takes. Raises VivaError for what are none."""
    rows = []
    for question, replies in answers.items():
        texts = [replies] if isinstance(replies, str) else replies
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise VivaError(f"the answer to {one_line(repr(question), 60)} is no text, and no list of texts")
        for sample, text in enumerate(texts):
            whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text of a file's
            rows.append(msgspec.json.encode({"question": str(question), "sample": sample, "text": whole}))
    if not rows:
        raise VivaError("there is no answer among the answers")
    return b"\n".join(rows) + b"\n"
