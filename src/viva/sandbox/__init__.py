"""Programs that models wrote, run isolated, and judged so that they cannot fake a verdict.

    sandbox = Sandbox()
    execution = await sandbox.run(Execute(question="q", sample=0, language="python", program=..., test=...))
    execution.verdict   # "passed", "failed", "compile", "timeout", "limit", "toolchain"

**Isolation.** Every program gets a new bubblewrap sandbox, used once: new namespaces of every kind
(no network, no other processes, no neighbours), the system read-only, empty folders in memory as the only ones it can
write, no home and no environment of this machine, an unprivileged identity without any capability also when Viva runs
as root, a list of allowed system calls (seccomp.toml), and limits on time, memory, processes, file size, disk, open
files and output. At a limit, at the end, when the caller gives up, and when Viva dies in whatever way, the kernel kills
the whole tree at once. Python programs are forked from an interpreter that has imported the usual libraries
(harness/zygote.py) into fresh namespaces with the same walls. Where isolation is not to be had, nothing is run.

**Limits of time.** `Execute.seconds` counts what a program answers for: the CPU time of all its processes, and all
time by the clock in which it does not wait for a processor that others keep busy. So sleep is not free, and a loaded
machine turns nothing into a timeout; by the clock alone no program gets more than three times its seconds, or ten more.

**Proof.** With `proof="completion"` a program passes only if its test ran to its last statement: proof.py says how
that is proved. Failures in unittest's runners count as failed assertions. A test that itself exits with 0 has ended if
it runs in a separate process, and does not pass if it shares one with its program. `proof="exit"` is the published
rule, and changes nothing in a program: one that exits with status 0 passes.

**Two processes.** Where possible, the verdict is decided outside the program's process: Viva itself compares values of
calls (calls.py; narrow.py reads tests as calls), or the test runs in a second sandbox and calls stubs of the program's
names (harness/link.py, link.R, peer.js). `Execution.isolation` says "separate" then, and "shared" where a test must
live with its program, or where the program's own code decided a comparison.

**What it does not protect against.**

- A defect of the kernel, which all programs share. The filter removes what attacks usually begin with; for more, run
  Viva in a virtual machine.
- Side channels and noise: programs share processors, caches and the memory bus with everything else. They can read
  /usr, and see the machine's kernel and processors.
- Overshoot. Where this user may make control groups (cgroups.py; `viva doctor` says so), the kernel holds memory,
  processes and CPU time of a whole tree. Elsewhere they are polled some thirty times a second: a tree can exceed
  its limit for that long, each process by no more than its own limit, and kernel memory behind pipes and sockets is
  bounded by the number of processes and descriptors only.
- A program that shares a process with its test: it may replace what the test compares with, return an object that
  equals everything, or search its own memory for the key. What such a program gains is a point, not the machine.
- A test that a wrong program satisfies.
"""

from viva.sandbox.isolation import NoIsolationError
from viva.sandbox.sandbox import Sandbox

__all__ = ["NoIsolationError", "Sandbox"]
