"""Viva up to its last answer: planned, asked, journaled, and nothing graded. What is left is its engine's memory.

Usage: python viva_asking.py CMMLU BASE_URL CONCURRENCY RUN
"""

import sys

from viva.api.keywords import RUN_OPTIONS, keywords
from viva.runs.execute import execute_run
from viva.runs.plan import begin, plan_run


def main(data: str, base_url: str, concurrency: str, run: str) -> int:
    said = {"data": data, "base_url": base_url, "concurrency": int(concurrency), "run": run, "shots": 0}
    given = keywords(RUN_OPTIONS, said | {"max_tokens": 16, "progress": "quiet"}, "viva_asking.py")
    given |= {"benchmarks": ["cmmlu"], "models": ("openai/fixed",), "settings": {}}
    opened, earlier = plan_run(given)
    opened = begin(opened, given)
    code = execute_run(opened, earlier)
    opened.folder.unlock()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
