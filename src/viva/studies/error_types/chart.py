"""Charts of error types by model: shares with intervals, a panel for each kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viva.analysis.errortypes import Errors
from viva.errors import VivaError
from viva.render.plots import Axis, Drawn, Kinds, dots, ends, per_cent, together

_AXIS = Axis(
    "share", ["per cent of the labelled wrong answers, with 95 % intervals;", "several types may apply"],
    {"domain": [0, 100]},
)  # fmt: skip


def errors_chart(counted: Sequence[Errors], names: Mapping[str, str]) -> Drawn:
    """Return the errors of some exams (`analysis.errortypes.counted` without a tag). `names`: type → its label. Raises
    VivaError for none.

    Types are separate rows, not parts of a whole: an answer may show several.
    """
    if not counted:
        raise VivaError("there is no wrong answer to draw")
    parts = list(dict.fromkeys((row.exam, row.group) for row in counted))
    panels = [_panel([row for row in counted if (row.exam, row.group) == part], names) for part in parts]
    exams = ", ".join(dict.fromkeys(exam for exam, _ in parts))
    return together(panels, f"{exams}: types of error in wrong answers")


def _panel(counted: Sequence[Errors], names: Mapping[str, str]) -> Drawn:
    rows = [
        {
            "model": counts.model,
            "type of error": names.get(share.type, share.type),
            "share": per_cent(share.share),
            **ends(share),
            "answers with it": share.count,
            "labelled": counts.labelled,
            "wrong": counts.wrong,
        }
        for counts in counted
        for share in counts.shares
    ]
    group = counted[0].group
    kinds = Kinds(
        "type of error",
        list(dict.fromkeys(str(row["type of error"]) for row in rows)),
        title=f"{group} questions",
        offset=True,
    )
    title = f"{counted[0].exam}, {group.lower()} questions"
    return dots(rows, "model", _AXIS, title=title, kinds=kinds, width=480)
