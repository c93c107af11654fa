"""Run one command and write down what it took.

Usage: python -I -S launcher.py RECORD.json TIMEOUT_S COMMAND [ARGUMENT ...]

A process of its own, because Linux lets a child inherit the peak memory of the process it was forked from:
forked from the benchmark, which holds the questions, every tool would seem at least that large.
This one imports next to nothing.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    record, timeout, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.setsid()  # a group of its own, so that all of it can be ended
        try:
            os.execv(command[0], command)
        except OSError as error:
            print(f"cannot start {command[0]}: {error}", file=sys.stderr)
            os._exit(127)

    def end(*_: object) -> None:
        os.killpg(child, signal.SIGKILL)

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    signal.alarm(timeout)
    # The figures of the child and of all descendants that were waited for; ru_maxrss is the largest one's.
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    signal.alarm(0)
    try:  # noqa: SIM105 - contextlib is an import as well
        end()  # whatever it left behind
    except ProcessLookupError:
        pass
    with open(record, "w") as out:  # noqa: PTH123 - pathlib would be its largest import
        json.dump(
            {
                "wall_s": wall,
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "rss_mb": usage.ru_maxrss / 1024,
                "exit": os.waitstatus_to_exitcode(status),
            },
            out,
        )


main()
