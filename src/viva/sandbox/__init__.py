"""Programs that models wrote, run isolated, and judged so that they cannot fake a verdict.

    sandbox = Sandbox()
    execution = await sandbox.run(Execute(question="q", sample=0, language="python", program=..., test=...))
    execution.verdict   # "passed", "failed", "compile", "timeout", "limit", "toolchain"

**Isolation.** Every program gets a world of its own, made by bubblewrap and thrown away: new namespaces of every kind
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
that is proved, and each file of harness/ what its language needs so that a test's words mean what they say:
assertions, comparisons and the library functions behind them are the language's own, whatever the program redefined.
Such a test comes to its end by itself; one that calls exit(0) does not pass. `proof="exit"` is the published rule, and
changes nothing in a program: whoever exits with status 0 passes.

**Two processes.** Where a test is made of calls and comparisons, what decides is not in the program's process: Viva
itself compares (calls.py), or the test runs in a second sandbox and has values and handles of the program's things
(harness/link.py). `Execution.isolation` says "separate" then, and "shared" where a test must live with its program.

**What it does not protect against.**

- A defect of the kernel: there is one for all. The filter takes away what attacks usually begin with; who needs more
  runs Viva in a virtual machine.
- Side channels and noise: programs share processors, caches and the memory bus with everything else. They can read
  /usr, and see the machine's kernel and processors.
- Overshoot. Where this user may make control groups (cgroups.py; `viva doctor` says so), the kernel holds memory,
  processes and CPU time of a whole tree. Elsewhere they are looked at some thirty times a second: a tree can exceed
  its limit for that long, each process by no more than its own limit, and kernel memory behind pipes and sockets is
  bounded by the number of processes and descriptors only.
- A program written against this very harness, where it shares a process with its test: whoever has read harness/ may
  search his own memory for the key, which is there in some disguise, or return an object
  that answers comparisons in a way which the harness does not look at (one that converts itself to what it is compared
  with, for instance, or a C++ type with a converting constructor). The key is new for every run, is taken before the
  program starts, and the first wrong word ends the conversation. What such a program gains is a point, not the machine.
- A test that a wrong program satisfies.
"""

from viva.sandbox.isolation import NoIsolationError
from viva.sandbox.sandbox import Sandbox

__all__ = ["NoIsolationError", "Sandbox"]
