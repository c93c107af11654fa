"""Run the command line on files of other tools."""

from pathlib import Path

from servers.inprocess import Ended, command


def grade(folder: Path, benchmark: str, *arguments: object) -> Ended:
    """`viva grade`, as JSON, in the run folder `run`."""
    return command(folder, "grade", benchmark, *arguments, "--format", "json", "--progress", "quiet")
