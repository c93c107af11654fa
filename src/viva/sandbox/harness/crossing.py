# mypy: ignore-errors
# ruff: noqa: PLR0911, PLR0912, SIM905
"""Python values encoded for the process on the other side of a link, and decoded there.

JSON; an object is always a tag with one value. Nothing is pickled, and what is made of hostile JSON are values of
known types. On the test's side exceptions become the classes that are loaded there under the same name, or classes made
for them. Anything but a value (a function, a generator, an instance of a program's class) crosses as a number, and
becomes a stub that sends calls and reads fields (link.py).
"""

import base64
import collections
import functools
import itertools
import math
import sys
import traceback
import types
import weakref

import tables

MANY, MUCH = 4000, 4_000_000
"""Containers that are kept the same on both sides, and items in all of them; the oldest are forgotten."""
SPECIALS = tuple(
    f"__{name}__"
    for name in (
        "call len iter next getitem setitem delitem contains bool enter exit str repr format hash int float index abs"
        " neg pos invert round reversed eq lt le gt ge add sub mul truediv floordiv mod pow divmod matmul and or xor"
        " lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor iadd isub imul itruediv"
        " aiter anext aenter aexit await instancecheck subclasscheck missing"
    ).split()
)
ASYNCHRONOUS = frozenset(("__anext__", "__aenter__", "__aexit__"))
ALWAYS = ("__copy__", "__deepcopy__", "__dir__")
METHODS = frozenset((*SPECIALS, *ALWAYS))
COMPARISONS = frozenset(("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"))
ARITHMETIC = frozenset(SPECIALS[SPECIALS.index("__add__") : SPECIALS.index("__aiter__")])
READABLE = frozenset(
    ("__name__", "__qualname__", "__doc__", "__dict__", "__wrapped__", "__members__", "__annotations__")
)
"""Names with underscores that a test may ask for; numpy and pandas ask for others, and believe any answer."""
CONTAINERS = tables.CONTAINERS
ALONE = 3
"""References to a container that only a Coder has: in `kept`, in a variable, and as an argument."""
RUNNERS = ("unittest", "_pytest", "pytest")
"""Modules whose exceptions tell a runner to skip or stop a test; the program has classes of the same name."""
EXACTLY = {
    tuple: tuple,
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: bytes,
    frozenset: frozenset,
}
"""Class → what turns an instance of a program's subclass into a plain value, past the subclass's methods."""
BIG = 10**4000
HARNESS = frozenset(__file__.replace("crossing", name) for name in ("crossing", "link", "program"))
FILLING = object()
"""Placeholder for the content of a container that is being decoded."""
MODULES = frozenset(
    "array bisect cmath collections copy datetime decimal enum fractions functools heapq io itertools json math numbers"
    " numpy operator pandas random re statistics string sys textwrap time types typing unittest".split()
)
"""Modules that a test may use, in its own process, though only the program imported them."""


MISSING = object()
"""Placeholder for a name that the program does not define."""


class Remote:
    """A stub of an object on the other side; only Tester.special answers comparisons with it."""

    __slots__ = ("__weakref__", "_viva")

    def __getattr__(self, name):
        if name == "_viva" or (name[:2] == "__" and name not in READABLE):
            raise AttributeError(name)
        return self._viva[0].ask("get", self, name)

    def __setattr__(self, name, value):
        self._viva[0].ask("set", self, name, value)

    def __delattr__(self, name):
        self._viva[0].ask("del", self, name)

    def __repr__(self):
        return self._viva[0].special("__repr__", self, (), {})

    def __bool__(self):
        return self._viva[0].truth(self)


def theirs(value):
    """Return the number of a stub's object; None for a value."""
    return value._viva[1] if isinstance(value, Remote) else type(value).__dict__.get("_viva_based")


async def _awaited(handle):
    return handle._viva[0].ask("await", handle)


def _special(name):
    def method(self, *given, **named):
        return self._viva[0].special(name, self, given, named)

    async def asynchronous(self, *given):
        value = self._viva[0].special(name, self, given, {})
        return await value if hasattr(value, "__await__") else value

    if name == "__await__":
        return lambda self: _awaited(self).__await__()
    return asynchronous if name in ASYNCHRONOUS else method


_KINDS = {}


def _kind(name, specials):
    """Return the class of stubs for objects with these special methods."""
    kind = _KINDS.get((name, specials))
    if kind is None:
        documented = property(lambda self: self._viva[0].ask("get", self, "__doc__"))
        space = {"__slots__": (), "__module__": "builtins", "__doc__": documented}
        space.update({method: _special(method) for method in METHODS.intersection((*specials, *ALWAYS))})
        if "__eq__" in space and "__hash__" not in specials:
            space["__hash__"] = None
        elif "__hash__" not in specials:
            space["__hash__"] = Remote.__hash__
        kind = _KINDS[name, specials] = type(name, (Remote,), space)
    return kind


def defined(kind, name):
    """Return the class's own or inherited method of that name; None for that of `object`."""
    for base in kind.__mro__[:-1]:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def changed(kind, base):
    """Return the names of a base's methods that a class of the program's overrides."""
    below = kind.__mro__[: kind.__mro__.index(base)]
    names = {
        name for each in below for name in vars(each) if name in SPECIALS or (name[:1] != "_" and hasattr(base, name))
    }
    kept = names & {"__contains__"} if base.__name__ in CONTAINERS else set()
    return sorted(names - {"__hash__", "__repr__"} - COMPARISONS | kept)


def _of_remote(name, remote):
    return lambda self, *given, **named: remote._viva[0].special(name, remote, given, named)


def _from_remote(name, remote, self):
    return getattr(remote, name)


def resolved(module, path):
    """Resolve a dotted name in a module, or without one the module itself; None where there is no such name."""
    value = sys.modules.get(module)
    for part in path.split(".") if path else ():
        value = getattr(value, part, None)
    return value


def harmless(module, path):
    """Tell whether the program may name this: a module that the test may use, or a class of Python's or NumPy's."""
    thing = resolved(module, path)
    if module == "numpy" and path:
        return isinstance(thing, type) and issubclass(thing, tables.numpy.generic)
    return isinstance(thing, type) if module == "builtins" else not path and module in MODULES


class Coder:
    """One side's encoder and decoder, which remembers what has crossed."""

    def __init__(self, link):
        self.link = link
        self.mine, self.numbers = {}, {}  # number → a thing that the other side has a handle of; by id
        self.handles = weakref.WeakValueDictionary()
        self.classes = {}  # number → the class that stands for an exception class of the other side's
        self.kept = {}  # number → (a container that both sides have, what was in it when it last crossed)
        self.kept_numbers = {}
        self.items = 0
        self.forgotten = []
        self.numbering = itertools.count(1 if link.trusting else 2, 2)
        self.specials = {}

    # -- writing

    def encode(self, value):
        """Return a value as JSON. Raises TypeError for what cannot cross."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -BIG < value < BIG else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        number = self.kept_numbers.get(id(value))
        if number is not None:
            return {"kept": number}
        if CONTAINERS.get(kind.__name__) is kind:
            return self._container(value)
        known = theirs(value)
        if known is not None:
            return {"yours": known}
        parts = tables.apart(value, kind)
        if parts is not None:
            return {parts[0]: [self.encode(part) for part in parts[1]]}
        if tables.is_table(value):
            return self._container(value)
        if isinstance(value, BaseException):
            return self._error(value)
        if isinstance(value, type) and issubclass(value, BaseException):
            return self._error_class(value)
        named = self._named(value)
        if named:
            return {"named": named}
        if isinstance(value, types.ModuleType):
            raise TypeError(f"the module {value.__name__} cannot cross")
        base = tables.base_of(kind)
        if base is not None and self.by_value(kind, base):
            return self._over(value, kind, base)
        table = tables.plain(value)
        return self._handle(value) if table is None else self._container(table)

    def _over(self, value, kind, base):
        """Return an instance of a program's subclass of a plain class: its number, its plain value, and its methods."""
        handle = self._handle(value)["mine"]
        if base in EXACTLY:
            # Its text is asked for even though it crosses as a plain value.
            others = changed(kind, base) if self.link.making else ["__str__"] if defined(kind, "__str__") else []
            return {"based": [handle, base.__name__, self.encode(EXACTLY[base](value)), others]}
        self.keep(handle[0], value)
        return {"based": [handle, base.__name__, self._content(value), changed(kind, base)]}

    def _container(self, value):
        number = next(self.numbering)
        if tables.is_table(value):  # what is in its cells is new but once
            written = self._content(value)
            self.keep(number, value)
        else:
            self.keep(number, value)
            written = self._content(value)
        return {"new": [number, type(value).__name__, written]}

    def _taken(self, value):
        """Return a snapshot of a container's content for later comparison; of a table, its encoding."""
        return self._content(value) if tables.is_table(value) else tables.taken(value)

    def keep(self, number, value):
        """Remember a container that both sides have."""
        self.kept.pop(number, None)
        self.items += tables.size(value)
        while self.kept and (len(self.kept) >= MANY or self.items > MUCH):
            oldest = next(iter(self.kept))
            self.forget(oldest)
            self.forgotten.append([oldest, None])
        self.kept[number] = (value, self._taken(value))
        self.kept_numbers[id(value)] = number

    def forget(self, number):
        """Stop sharing a container: the two sides no longer exchange changes of it."""
        if number in self.kept:
            value, _ = self.kept.pop(number)
            self.kept_numbers.pop(id(value), None)
            self.items -= tables.size(value)

    def _content(self, value):
        if tables.is_table(value):
            return self.encode(tables.table_apart(value))
        items = tables.items(value)
        if isinstance(items, bytes):
            return base64.b64encode(items).decode("ascii")
        if isinstance(value, dict):
            content = [[self.encode(key), self.encode(item)] for key, item in items]
            return [*content, [self.encode(value.default_factory)]] if hasattr(value, "default_factory") else content
        kinds = set(map(type, items))
        if kinds <= {str, bool, type(None)} or (kinds == {int} and min(items) > -BIG and max(items) < BIG):
            return items
        return [self.encode(item) for item in items]

    def changes(self):
        """Return the containers that changed since they last crossed: number and content."""
        changed_objects, self.forgotten = self.forgotten, []
        for number, (value, before) in list(self.kept.items()):
            if before is FILLING:
                continue
            now = self._taken(value)
            if not tables.same(before, now):
                self.kept[number] = (value, now)
                changed_objects.append([number, now if tables.is_table(value) else self._content(value)])
            if sys.getrefcount(value) == ALONE:  # nothing on this side refers to it any more
                self.forget(number)
                changed_objects.append([number, None])
            del value, before
        return changed_objects

    def by_value(self, kind, base):
        """Tell whether an instance of a plain class's subclass is compared by value: not where the test made it by a
        class of the program's that defines a comparison."""
        return not self.link.making or defined(kind, "__eq__") is base.__dict__["__eq__"]

    def _named(self, value):
        """Return module and name by which the other side can look up a value; None where it must not or cannot."""
        if isinstance(value, types.ModuleType):
            module, name = value.__name__, ""
        elif self.link.trusting and not isinstance(value, type):
            return None
        else:
            owner = value if isinstance(value, type) else getattr(value, "__objclass__", None)
            module = getattr(owner, "__module__", None) or getattr(value, "__module__", None)
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        texts = isinstance(module, str) and isinstance(name, str) and module != "__main__"
        same = texts and resolved(module, name) is value
        return [module, name] if same and (not self.link.trusting or harmless(module, name)) else None

    def _handle(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = next(self.numbering)
            self.mine[number], self.numbers[id(value)] = value, number
        kind = type(value)
        specials = self.specials.get(kind)
        if specials is None:
            specials = [name for name in SPECIALS if defined(kind, name) is not None]
            self.specials[kind] = specials
        return {"mine": [number, kind.__name__, specials, isinstance(value, types.CoroutineType)]}

    def _error_class(self, value):
        theirs = value.__dict__.get("_viva_class")
        if theirs is not None:
            return {"yours": theirs}
        named = self._named(value)
        if named:
            return {"named": named}
        number = self._handle(value)["mine"][0]
        module = "" if value.__module__ in ("main", "__main__", "builtins") else value.__module__
        bases = [self._error_class(base) for base in value.__bases__ if issubclass(base, BaseException)]
        return {"error class": [number, value.__name__, bases, module, value.__qualname__]}

    def _error(self, error):
        theirs = getattr(error, "_viva_error", None)
        if theirs is not None:
            return {"yours": theirs}
        try:
            arguments, text = [self.encode(argument) for argument in error.args], str(error)
        except Exception:
            arguments, text = [], ""
        trace = ""
        if self.link.trusting:
            frame = error.__traceback__
            while frame is not None and frame.tb_frame.f_code.co_filename in HARNESS:
                frame = frame.tb_next
            trace = "".join(traceback.format_exception(type(error), error, frame))[-3000:]
        number = self._handle(error)["mine"][0]
        cause = None if error.__cause__ is None else self._error(error.__cause__)
        return {"error": [number, self._error_class(type(error)), arguments, text, trace, cause]}

    # -- reading

    def decode(self, node):
        """Return the value of JSON. May raise anything: hostile JSON ends the conversation."""
        if not isinstance(node, dict):
            return node
        ((tag, inner),) = node.items()
        if tag in READING:
            return READING[tag](self, *inner)
        if tag == "kept":
            return self.kept[inner][0]
        if tag == "yours":
            return self.mine[inner]
        if tag in ("int", "float"):
            return int(inner, 16) if tag == "int" else float(inner)
        return tables.TOGETHER[tag](*[self.decode(item) for item in inner])

    def _looked_up(self, module, path):
        if self.link.trusting or module in MODULES:
            __import__(module)
        if not self.link.trusting and not harmless(module, path):
            raise ValueError("the program names what the test should import")
        return resolved(module, path)

    def _made(self, number, name, content):
        if name in CONTAINERS:
            value = CONTAINERS[name]()
            self.kept[number] = (value, FILLING)  # before its content, which may hold it
            self.kept_numbers[id(value)] = number
            self._fill(value, content)
        else:
            value = tables.table(name, self.decode(content))
        self.keep(number, value)
        return value

    def _fill(self, value, content):
        if tables.is_table(value):
            tables.become(value, tables.table(type(value).__name__, self.decode(content)))
        elif isinstance(value, bytearray):
            value[:] = base64.b64decode(content)
        elif isinstance(value, dict):
            tables.fill(value, [(self.decode(pair[0]), self.decode(pair[1])) for pair in content if len(pair) == 2])
            if isinstance(value, collections.defaultdict) and content and len(content[-1]) == 1:
                value.default_factory = self.decode(content[-1][0])
        else:
            simple = {dict, list}.isdisjoint(map(type, content))
            tables.fill(value, content if simple else [self.decode(item) for item in content])

    def change(self, changes):
        """Apply the other side's changes to our containers."""
        for number, content in changes:
            if content is None or number not in self.kept or self.kept[number][1] is FILLING:
                self.forget(number)
                continue
            value, _ = self.kept[number]
            self._fill(value, content)
            self.kept[number] = (value, self._taken(value))

    def _handled(self, number, name, specials, awaitable=False):
        handle = self.handles.get(number)
        if handle is None:
            handle = _kind(str(name), tuple(specials))()
            object.__setattr__(handle, "_viva", (self.link, number))
            self.handles[number] = handle
        return _awaited(handle) if awaitable else handle

    def _based(self, handle, base, value, others):
        number, name, specials, _ = handle
        remote = self._handled(number, name, specials)
        space = {
            "__getattr__": lambda self, name: getattr(remote, name),
            "__setattr__": lambda self, name, value: setattr(remote, name, value),
            "__module__": "builtins",
            "__repr__": lambda self: repr(remote),
            "_viva_based": number,
        }
        for member in (*others, *ALWAYS):
            if member in METHODS:
                space[member] = _of_remote(member, remote)
            elif not member.startswith("_"):
                space[member] = property(functools.partial(_from_remote, member, remote))
        if base not in CONTAINERS:
            base = next(container for container in EXACTLY if container.__name__ == base)
            return base.__new__(type(str(name), (base,), space), self.decode(value))
        kind = type(str(name), (CONTAINERS[base],), space)()
        self.kept[number] = (kind, FILLING)
        self._fill(kind, value)
        self.keep(number, kind)
        return kind

    def _class_of_error(self, number, name, bases, module, path):
        kind = self.classes.get(number)
        if kind is None:
            kind = resolved(module, path) if module in sys.modules and not module.startswith(RUNNERS) else None
            if not (isinstance(kind, type) and issubclass(kind, BaseException) and kind.__module__ == module):
                bases = tuple([self.decode(base) for base in bases])
                if not all(issubclass(base, BaseException) for base in bases):
                    raise ValueError("an exception that is none")
                kind = type(str(name), bases or (Exception,), {"_viva_class": number, "__module__": "builtins"})
            self.classes[number] = kind
        return kind

    def _raised(self, number, kind, arguments, text, trace, cause):
        kind = self.decode(kind)
        if not issubclass(kind, BaseException):
            raise ValueError("an exception that is none")
        arguments = [self.decode(argument) for argument in arguments]
        if "_viva_class" in kind.__dict__:
            remote = self._handled(number, kind.__name__, [])
            space = {"__getattr__": lambda self, name: getattr(remote, name), "__str__": lambda self: text}
            kind = type(kind.__name__, (kind,), {"__module__": "builtins", **space})
            error = kind.__new__(kind, *arguments)
        else:
            try:
                error = kind(*arguments)
            except Exception:
                error = kind.__new__(kind)
        error.args = tuple(arguments)
        error._viva_error = number
        error.__cause__ = None if cause is None else self.decode(cause)
        if trace and not self.link.trusting:
            error._viva_trace = str(trace)
        return error


READING = {
    "new": Coder._made,
    "mine": Coder._handled,
    "based": Coder._based,
    "error": Coder._raised,
    "error class": Coder._class_of_error,
    "named": Coder._looked_up,
}
"""Decoders of the forms that are more than a plain value."""
