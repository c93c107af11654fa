"""What the figures were taken on, and how noisy it was."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# A chat request of usual size, so that the server is driven as the tools drive it.
WRK_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"model": "fixed", "messages": [{"role": "user", "content": "' .. string.rep("x", 300) .. '"}]}'
"""
WRK_SECONDS = 2


def describe() -> dict[str, str | int]:
    """Processor, memory, system and Python; nothing that names the machine."""
    processor = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor[1] if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 2**30),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
    }


def busy_seconds() -> float:
    """Processor time that the whole machine has spent so far, on anybody; its host's claims on it included."""
    user, nice, system, _idle, _waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    # irq, softirq, steal; what follows is counted in user and nice already.
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def wrk(url: str, connections: int) -> float | None:
    """Requests a second that the server gives to wrk, or None where wrk is not installed."""
    program = shutil.which("wrk")
    if program is None:
        return None
    with tempfile.NamedTemporaryFile("w", prefix="viva-performance-", suffix=".lua") as script:
        script.write(WRK_SCRIPT)
        script.flush()
        command = [program, "-t1", f"-c{connections}", f"-d{WRK_SECONDS}s", "-s", script.name, url]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rate = re.search(r"Requests/sec:\s*([0-9.]+)", printed)
    return float(rate[1]) if rate else None
