"""Who is writing to a run folder, found out without touching its lock.

Trying the lock (`flock`) would hold it for a moment, and a `viva resume` of that moment would be refused. Linux lists
all locks in /proc/locks; where there is no such list, the process that the lock file names is looked for.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from viva.files import open_regular

_LOCK = re.compile(r"\d+: FLOCK +\w+ +WRITE +(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ")
LOCKS = Path("/proc/locks")


def writer(folder: Path) -> int:
    """The process that holds the folder's lock, as far as can be known; 0 for none."""
    try:
        file = open_regular(folder / ".lock")
    except OSError:
        return 0
    try:
        found = os.fstat(file)
        said = re.match(rb"pid (\d{1,9})", os.pread(file, 32, 0))
    except OSError:
        return 0
    finally:
        os.close(file)
    named = int(said[1]) if said else 0
    try:
        listed = LOCKS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return named if _lives(named) else 0
    for process, major, minor, inode in _LOCK.findall(listed):
        same_device = (int(major, 16), int(minor, 16)) == (os.major(found.st_dev), os.minor(found.st_dev))
        # Layered file systems show another device there than to stat; then the process must be the one that wrote.
        if int(inode) == found.st_ino and (same_device or int(process) == named):
            return int(process) if int(process) > 0 else named
    return 0


def _lives(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
