"""The commands of `viva build infibench` from the pool to the set, for its group (cli/build/stackexchange/group.py)."""

from __future__ import annotations

from viva.cli.build.stackexchange.calibrate import calibrate_command
from viva.cli.build.stackexchange.draft import draft_command
from viva.cli.build.stackexchange.export import export_command
from viva.cli.build.stackexchange.kit import check_command, coverage_command, kit_command
from viva.cli.build.stackexchange.review import approve_command, review_command

COMMANDS = (
    *(kit_command, draft_command, check_command, review_command, approve_command),
    *(coverage_command, calibrate_command, export_command),
)
