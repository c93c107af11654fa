"""Where the weights of `hf/...` are: a folder of this machine, or a name and a revision on the Hugging Face Hub."""

from __future__ import annotations

import os.path
import re

from viva.errors import VivaError
from viva.models.weightfiles import HUB_NAME
from viva.visible import one_line

HF = "hf/"
_NOT_IN_REVISIONS = re.compile(r"[\s\x00-\x1f\x7f~^:?*\[\\@]|\.\.|^[/-]")
"""What git allows in no name of a branch or a tag, and what would be a path."""


def existing(path: str, beside: str = "") -> str:
    """A folder by its whole path, with links as they were typed; "" if there is none. It is looked for here, then in
    `beside`.
    """
    # os.path, since Path raises for an unknown user and for what can be no path.
    for start in dict.fromkeys(("", beside)):
        folder = os.path.join(start, os.path.expanduser(path))  # noqa: PTH111, PTH118
        if path and os.path.isdir(folder):  # noqa: PTH112
            return os.path.abspath(folder)  # noqa: PTH100 - links stay as they are
    return ""


def is_model(folder: str) -> bool:
    """Whether a folder looks like a model's."""
    return bool(folder) and os.path.isfile(os.path.join(folder, "config.json"))  # noqa: PTH113, PTH118


def resolve_path(path: str) -> str:
    """The full path, links followed, of what need not be there any more."""
    return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111


def typed_folder(name: str, beside: str = "") -> str:
    """The folder of `hf/FOLDER`, with links as they were typed; "" if there is no such folder.

    A folder counts before a name on the Hub, as transformers has it. `hf/FOLDER` itself may be one, which a shell
    completes: of a model, and if FOLDER is none.
    """
    if not name.startswith(HF):
        return ""
    found = existing(name.removeprefix(HF), beside)
    if not found:
        itself = existing(name, beside)
        found = itself if is_model(itself) else ""
    return found


def folder_of(name: str, beside: str = "") -> str:
    """The same with links followed, so that it stays the same folder when a link is changed."""
    typed = typed_folder(name, beside)
    return resolve_path(typed) if typed else ""


def split_revision(name: str) -> tuple[str, str]:
    """`hf/NAME@REVISION` as NAME and REVISION; "" for the revision of a folder, and where none is named.

    Raises VivaError for FOLDER@REVISION.
    """
    rest = name.removeprefix(HF)
    before, at, revision = rest.partition("@")
    if not name.startswith(HF) or not at or typed_folder(name):
        return rest, ""
    if typed_folder(HF + before):
        raise VivaError(f"{one_line(name, 200)}: {before[:200]!r} is a folder, and a folder has no revisions")
    return (before, revision) if HUB_NAME.fullmatch(before) else (rest, "")


def is_revision(text: str) -> bool:
    """Whether a branch, tag or commit can be called so."""
    return bool(text) and not _NOT_IN_REVISIONS.search(text)


def placed(name: str) -> str:
    """A name for run.json: a replay's file or a folder of weights by its full path, so that it is found from anywhere.

    Raises VivaError for a folder that run.json cannot name.
    """
    if name.startswith("replay/") and name != "replay/":
        return f"replay/{resolve_path(name.removeprefix('replay/'))}"
    folder = folder_of(name)
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise VivaError(f"the name of the folder {folder!r} is no UTF-8: give it another") from None
    return HF + folder if folder else name
