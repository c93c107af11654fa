"""The commands of `viva build infibench` from the pool to the set, for its group (cli/buildinfibench.py)."""

from __future__ import annotations

from viva.cli.buildinfikit import check_command, coverage_command, kit_command
from viva.cli.inficalibrating import calibrate_command
from viva.cli.infideciding import approve_command, review_command
from viva.cli.infidrafting import draft_command
from viva.cli.infiexporting import export_command

COMMANDS = (
    *(kit_command, draft_command, check_command, review_command, approve_command),
    *(coverage_command, calibrate_command, export_command),
)
