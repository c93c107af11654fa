# mypy: ignore-errors
# ruff: noqa: S102
"""The test's process: holds the test and Viva's key, and of the program only stubs (link.py).

No line of the program runs here, so the proof needs no disguise: when the last statement of the test is behind us, the
key goes to Viva, with a word more where code of the program's decided a comparison.
"""

import ast
import builtins
import copy
import os
import re
import sys
import traceback
import types
import warnings

import crossing
import link
import python
from crossing import Remote

LIBRARIES = ("math", "collections", "copy", "datetime", "decimal", "fractions", "functools", "itertools", "statistics",
             "numpy.testing", "pandas.testing", "pytest")  # fmt: skip
"""Modules that a test may use through the imports of the program."""
CHECKING = re.compile("assert|check|equal|expect|match|same|should|test|verify", re.IGNORECASE)
"""Names of functions that check something; any other may change what it is given."""
COMPARING = re.compile("(?i)equal|close|greater|less")
ALWAYS_OWN = frozenset(("type", "isinstance", "issubclass", "__import__", "super", "object"))


def _imported(name):
    """Return a library that only the program need import; None where it is missing."""
    try:
        __import__(name)
    except ImportError:
        return None
    return sys.modules[name]


def known(name):
    """Return the value of a name in Python or a library, or None. Importing every library each time would be slow."""
    value = getattr(builtins, name, None)
    library = _imported if name[:7] == "assert_" else sys.modules.get
    for module in LIBRARIES if value is None and name[:1] != "_" else ():
        value = getattr(library(module), name, None) or value
    return None if isinstance(value, types.ModuleType) else value


class Names(dict):
    """Names that a test does not define itself: Python's, a library's, then the program's.

    `libraries` are names that a test leaves to the imports of the program and uses as a library: it does not ask the
    program what numbers are close. `classes` are those by which it makes objects.
    """

    def __init__(self, side, libraries, classes):
        super().__init__(vars(builtins))
        self.side, self.libraries, self.classes = side, libraries, classes

    def __missing__(self, name):
        if name in self.libraries:
            return self.libraries[name]
        value = self.side.name(name)
        if name in self.classes and isinstance(value, Remote):
            self.side.made.add(value._viva[1])
        return value


class _Rewriter(ast.NodeTransformer):
    """Rewrite a test: `type(x)` also works on stubs; a function with a name of Python's is the program's where
    `subjects` says so; the objects of `methods` are noted; and of `values` copies are given."""

    def __init__(self, subjects, own, methods, values):
        self.subjects, self.own, self.methods, self.values = subjects, own, methods, values

    def visit_Name(self, node):
        if id(node) not in self.values:
            return node
        return ast.Call(ast.Name("viva copied", ast.Load()), [node], [])

    def visit_Call(self, node):
        called = node.func
        self.generic_visit(node)
        for given in node.args:
            if id(given) in self.subjects:
                given.id = f"viva {given.id}"
        if id(node) in self.methods:
            called.value = ast.Call(ast.Name("viva judge", ast.Load()), [called.value], [])
        if _id(called) not in {None, *self.own}:
            if called.id == "type" and len(node.args) == 1 and not node.keywords:
                called.id = "viva type"
            elif id(node) in self.subjects:
                called.id = f"viva {called.id}"
        return node


def _id(node):
    """Return the name of a node; None where it is no name."""
    return getattr(node, "id", None)


def _every(tree, *kinds):
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _names(tree):
    """Return the names in a tree, but for the parameters of functions in it."""
    return {node.id for node in _every(tree, ast.Name)} - {node.arg for node in _every(tree, ast.arg)}


def _loaded(tree):
    """Return the names that are read in a tree."""
    return {node.id for node in _every(tree, ast.Name) if isinstance(node.ctx, ast.Load)}


def _statements(tree):
    """Return the statements without others in them; of an assertion each part, of a call the call; and decorators."""
    for node in ast.walk(tree):
        yield from getattr(node, "decorator_list", ())
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.Assert):
            both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            yield from node.test.values if both else [node.test]
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def subjects(tree, own, defined):
    """Return the ids of those calls in a test that mean functions of the program's which have a name of Python's or of
    a library's, as in `assert round(2.5) == 3`: they are given plain values in a statement of their own, or the test is
    about nothing else; and of the names that such a test hands to a function of its own, as in `check(median)`. In
    `assert answer(2) == set([2])` the name is Python's: the program must not be given what is expected.
    """
    imported = bound(ast.Module(_every(tree, ast.Import, ast.ImportFrom), []))
    loaded = _loaded(tree)
    shadowing = {name for name in loaded - own - ALWAYS_OWN if known(name) is not None}
    alone = not any(name not in own and known(name) is None for name in loaded)
    ids = {
        id(given)
        for node in _every(tree, ast.Call)
        if alone and _id(node.func) in own - imported
        for given in node.args
        if _id(given) in shadowing
    }
    for statement in _statements(tree):
        calls = [
            node
            for node in _every(statement, ast.Call)
            if _id(node.func) in shadowing.intersection(defined)
            and all(known(name) or alone for given in (*node.args, *node.keywords) for name in _names(given))
        ]
        names = {name for name in _names(statement) - imported - {"self"} if known(name) is None}
        if calls and (alone or (not isinstance(statement, ast.stmt) and not names)):
            first = min(calls, key=lambda node: (node.lineno, node.col_offset)).func.id
            ids |= {id(node) for node in calls if node.func.id == first}
    return ids, shadowing


def _classes(tree):
    """Return the names by which a test makes objects: one word with a capital (`Money`); several (`DaysInYear`, perhaps
    a function's) where it uses what it makes as an object."""
    made, used = {}, {name for name in _names(tree) if name.istitle()}

    def maker(node):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[:1].isupper()
        return node.func.id if named else made.get(_id(node))

    for node in _every(tree, ast.Assign):
        if maker(node.value):
            made.update({target.id: maker(node.value) for target in node.targets if isinstance(target, ast.Name)})
    used |= {maker(node.value) or getattr(node.value, "id", "") for node in _every(tree, ast.Attribute, ast.Subscript)}
    return {name for name in used if name[:1].isupper()}


def bound(tree):
    """Return the names that a test itself assigns, defines, imports, or takes as parameters."""
    names = {node.id for node in _every(tree, ast.Name) if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif not isinstance(node, ast.keyword):
            names |= {getattr(node, "name", None), getattr(node, "arg", None)}
    return names - {None}


def _imports(tree):
    """Return the imports at the test's top, for the program, which would have them if they were one file."""
    return ast.unparse([node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))])


def _libraries(tree):
    """Return name → module, for names of modules of which a test uses only what the module has."""
    fields = [node for node in _every(tree, ast.Attribute) if isinstance(node.value, ast.Name)]
    owners = {id(node.value) for node in fields}
    used = {node.value.id for node in fields} - {node.id for node in _every(tree, ast.Name) if id(node) not in owners}
    names = {name: {"np": "numpy", "pd": "pandas"}.get(name, name) for name in used}
    modules = {name: _imported(module) for name, module in names.items() if module in crossing.MODULES}
    return {
        name: module
        for name, module in modules.items()
        if module and all(hasattr(module, node.attr) for node in fields if node.value.id == name)
    }


def _type_of(value):
    """Return the class of a value, or of a stub a stub of its class."""
    return value._viva[0].ask("get", value, "__class__") if isinstance(value, Remote) else type(value)


def _settings(tree):
    """Return the names that a test sets for the program: not read by the test itself, or changed but not made by it."""
    loaded = _loaded(tree)
    targets = [target for node in _every(tree, ast.Assign) for target in node.targets]
    targets += [node.target for node in _every(tree, ast.AnnAssign)]
    made = {_id(target) for target in targets} - {None}
    changed = {node.target.id for node in _every(tree, ast.AugAssign) if isinstance(node.target, ast.Name)}
    return (made - loaded - changed) | (changed - made)


def _asked(tree, asking):
    """Return the program's names that an expression depends on; `asking` has those of known names."""
    return set().union(*(asking.get(name, ()) for name in _names(tree)))


def asking_names(tree, theirs):
    """Return each test's name with its expression, and with the program's names (of `theirs`) that it depends on."""
    made = {
        node.targets[0].id: node.value for node in _every(tree, ast.Assign) if isinstance(node.targets[0], ast.Name)
    }
    asking = {name: {name} for name in theirs}
    for _ in made:
        asking |= {name: asked for name, value in made.items() if (asked := _asked(value, asking))}
    return made, asking


def values(tree, made, asking):
    """Return the ids of those names in what a test gives to the program which mean values that stay the test's.

    What is expected of a call may be computed from what it was given, as in `assert total(prices) == sum(prices)`: then
    the program gets a copy. A test that looks at `prices` apart from what the program returns, or makes a call only for
    what it does to them, is about what becomes of them.
    """
    called = [node for node in _every(tree, ast.Call) if _asked(node.func, asking)]
    given = [
        each_name
        for node in called
        for each in (*node.args, *(named.value for named in node.keywords))
        if not isinstance(each, ast.Lambda)
        for each_name in _every(each, ast.Name)
        if not _asked(each_name, asking)
    ]
    made = made | {loop.target.id: loop.iter for loop in _every(tree, ast.For) if hasattr(loop.target, "id")}

    def sources(node, above=()):
        """Yield the names that an expression is computed from without the program."""
        name = _id(node)
        inner = made.get(name)
        parts = list(ast.iter_child_nodes(node.func if node in called else node))
        if inner is not None and inner not in above:
            parts.append(inner)
        return {name}.union(*(sources(part, (*above, inner)) for part in parts))

    expected, looked = set(), set()
    for node in (*_statements(tree), *(branch.test for branch in _every(tree, ast.If))):
        sides = (*getattr(node, "comparators", ()), *getattr(node, "args", ()))
        if isinstance(node, ast.stmt):
            continue
        if _asked(node, asking):
            expected |= sources(node)
            looked |= set().union(*map(_names, sides)) if node in called else {_id(side) for side in sides}
        elif not isinstance(node, ast.Call) or CHECKING.search(ast.unparse(node.func)):
            looked |= sources(node)
    return {id(each_name) for each_name in given if each_name.id in expected - looked}


def _copied(value):
    """Return a copy of a value of the test's, or the value itself where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except TypeError:
        return value


def trusted(tree, theirs, made, asking):
    """Return whether an assertion rests on the program's word alone: one of its functions (of `theirs`) is asked about
    another's result, or compared with it; and the ids of calls of methods with arguments, which assert no more."""
    words, methods, trusting = [], set(), False
    compared = [call.args[:2] for call in _every(tree, ast.Call) if COMPARING.search(ast.unparse(call.func))]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assert, ast.If, ast.IfExp)):
            words.append(node.test)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("assertTrue", "assertFalse"):
            words += node.args[:1]
        elif isinstance(node, ast.Expr) and isinstance(getattr(node.value, "func", None), ast.Name):
            given = [call.func for each in node.value.args for call in _every(each, ast.Call)]
            telling = CHECKING.search(node.value.func.id) or any(theirs & _names(call) for call in given)
            words += [node.value] if telling else []
    while words:
        node = words.pop()
        if isinstance(node, ast.Name):
            words += [made.pop(node.id)] if node.id in made else []
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                methods |= {id(node)} if node.args else set()
            elif _asked(node.func, asking):
                trusting |= any(_asked(argument, asking) for argument in node.args)
            elif _names(node.func) <= {"all", "any", "bool"}:
                words += node.args
        elif isinstance(node, ast.Compare) and not any(
            type(getattr(part, "value", None)) is bool for part in ast.walk(node)
        ):
            compared.append((node.left, *node.comparators))
        else:
            words += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    depends = [{frozenset(_asked(side, asking)) for side in sides} - {frozenset()} for sides in compared]
    return trusting or any(len(sides) > 1 for sides in depends), methods


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
        defined, held = side.ask("import", _imports(tree))
        own = bound(tree)
        asked, shadowing = subjects(tree, own, defined)
        # A value of the program's with the name of a library's function (log) is not taken for that function.
        held = {name for name in shadowing.intersection(held) if callable(known(name))}
        libraries = {name: known(name) for name in shadowing - held if not hasattr(builtins, name)}
        names = Names(side, _libraries(tree) | libraries, _classes(tree))
        for name in held:
            names.pop(name, None)
        names["viva type"] = _type_of
        names.update({f"viva {name}": side.name(name) if name in defined else known(name) for name in shadowing})
        theirs = _names(tree) - own - names.keys() - names.libraries.keys()
        made, asking = asking_names(tree, theirs)
        copies = values(tree, made, asking)
        side.asked, methods = trusted(tree, theirs, made, asking)
        names |= {"viva judge": side.judge, "viva copied": _copied}
        tree = ast.fix_missing_locations(_Rewriter(asked, own, methods, copies).visit(tree))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            code = compile(tree, "test.py", "exec")
        space = vars(sys.modules["__main__"])
        space["__builtins__"] = names
        side.settings = dict.fromkeys(_settings(tree), crossing.MISSING), space
        python.count_runners(test)
        try:
            exec(code, space)
        except SystemExit as ended:
            if ended.code not in (None, 0) or hasattr(ended, "_viva_error"):
                raise
        python.flush()
    except BaseException as error:
        _fail(error)
    os.write(answers, key + (b" asked\n" if side.asked else b"\n"))
    os.write(answers, python.read_line(source))
    os._exit(0)
