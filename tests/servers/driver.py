"""Many commands in one process: `python driver.py CASES.json`, a list of lists of arguments; prints how each ended."""

import dataclasses
import json
import sys
from pathlib import Path

from inprocess import command

if __name__ == "__main__":
    for arguments in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(json.dumps(dataclasses.astuple(command(Path.cwd(), *arguments))))
