"""Viva's harness inside a Python process: runs program and test, and proves that the test ran to its end.

Started as `python.py exit` (as published: exec in an empty namespace, no exception) or `python.py completion`; the warm
interpreter (zygote.py) calls `examine` instead. Its own code, for any Python from 3.9 on, with the standard library only.

The key (see proof.py) is known to one thread alone, the supervisor, which waits outside of everything that the program can
reach by frames, globals or the garbage collector. It gives the key away only after it has seen, from the stack of the main
thread itself, that the main thread stands behind the last statement of the test.
"""

import _thread
import ast
import builtins
import os
import sys
import types

from judging import Judge, rewritten  # beside this file

# What would let a program look at or change the frames that run it. Nothing that solves an exercise needs them.
DENIED = frozenset((
    "sys.settrace", "sys.setprofile", "sys._current_frames", "sys._current_exceptions", "sys.addaudithook",
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.cdata",
    "ctypes.cdata/buffer", "ctypes.string_at", "ctypes.wstring_at", "ctypes.call_function", "ctypes.PyObj_FromPtr",
    "cpython._PySys_ClearAuditHooks",
))


def stand_in(names):
    """Make empty modules for names that programs import by habit and that nothing installs any more."""
    from importlib.util import find_spec

    for name in names:
        if name not in sys.modules and find_spec(name) is None:
            sys.modules[name] = types.ModuleType(name)


def _line(read, source):
    text = b""
    while not text.endswith(b"\n"):
        more = read(source, 1)
        if not more:
            os._exit(1)
        text += more
    return text


def _bytes(read, source, size):
    text = b""
    while len(text) < size:
        more = read(source, size - len(text))
        if not more:
            os._exit(1)
        text += more
    return text


def _fail(error, leave=os._exit):
    """Say what went wrong, and end with status 1 whatever the program made of printing."""
    try:
        import traceback

        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        os.write(2, text[-4000:].encode("utf-8", "replace"))
    except BaseException:
        pass
    leave(1)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def as_published(path="main.py", leave=os._exit):
    """The published runner: passed if and only if no exception comes out, SystemExit included."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read()
        exec(compile(source, path, "exec"), {})
    except BaseException as error:
        _flush()
        _fail(error)
    _flush()
    leave(0)


def _supervise(main, frame, sources, received, finished, source, answers, waiting):
    """The supervisor's whole life. `frame` is the main thread's harness frame, `waiting` the code it ends in."""
    read, write, leave, look = os.read, os.write, os._exit, sys._current_frames
    head = _line(read, source).split()
    key = head[0] + b"\n"
    sources.extend((_bytes(read, source, int(head[1])), _bytes(read, source, int(head[2]))))
    del head
    sys.addaudithook(_hook(_thread.get_ident()))
    received.release()
    finished.acquire()
    for _ in range(1000):
        top = look().get(main)
        if top is not None and top.f_code is waiting and top.f_back is frame:
            break
        del top
        pause(0.001)
    else:
        leave(1)
    write(answers, key)
    write(answers, _line(read, source))
    leave(0)


from time import sleep as pause  # noqa: E402


def _hook(allowed, ident=_thread.get_ident, denied=DENIED, error=RuntimeError):
    def hook(event, arguments):
        if event in denied and ident() != allowed:
            raise error(f"{event} is not available to a program under test")

    return hook


def _wait(finished, forever):
    """Where the main thread ends; the supervisor looks for this very call."""
    finished.release()
    forever.acquire()
    forever.acquire()


def examine(source, answers):
    """Run program and test that come through the descriptor `source`, and prove it through `answers`. Never returns."""
    received, finished = _thread.allocate_lock(), _thread.allocate_lock()
    received.acquire()
    finished.acquire()
    sources = []
    _thread.start_new_thread(
        _supervise,
        (_thread.get_ident(), sys._getframe(), sources, received, finished, source, answers, _wait.__code__),
    )
    received.acquire()
    judge = Judge()
    execute, build = exec, compile
    fail, flush, wait, rewrite = _fail, _flush, _wait, rewritten
    lock = _thread.allocate_lock
    space = {}
    try:
        program, test = sources
        program = build(program, "main.py", "exec")
        tree = ast.parse(test, "test.py")
        execute(program, space)
        judge.restore()
        judge.space = space
        execute(rewrite(tree, judge), space)
        judge.check()
        flush()
    except BaseException as error:
        flush()
        fail(error)
    wait(finished, lock())


def main():
    """Cold start: one program in a process of its own."""
    mode, names = sys.argv[1], sys.argv[2:]
    sys.argv = ["main.py"]
    sys.path[0] = ""
    stand_in(names)
    if mode == "exit":
        as_published()
    examine(3, 4)


if __name__ == "__main__":
    main()
