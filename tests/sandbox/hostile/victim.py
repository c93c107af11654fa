"""A separate Viva process, to be killed, or inspected after closing its sandbox.

Reads requests as JSON lines, runs them two at a time, closes the sandbox (early, if told a mark: as soon as a process
carries it), and prints one JSON object: the verdicts (null for an aborted run), the remaining processes, and how many
seconds the runs lasted after that.
"""

import asyncio
import os
import sys
import time

import msgspec

from sandbox.hostile.world import Marks, alive, descendants
from viva.sandbox import Sandbox
from viva.types import Execute, Execution


async def main(mark: str) -> None:
    requests = [msgspec.json.decode(line, type=Execute) for line in sys.stdin.buffer]
    sandbox = Sandbox(jobs=2)
    running = [asyncio.create_task(sandbox.run(request)) for request in requests]
    if mark:
        marks = Marks()
        marks.number = mark
        while not await asyncio.to_thread(marks.processes):
            await asyncio.sleep(0.05)
        await asyncio.wait_for(sandbox.close(), 240)
    closed = time.monotonic()
    ended = await asyncio.wait_for(asyncio.gather(*running, return_exceptions=True), 240)
    lasted = time.monotonic() - closed
    await sandbox.close()
    left = descendants(os.getpid())
    end = time.monotonic() + 240
    while alive(left) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    verdicts = [each.verdict if isinstance(each, Execution) else None for each in ended]
    print(msgspec.json.encode({"verdicts": verdicts, "left": alive(left), "lasted": lasted}).decode())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
