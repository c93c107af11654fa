"""Viva up to its last answer: planned, asked, journaled, and nothing graded. What is left is its engine's memory.

Usage: python viva_asking.py CMMLU BASE_URL CONCURRENCY RUN
"""

import sys

from viva.api.examining import RUN_OPTIONS, keywords
from viva.runs.config import RunPlan
from viva.runs.execute import execute_run
from viva.runs.session import Session


def main(data: str, base_url: str, concurrency: str, run: str) -> int:
    said = {"data": data, "base_url": base_url, "concurrency": int(concurrency), "run": run, "shots": 0}
    given = keywords(RUN_OPTIONS, said | {"max_tokens": 16, "progress": "quiet"}, "viva_asking.py")
    session = Session.begun(RunPlan.of(given, ["cmmlu"], ["openai/fixed"], {}, sys.argv))
    code = execute_run(session.opened, session.earlier)
    session.opened.folder.unlock()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
