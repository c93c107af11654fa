# mypy: ignore-errors
# ruff: noqa: S102, SIM115
"""Two Python processes, the program's and the test's, that see each other's values and never each other's memory.

A message is a line of JSON: [kind, body, changes, names]. One side asks, the other answers, and may ask back
before it does (a callback), so replies come in the order of nested calls. Values cross as crossing.py writes them.
Lists, dicts, sets, arrays and frames are known to both sides from then on: what one side does to one of them reaches
the other with the next message, so that a function may sort the test's list in place and return it. Everything else
(functions, objects of a program's own classes, generators) stays where it is, and the other side has its number: a
stub that sends calls with values and gets values. No stub is told what it is compared with, or how far it is from it.

What the program's process says is hostile: nothing in it is imported, called or evaluated on the test's side; and of
the test's own things the program's process may call, read and change only what `Tester.may` allows.
"""

import asyncio
import contextlib
import copy
import json
import os
import sys
import threading
import types

import crossing
from crossing import Remote

MOST = 1 << 26
"""Bytes of a message."""
OPAQUE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.ModuleType,
)
"""Types of the test's objects that lead to all others: the program may call them, and nothing else."""
NAMES, RUNNING = ("__name__", "__doc__", "__qualname__"), ("__next__", "__iter__", "__call__", "__repr__", "__str__")


def _special(target, name, given, named):
    if name in crossing.ALWAYS:
        return {"__copy__": copy.copy, "__deepcopy__": copy.deepcopy, "__dir__": dir}[name](target)
    return getattr(type(target), name)(target, *given, **dict(named))


OPERATIONS = {
    "special": _special,
    "get": getattr,
    "set": setattr,
    "del": delattr,
    "await": None,
}
"""Operations on an object that is named by its number."""


class Link:
    """One side of the link."""

    making = False
    """Whether the test is making an object of a program's class."""

    def __init__(self, incoming, outgoing):
        self.incoming, self.outgoing = open(incoming, "rb", closefd=False), open(outgoing, "wb", closefd=False)
        self.names = {}
        self.coder = crossing.Coder(self)
        self.encode, self.decode = self.coder.encode, self.coder.decode
        self.body = None
        self.turn = threading.RLock()
        """Held by the thread that reads and writes: one that asks, until the reply. The program's threads may call
        functions of the test's, so it is released while a request is answered; the reply waits for those that asked."""

    def send(self, kind, body):
        """Send a message with an encoded `body`, and with what has changed meanwhile."""
        text = json.dumps([kind, body, self.coder.changes(), self.renamed()]).encode("ascii")
        if len(text) > MOST:
            raise ValueError(f"a value of {len(text):,} bytes cannot cross; at most {MOST:,}")
        with contextlib.suppress(BrokenPipeError):  # what the other side said before it ended is still to be read
            self.outgoing.write(text + b"\n")
            self.outgoing.flush()

    def renamed(self):
        """Return names of the program's whose meaning changed since the test looked them up."""
        return []

    def receive(self):
        """Return the kind of the next message; only `body` has its body, so that nothing else refers to its content."""
        text = self.incoming.readline(MOST + 1)
        if not text.endswith(b"\n"):
            raise (
                ValueError("a message that is too long")
                if len(text) > MOST
                else EOFError("the other process has ended")
            )
        kind, body, changes, renamed = json.loads(text)
        self.body = self.decode(body)
        if changes:
            self.coder.change(changes)
        for name in renamed:
            self.names.pop(name, None)
        return kind

    def ask(self, kind, *body):
        """Send a request and return its reply, or raise its exception; requests that come first are answered."""
        with self.turn:
            request = self.encode(body)
            iterating = kind == "special" and body[1] == "__next__"
            try:
                self.send(kind, request)
                kind = self.receive()
                while kind not in ("value", "raised"):
                    self.serve(kind)
                    kind = self.receive()
                body, self.body = self.body, None
            except Exception as error:
                self.broken(error)
        if kind == "raised":
            raise body if iterating else self.raised(body)
        return body

    def raised(self, error):
        """Return the exception to raise here for one of the other side's; not used for an iterator's next item."""
        return error

    def truth(self, handle):
        """Return the truth value of a stub without `__bool__`: that of its length, if it has one."""
        return not hasattr(type(handle), "__len__") or len(handle) > 0

    def serve(self, kind):
        """Answer one request."""
        body, self.body = self.body, None
        self.turn.release()
        try:
            kind, result = "value", self.answer(kind, *body)
        except BaseException as error:
            self.told(error)
            kind, result = "raised", error
        finally:
            self.turn.acquire()
        del body
        try:
            result = self.encode(result)
        except (TypeError, RecursionError) as error:
            kind, result = "raised", self.encode(TypeError(str(error)))
        finally:
            self.making = False
        self.send(kind, result)

    def told(self, error):
        """Handle an error that the other side is about to be told of."""

    def answer(self, kind, target=None, *given):
        """Return the result of a request."""
        if kind not in OPERATIONS:
            raise ValueError(f"a request that is none: {kind!r}")
        self.may(kind, target, given[0] if given and isinstance(given[0], str) else "")
        return self.run(target) if kind == "await" else OPERATIONS[kind](target, *given)

    # -- what handles do

    def special(self, name, handle, given, named):
        """Call a special method of a stub's object."""
        return self.ask("special", handle, name, given, tuple(named.items()))


class Program(Link):
    """The program's side, which has nothing to protect."""

    trusting = True

    def __init__(self, incoming, outgoing, space):
        super().__init__(incoming, outgoing)
        self.space = space
        self.loop = None
        self.lock = threading.RLock()

    def may(self, kind, target, name):
        """Allow everything."""

    def broken(self, error):
        """End the process: the test is over."""
        os._exit(0 if isinstance(error, EOFError) else 1)

    def send(self, kind, body):
        """Send a message, after what was printed before it."""
        with self.lock:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
            super().send(kind, body)

    def renamed(self):
        """Return the names that the test has looked up and whose meaning has changed."""
        space, known = self.space, self.names
        names = [name for name, value in known.items() if space.get(name, crossing.MISSING) is not value]
        for name in names:
            del known[name]
        return names

    def printed(self, stream, text):
        """Send printed text to the test's side."""
        with self.lock:
            super().send("printed", self.encode((stream, text)))

    def answer(self, kind, target=None, *given):
        """Return the result of a request; also of one for the program's own names."""
        if kind == "name":
            if target not in self.space:
                return False, None
            named = self.names[target] = self.space[target]
            return True, named
        if kind == "define":
            self.space[target] = self.names[target] = given[0]
            return None
        if kind == "import":
            held, kinds = list(self.space.items()), (type, types.FunctionType)
            exec(target, self.space)
            defined = [name for name, value in held if isinstance(value, kinds) and value.__module__ == "main"]
            return tuple(defined), tuple([name for name, value in held if not callable(value)])
        if kind == "make":
            self.making = True
            kind = "special"
        return super().answer(kind, target, *given)

    def run(self, awaitable):
        """Wait for a coroutine or a future, on the one event loop of the program."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)

        async def waiting():
            return await awaitable

        return self.loop.run_until_complete(waiting())

    def go(self):
        """Answer until the test is over."""
        try:
            with self.turn:
                while True:
                    self.serve(self.receive())
        except Exception as error:
            self.broken(error)


class Tester(Link):
    """The test's side."""

    trusting = False

    def __init__(self, incoming, outgoing, fail, ends_iterations=False):
        super().__init__(incoming, outgoing)
        self.fail = fail
        self.ends_iterations = ends_iterations
        """Whether the test mentions StopIteration, so that a function of the program's may raise it."""
        self.asked = False
        """Whether code of the program's decided a comparison."""
        self.settings = {}, {}
        """Names that the test sets for the program, each with the value last sent, and the test's own names."""
        self.made = set()
        """The numbers of the program's classes, as the test names them, and of what it made by them."""

    def broken(self, error):
        """End the test: it cannot go on without its program, and cannot catch this."""
        self.fail(error if isinstance(error, EOFError) else ValueError(f"the program's process: {error}"))

    def serve(self, kind):
        """Answer one request; what the program printed goes to the test's output."""
        if kind == "printed":
            stream, text = self.body
            (sys.stderr if stream == "err" else sys.stdout).write(str(text))
        else:
            super().serve(kind)

    def told(self, error):
        """End the test at a failed assertion that would reach the program, to teach it or to be swallowed."""
        if isinstance(error, AssertionError) and not hasattr(error, "_viva_error"):
            self.fail(error)

    def may(self, kind, target, name):
        """Raise AttributeError unless the program may do this to an object of the test's: call or iterate what it was
        given, read attributes of instances. What it only names (a class of Python's, a value) was not given: by `type`
        or by the methods of a class it would make objects on this side that compare as it likes."""
        running = isinstance(target, OPAQUE) or (callable(target) and not isinstance(target, type))
        if kind == "get":
            allowed = name in NAMES if running else name[:1] != "_" and not hasattr(target, "assertEqual")
        elif kind == "special":
            making = name == "__call__" or (name in crossing.SPECIALS and not isinstance(target, type))
            allowed = name in RUNNING if running else making
        else:
            allowed = False
        if not allowed or id(target) not in self.coder.numbers:
            raise AttributeError(f"{name or kind} is the test's")

    def raised(self, error):
        """Return an exception of the program's; RuntimeError for StopIteration, which would end the test's map()."""
        if isinstance(error, StopIteration) and not self.ends_iterations:
            return RuntimeError("a function of the program's raised StopIteration")
        return error

    def run(self, awaitable):
        """Refuse: the program cannot await a coroutine of the test's."""
        raise TypeError("the test's coroutines cannot be awaited by the program")

    def ask(self, kind, *body):
        """Send a request, after new settings. An object that comes from one that the test made counts as made."""
        told, space = self.settings
        for name, before in told.items():
            if (value := space.get(name, crossing.MISSING)) is not before:
                told[name] = value
                super().ask("define", name, value)
        made = body and isinstance(body[0], Remote) and body[0]._viva[1] in self.made
        reply = super().ask("make" if made and kind == "special" and body[1] == "__call__" else kind, *body)
        if made and crossing.theirs(reply):
            self.made.add(crossing.theirs(reply))
        return reply

    def judge(self, value):
        """Return the value itself; note that the program decides where it is a stub."""
        self.asked = self.asked or crossing.theirs(value) is not None
        return value

    def name(self, name):
        """Return the program's value of a name. Raises KeyError."""
        if name not in self.names:
            defined, value = self.ask("name", name)
            if not defined:
                raise KeyError(name)
            self.names[name] = value
        return self.names[name]

    def special(self, name, handle, given, named):
        """Call a special method, by the program only for its own objects. A value of the test's is shown only to an
        object that the test made by its class: what a function returned could be all that it is compared with."""
        if name in ("__exit__", "__aexit__"):
            self.told(next(iter(given[1:]), None))
        operating = name in crossing.COMPARISONS or name in crossing.ARITHMETIC
        if operating and not any(map(crossing.theirs, given)) and given:
            if handle._viva[1] not in self.made:
                if name == "__contains__":
                    return any(item is given[0] or item == given[0] for item in handle)
                return NotImplemented
            result = super().special(name, handle, given, named)
            self.asked = self.asked or not crossing.theirs(result) or name in ("__sub__", "__rsub__")
            return result
        result = super().special(name, handle, given, named)
        deciding = name == "__eq__" or (name.endswith("check__") and not crossing.theirs(given[0]))
        self.asked = self.asked or (deciding and result is True)
        return result
