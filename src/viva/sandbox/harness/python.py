# mypy: ignore-errors
# ruff: noqa: S102, S110, SIM105, PTH123
"""Viva's harness inside a Python process: runs program and test, and proves that the test ran to its end.

Started as `python.py MODE`, of MODES (`exit`: as published, exec in an empty namespace, no exception); the warm
interpreter (zygote.py) calls the same functions. Our own code, for any Python from 3.9 on, standard library only.

For proof, the test is compiled before the program starts, and C code then goes through the steps (program, test), the
last of which releases a lock. Only a thread of the harness waits for that lock, with the key (see
proof.py) in its local variables. The frames below the program's own hold nothing of use any more: what they could
reach was handed over and deleted. An audit hook refuses access to other threads' frames, to all objects, and to memory.
"""

import _thread
import functools
import os
import sys
import types
from time import sleep as _sleep

DENIED = frozenset(
    (
        "sys.settrace",
        "sys.setprofile",
        "sys._current_frames",
        "sys._current_exceptions",
        "sys.addaudithook",
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "ctypes.dlsym",
        "ctypes.dlsym/handle",
        "ctypes.cdata",
        "ctypes.cdata/buffer",
        "ctypes.string_at",
        "ctypes.wstring_at",
        "ctypes.call_function",
        "ctypes.PyObj_FromPtr",
        "cpython._PySys_ClearAuditHooks",
        "cpython.PyInterpreterState_New",
    )
)
MODES = {
    "exit": ("python", "as_published"),
    "completion": ("python", "examine"),
    "calls": ("answer", "run_calls"),
    "test": ("tester", "examine"),
    "program": ("program", "run_program"),
}
"""Mode of a process → a module and its function, which never returns."""
HARNESS = ("zygote", "python", "answer", "program", "tester", "link", "crossing", "tables", "values")
"""Modules that programs cannot import."""
PR_SET_DUMPABLE = 4
PIECES = 8
"""The key is kept as this many numbers: it never lies in memory as the text that Viva sent."""


def stand_in(names):
    """Make empty modules for names that programs import by habit though no package provides them any more."""
    for name in names:
        sys.modules.setdefault(name, types.ModuleType(name))


def start(mode):
    """Prepare the process of a mode: hide the harness; return its function, and whether it gets Viva's pipes."""
    import ctypes

    module, name = MODES[mode]
    begin = getattr(__import__(module), name)
    for own in HARNESS:
        sys.modules.pop(own, None)
    sys.argv = ["main.py"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    if mode not in ("exit", "calls"):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    return begin, mode not in ("exit", "program")


def read_line(source, read=os.read, leave=os._exit):
    """Return a line from a descriptor, byte by byte, since what follows it is not for this reader."""
    text = b""
    while not text.endswith(b"\n"):
        more = read(source, 1)
        if not more:
            leave(1)
        text += more
    return text


def exactly(source, size, read=os.read, leave=os._exit):
    """Read `size` bytes from a descriptor."""
    text = b""
    while len(text) < size:
        more = read(source, size - len(text))
        if not more:
            leave(1)
        text += more
    return text


def fail(error, leave=os._exit, write=os.write):
    """Print what went wrong, and end with status 1, whatever the program did to printing."""
    try:
        import traceback

        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        write(2, text[-4000:].encode("utf-8", "replace"))
    except BaseException:
        pass
    leave(1)


def flush(sys=sys):
    """Write out what was printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def module():
    """Return the namespace of a new module, where pickling (multiprocessing) finds functions of the program's."""
    sys.modules["main"] = types.ModuleType("main")
    return vars(sys.modules["main"])


def as_published(path="main.py", leave=os._exit):
    """Run as published: passed if and only if no exception comes out, SystemExit included."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read()
        exec(compile(source, path, "exec"), {})
    except BaseException as error:
        flush()
        fail(error)
    flush()
    leave(0)


def count_runners(test):
    """Have unittest's runners raise where a test fails or the program skips it, and leave it to the test to end."""
    if b"unittest" not in test:
        return
    import unittest

    running, runners = unittest.TextTestRunner.run, unittest.TestProgram.runTests

    def run(self, suite):
        result = running(self, suite)
        if not result.wasSuccessful() or (result.skipped and b"skip" not in test.lower()):
            raise AssertionError("a test of the test's own runner failed")
        return result

    def run_all(self):
        self.exit = False
        runners(self)

    unittest.TextTestRunner.run, unittest.TestProgram.runTests = run, run_all


def _hook(allowed, ident=_thread.get_ident, denied=DENIED, error=RuntimeError):
    def hook(event, arguments):
        if event in denied and ident() != allowed:
            raise error(f"{event} is not available to a program under test")

    return hook


def _supervise(source, answers, sources, received, finished):
    """Run the only thread that has the key: take it, wait for the last step, and answer."""
    take, read, write, leave, hexadecimal = exactly, read_line, os.write, os._exit, "{:08x}".format
    pieces = [int(take(source, 64 // PIECES), 16) for _ in range(PIECES)]
    sources.extend([take(source, int(size)) for size in read(source).split()])
    received.release()
    del sources, received
    finished.acquire()
    write(answers, ("".join([hexadecimal(piece) for piece in pieces]) + "\n").encode())
    write(answers, read(source))
    leave(0)


def examine(source, answers):
    """Run program and test, which come through the descriptor `source`; prove it through `answers`. Never returns."""
    sources, received, finished = [], _thread.allocate_lock(), _thread.allocate_lock()
    received.acquire()
    finished.acquire()
    supervisor = _thread.start_new_thread(_supervise, (source, answers, sources, received, finished))
    received.acquire()
    space, step = module(), functools.partial
    named = step(space.__setitem__, "__name__", "__main__")
    becoming = step(sys.modules.__setitem__, "__main__", sys.modules["main"])
    failing, flushing, pause = fail, flush, _sleep
    try:
        program = compile(sources[0], "main.py", "exec")
        test = compile(sources[1], "test.py", "exec")
        steps = (step(exec, program, space), named, becoming, step(exec, test, space), step(flush))
        running = [map(step.__call__, (*steps, step(finished.release)))]
        count_runners(sources[1])
        sys.addaudithook(_hook(supervisor))
        del source, answers, sources, received, finished, program, test, steps, space, named, becoming
        list(running.pop())
    except BaseException as error:
        flushing()
        failing(error)
    while True:
        pause(60)


def main():
    """Run one program in a new process."""
    mode, names, *link = sys.argv[1:]
    begin, told = start(mode)
    sys.path[0] = ""
    stand_in([names])
    begin(*((3, 4) if told else ()), *map(int, link))


if __name__ == "__main__":
    main()
