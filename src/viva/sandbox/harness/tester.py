# mypy: ignore-errors
# ruff: noqa: S102
"""The test's process: holds the test and Viva's key, and of the program only handles (link.py).

No line of the program runs here, so the proof needs no disguise: when the last statement of the test is behind us, the
key goes to Viva, with a word more where code of the program's decided a comparison with a value of the test's.
"""

import ast
import builtins
import ctypes
import os
import sys
import traceback
import types
import warnings

import crossing
import link
import python
from crossing import Remote

import judging

CLASSES = frozenset(
    (
        "Counter",
        "DataFrame",
        "Decimal",
        "Fraction",
        "OrderedDict",
        "Series",
        "array",
        "date",
        "datetime",
        "deque",
        "timedelta",
    )
)
"""Names of classes of libraries, of which a test may leave the import to the program."""
ALWAYS_OWN = frozenset(("type", "isinstance", "issubclass", "__import__", "super", "object"))


class Names(dict):
    """What a test finds when it has no name of its own for something: Python's own, then the program's.

    What the program calls as a library is called is the library where the test uses it as one: a test that leaves the
    import to the program does not ask it what arrays are equal. Of a class of a library's the program may have one of
    its own, but then it is told what the test makes with it.
    """

    def __init__(self, side, libraries):
        super().__init__(vars(builtins))
        self.side, self.libraries = side, libraries

    def __missing__(self, name):
        found = self.side.name(name)
        self.side.asked = self.side.asked or name in CLASSES
        return self.libraries.get(name, found)


class _Rewriter(ast.NodeTransformer):
    """`type(x)` is also asked about things of the program's; and of functions that have a built-in name, the program's
    is called where judging.subjects says so."""

    def __init__(self, subjects, own):
        self.subjects, self.own = subjects, own

    def visit_Call(self, node):
        called = node.func
        self.generic_visit(node)
        if isinstance(called, ast.Name) and called.id not in self.own:
            if called.id == "type" and len(node.args) == 1 and not node.keywords:
                called.id = "viva type"
            elif id(node) in self.subjects:
                called.id = f"viva {called.id}"
        return node


def bound(tree):
    """The names that a test itself assigns, defines, imports, or takes as parameters."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names


def _imports(tree):
    """What the test imports at its top, for the program, which shared these names with its test before."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [(one.name, "", one.asname or one.name.split(".")[0]) for one in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            found += [(node.module, one.name, one.asname or one.name) for one in node.names]
    return tuple(found)


def _libraries(tree):
    """The modules that a test means by names of which it only uses what these modules have, by name."""
    used = {}
    whole = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, []).append(node.attr)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in whole:
            used.pop(node.id, None)
    modules = {name: sys.modules.get({"np": "numpy", "pd": "pandas"}.get(name, name)) for name in used}
    return {
        name: module
        for name, module in modules.items()
        if module and module.__name__ in crossing.MODULES and all(hasattr(module, one) for one in used[name])
    }


def _type_of(value):
    """The class of a value, or a handle of the class of a thing of the program's."""
    return value._viva[0].ask("get", value, "__class__") if isinstance(value, Remote) else type(value)


def _fail(error):
    python.flush()
    if isinstance(error, EOFError):
        os.write(2, b"the program ended before its test did\n")
        os._exit(1)
    trace = getattr(error, "_viva_trace", "")
    if trace:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "test.py"]
        os.write(2, f"{trace[-3000:]}(line {', '.join(map(str, lines))} of the test)\n".encode("utf-8", "replace"))
        os._exit(1)
    python.fail(error)


def examine(source, answers, incoming, outgoing):
    """Run the test that comes through the descriptor `source`, and prove it through `answers`. Never returns."""
    key, sizes = python.exactly(source, 64), python.read_line(source).split()
    test = python.exactly(source, sum(map(int, sizes)))
    side = link.Tester(incoming, outgoing, _fail, ends_iterations=b"StopIteration" in test)
    try:
        tree = ast.parse(test, "test.py")
        kind = side.receive()
        while kind == "printed":
            side.serve(kind)
            kind = side.receive()
        if kind != "ready":
            raise ValueError("the program's process says what it must not")
        (defined,) = side.body
        side.ask("import", _imports(tree))
        names = Names(side, _libraries(tree))
        names["viva type"] = _type_of
        own = bound(tree)
        shadowing = {name for name in defined if hasattr(builtins, name)} - ALWAYS_OWN - own
        names.update({f"viva {name}": side.name(name) for name in shadowing})
        tree = ast.fix_missing_locations(_Rewriter(judging.subjects(tree, shadowing, own), own).visit(tree))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            code = compile(tree, "test.py", "exec")
        exec(code, {"__builtins__": names})
        python.flush()
    except BaseException as error:
        _fail(error)
    os.write(answers, key + (b" asked\n" if side.asked else b"\n"))
    os.write(answers, python.read_line(source))
    os._exit(0)


def main():
    """Cold start."""
    incoming, outgoing, *names = sys.argv[1:]
    sys.argv = ["main.py"]
    sys.path[0] = ""
    python.stand_in(names)
    sys.modules["__main__"] = types.ModuleType("__main__")
    ctypes.CDLL(None).prctl(python.PR_SET_DUMPABLE, 0, 0, 0, 0)
    examine(3, 4, int(incoming), int(outgoing))


if __name__ == "__main__":
    main()
