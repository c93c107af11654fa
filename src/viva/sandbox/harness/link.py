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
"""Things of the test's that lead to all others: they can be called, and that is all."""
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
"""What may be asked of a thing by its number."""


class Link:
    """One side."""

    making = False
    """Whether the test makes an object by a class of the program's."""

    def __init__(self, incoming, outgoing):
        self.incoming, self.outgoing = open(incoming, "rb", closefd=False), open(outgoing, "wb", closefd=False)
        self.names = {}
        self.coder = crossing.Coder(self)
        self.encode, self.decode = self.coder.encode, self.coder.decode
        self.body = None
        self.turn = threading.RLock()
        """Who has it reads and writes: who asks, until the reply. Threads of the program's call functions of the test's
        as well, so it is given away while something is answered; the reply waits for those that asked meanwhile."""

    def send(self, kind, body):
        """One message, with what has changed meanwhile; `body` is encoded."""
        text = json.dumps([kind, body, self.coder.changes(), self.renamed()]).encode("ascii")
        if len(text) > MOST:
            raise ValueError(f"a value of {len(text):,} bytes cannot cross; at most {MOST:,}")
        with contextlib.suppress(BrokenPipeError):  # what the other side said before it ended is still to be read
            self.outgoing.write(text + b"\n")
            self.outgoing.flush()

    def renamed(self):
        """Return names of the program's that mean something else now than when the test looked them up."""
        return []

    def receive(self):
        """Return the kind of the next message; its body waits in `body`, so that nothing else holds what is in it."""
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
        """A request, and its reply: a value, or an exception that is raised. Requests that come first are answered."""
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
        """Return what the other side raised, as it is raised here, where no iterator was asked for its next item."""
        return error

    def truth(self, handle):
        """Return whether a thing of the other side's that says nothing of truth holds."""
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
        """The other side is told of an error."""

    def answer(self, kind, target=None, *given):
        """Return what was asked for."""
        if kind not in OPERATIONS:
            raise ValueError(f"a request that is none: {kind!r}")
        self.may(kind, target, given[0] if given and isinstance(given[0], str) else "")
        return self.run(target) if kind == "await" else OPERATIONS[kind](target, *given)

    # -- what handles do

    def special(self, name, handle, given, named):
        """Return a special method of a thing of the other side's."""
        return self.ask("special", handle, name, given, tuple(named.items()))


class Program(Link):
    """The program's side: it has nothing to lose."""

    trusting = True

    def __init__(self, incoming, outgoing, space):
        super().__init__(incoming, outgoing)
        self.space = space
        self.loop = None
        self.lock = threading.RLock()

    def may(self, kind, target, name):
        """Anything."""

    def broken(self, error):
        """The test is over."""
        os._exit(0 if isinstance(error, EOFError) else 1)

    def send(self, kind, body):
        """What was printed before goes first."""
        with self.lock:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
            super().send(kind, body)

    def renamed(self):
        """Return the names of the program's that the test has looked up, and that mean something else now."""
        space, known = self.space, self.names
        names = [name for name, value in known.items() if space.get(name, crossing.MISSING) is not value]
        for name in names:
            del known[name]
        return names

    def printed(self, stream, text):
        """Something was printed."""
        with self.lock:
            super().send("printed", self.encode((stream, text)))

    def answer(self, kind, target=None, *given):
        """Return what was asked for; also the program's own names."""
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
        """Whether the test speaks of StopIteration, so that a function of the program's may raise it."""
        self.asked = False
        """Whether code of the program's decided a comparison."""
        self.settings = {}, {}
        """Names of the test's that are for the program, each with what it was told, and the names of the test."""
        self.made = set()
        """The numbers of the program's classes, as the test names them, and of what it made by them."""

    def broken(self, error):
        """No test goes on without its program, and none can catch this."""
        self.fail(error if isinstance(error, EOFError) else ValueError(f"the program's process: {error}"))

    def serve(self, kind):
        """What the program printed goes where the test's output goes."""
        if kind == "printed":
            stream, text = self.body
            (sys.stderr if stream == "err" else sys.stdout).write(str(text))
        else:
            super().serve(kind)

    def told(self, error):
        """An assertion of the test's that fails where the program could see it would tell it what is right, and the
        program might swallow it."""
        if isinstance(error, AssertionError) and not hasattr(error, "_viva_error"):
            self.fail(error)

    def may(self, kind, target, name):
        """Whether the program may do this to a thing of the test's: to call and go through what it was given, and to
        read attributes of instances. What it only names (a class of Python's, a value) it was not given: by `type` or
        by the methods of a class it would make things on this side that compare as it likes."""
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
        """An exception of the program's. One that ends an iteration would end those of the test, map() and all() among
        them, so that what was left is never looked at."""
        if isinstance(error, StopIteration) and not self.ends_iterations:
            return RuntimeError("a function of the program's raised StopIteration")
        return error

    def run(self, awaitable):
        """A coroutine of the test's cannot be awaited by the program."""
        raise TypeError("the test's coroutines cannot be awaited by the program")

    def ask(self, kind, *body):
        """As above. What comes from an object that the test made is as good as made."""
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
        """Return the value itself; a thing of the program's is asked what decides."""
        self.asked = self.asked or crossing.theirs(value) is not None
        return value

    def name(self, name):
        """Return what the program calls so."""
        if name not in self.names:
            defined, value = self.ask("name", name)
            if not defined:
                raise KeyError(name)
            self.names[name] = value
        return self.names[name]

    def special(self, name, handle, given, named):
        """The program's answer, of its own things alone. Of a value of the test's only an object is told that the test
        made by its class: what a function returned could be all that it is compared with."""
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
