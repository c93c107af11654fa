"""The sandbox: programs that models wrote, run so that they cannot leave, and judged so that they cannot lie.

    sandbox = Sandbox()
    execution = await sandbox.run(Execute(question="q", sample=0, language="python", program=..., test=...))
    execution.verdict   # "passed", "failed", "compile", "timeout", "limit", "toolchain"

**Isolation.** Every program gets a world of its own, made by bubblewrap and thrown away: new namespaces of every kind (no
network, no other processes, no neighbours), the system read-only, empty folders in memory as the only ones it can write,
no home and no environment of this machine, an unprivileged identity without any capability also when Viva runs as root, a
system call filter (seccomp.toml), and limits on CPU time, memory, processes, file size, disk, open files and output. At a
limit, at the end, when the caller gives up, and when Viva dies in whatever way, the kernel kills the whole tree at once.
Python programs are forked from an interpreter that has imported the usual libraries (harness/zygote.py) into fresh
namespaces with the same walls. Where isolation is not to be had, nothing is run.

**Limits of time.** `Execute.seconds` counts what a program does itself: the CPU time of all its processes, plus the time in
which it sleeps. Time for which it waits for a busy processor does not count, so a loaded machine turns nothing into a
timeout; by the clock no program gets more than three times its seconds, at least ten more.

**Proof.** With `proof="completion"` a program passes only if its test ran to its last statement: proof.py says how that is
proved, and each file of harness/ what its language needs so that a test's words mean what they say: assertions,
comparisons and the library functions behind them are the language's own, whatever the program redefined. Such tests come
to their end by themselves; one that calls exit(0) does not pass. `proof="exit"` is the published rule, and changes nothing
in a program; whoever exits with status 0 passes.

**What it does not protect against.**
- A defect of the kernel itself: there is one kernel. The filter takes away what attacks usually begin with; who needs more
  runs Viva in a virtual machine.
- Guessing by side channels, and noise: programs share processors, caches and the memory bus with everything else.
- Memory and processes of a whole tree are looked at some thirty times a second, since cgroups need rights that users lack: a
  tree of processes can overshoot for that long, each process by no more than its own limit. Kernel memory (pipes, sockets,
  page tables) is bounded by the number of processes and descriptors only.
- A program that is written against Viva's own harness. Program and test share one process, because tests call functions;
  somebody who has read harness/ can search his own memory for the key in C++, Go and, by unsafe reflection, in others, or
  answer a comparison in a way that the harness does not look at (an object that converts to whatever it is compared with).
  The key is read before the program starts, new each time, kept where the language offers no name for it, and one wrong
  answer is the last. What such a program gains is one point, not the machine.
- A test that a wrong program passes honestly, and a test that can be satisfied by values that are not equal.

The files of /usr are visible to programs, as is the machine's name for its kernel and processors.
"""

from viva.sandbox.isolation import NoIsolationError
from viva.sandbox.sandbox import Sandbox

__all__ = ["NoIsolationError", "Sandbox"]
