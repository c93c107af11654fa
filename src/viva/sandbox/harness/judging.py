# mypy: ignore-errors
# ruff: noqa: C409
"""Keeping a test's words true: what it compares with is Python's own, whatever the program made of it.

Before the test, what the program replaced in the modules that tests decide with is put back; after it, nothing may have
changed. In the test itself (never in the program) comparisons and the names of built-in functions are bound to the real
ones (comparing.py).

All of this is prepared before the program starts. The functions that the test carries in its constants have no
globals, no closures and no mutable parts: a program that finds them can call them, and that is all.
"""

import ast
import builtins
import secrets
import sys
import types
import warnings

import comparing

NAMES = frozenset(
    (
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "callable",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "getattr",
        "hasattr",
        "hash",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "ord",
        "chr",
        "pow",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
        "AssertionError",
        "Exception",
        "ValueError",
        "TypeError",
        "KeyError",
        "IndexError",
        "RuntimeError",
        "__import__",
    )
)
MODULES = (
    "math",
    "operator",
    "_operator",
    "json",
    "re",
    "copy",
    "functools",
    "itertools",
    "unittest.case",
    "numpy.testing",
    "numpy.testing._private.utils",
    "pandas.testing",
    "pandas._testing.asserters",
    "datetime",
    "decimal",
    "statistics",
)
CLASSES = (
    ("unittest.case", "TestCase"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.series", "Series"),
    ("pandas.core.generic", "NDFrame"),
    ("pandas.core.arraylike", "OpsMixin"),
    ("pandas.core.indexes.base", "Index"),
)
NUMPY = (
    "all",
    "any",
    "allclose",
    "isclose",
    "array_equal",
    "array_equiv",
    "array",
    "asarray",
    "equal",
    "not_equal",
    "abs",
)
MAY_CHANGE = frozenset(("input", "print", "open", "_", "exit", "quit"))
OPERATIONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_KEPT = []


def _snapshot():
    """(owner, its attributes, name, value) of everything that the program may not keep replaced."""
    kept = [(builtins, name, value) for name, value in vars(builtins).items() if name not in MAY_CHANGE]
    for name in MODULES:
        module = sys.modules.get(name)
        if module is not None:
            kept += [(module, key, value) for key, value in vars(module).items() if callable(value)]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kept += [(numpy, name, getattr(numpy, name)) for name in NUMPY]
    for module, name in CLASSES:
        owner = getattr(sys.modules.get(module), name, None)
        if owner is not None:
            kept += [(owner, key, value) for key, value in vars(owner).items() if callable(value)]
    return [(owner, vars(owner), name, value) for owner, name, value in kept]


def warm_up():
    """Take the snapshot of the modules loaded so far; a forked process has it for nothing."""
    _KEPT[:] = _snapshot()


def _restore(kept, set_item=dict.__setitem__, set_attribute=type.__setattr__, kind=type, mapping=dict):
    """Put back what the program replaced, without running a line of its code."""
    for owner, attributes, name, value in kept:
        if attributes.get(name) is not value:
            if kind(attributes) is mapping:
                set_item(attributes, name, value)
            else:
                set_attribute(owner, name, value)


def _check(kept, numbers, error=RuntimeError, text=int.__repr__):
    """Raise if something is replaced now, which only code that the test called can have done; or a number is not
    itself."""
    for number, digits in numbers:
        if text(number) != digits:
            raise error(f"the number {digits} was changed in memory")
    for _, attributes, name, value in kept:
        if attributes.get(name) is not value:
            raise error(f"{name} was replaced while the test ran")


# ---- the test's code


class _Rewriter(ast.NodeTransformer):
    """Comparisons and built-in names of a test become calls and constants that the program has no name for."""

    def __init__(self, mark, own, subjects):
        self.mark, self.own, self.subjects = mark, own, subjects

    def _constant(self, name, at):
        return ast.copy_location(ast.Constant(f"{self.mark}{name}"), at)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if any(type(op) not in OPERATIONS for op in node.ops):
            return node
        words = [ast.copy_location(ast.Constant(OPERATIONS[type(op)]), node) for op in node.ops]
        operands = [node.left, *node.comparators]
        if len(words) == 1:
            call = ast.Call(func=self._constant("compare", node), args=[words[0], *operands], keywords=[])
            return ast.copy_location(call, node)
        unmovable = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
        if any(isinstance(part, unmovable) for operand in operands for part in ast.walk(operand)):
            return node
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        later = [ast.Lambda(args=nothing, body=operand) for operand in operands]
        call = ast.Call(
            func=self._constant("chain", node),
            args=[ast.Tuple(words, ast.Load()), ast.Tuple(later, ast.Load())],
            keywords=[],
        )
        return ast.copy_location(call, node)

    def visit_Call(self, node):
        return node if id(node) in self.subjects else self.generic_visit(node)

    def visit_MatchClass(self, node):
        return node  # its class must stay a name

    def visit_JoinedStr(self, node):
        return node  # a constant in it would become text

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in NAMES and node.id not in self.own:
            return self._constant(node.id, node)
        return node


def _bound(tree):
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
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _statements(tree):
    """The statements without others in them; of an assertion what it asserts, one by one, and of a call the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.Assert):
            both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            yield from node.test.values if both else [node.test]
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def _names(tree):
    """The names in a tree, but for the parameters of functions in it."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names - {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def subjects(tree, shadowing, own):
    """The ids of those calls in a test that mean functions of the program's which have a built-in name, as in
    `assert round(2.5) == 3`: they are given plain values and stand in a statement of their own, or the test is about
    nothing else. In `assert answer(2) == set([2])` the name is Python's: who is asked there is told what is expected.
    """
    builtin = frozenset(dir(builtins))
    imported = {
        (one.asname or one.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
    }
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    alone = loaded <= own | builtin
    found = set()
    for statement in _statements(tree):
        calls = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in shadowing - own
            and not any(_names(given) - builtin for given in (*node.args, *node.keywords))
        ]
        names = _names(statement) - builtin - imported - {"self"}
        if calls and (alone or (not isinstance(statement, ast.stmt) and not names)):
            first = min(calls, key=lambda node: (node.lineno, node.col_offset)).func.id
            found |= {id(node) for node in calls if node.func.id == first}
    return found


def _filled(constant, values):
    """The same code with the marks among its constants replaced by what they stand for."""
    if isinstance(constant, types.CodeType):
        return constant.replace(co_consts=tuple(_filled(one, values) for one in constant.co_consts))
    if isinstance(constant, (tuple, frozenset)):  # the compiler folds displays of constants
        return type(constant)(_filled(one, values) for one in constant)
    return values.get(constant, constant) if isinstance(constant, str) else constant


def _defined(program):
    """The functions and classes that a program defines at its top."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(program).body if isinstance(node, kinds)}


def _assert_equal(self, first, second, msg=None, compare=None, original=None):
    """What unittest's assertEqual does, with the comparison of a test."""
    if not compare("==", first, second):
        self.fail(self._formatMessage(msg, "not equal"))
    original(self, first, second, msg)


def prepared(program, source):
    """(restore, test, check): two functions without arguments, and the test as code that compares through ours.

    Raises SyntaxError for a test that does not parse.
    """
    tree = ast.parse(source, "test.py")
    compare, chain = comparing.sealed_comparisons("mock" in str(source))
    unit = sys.modules.get("unittest.case")
    if unit is not None:
        original = unit.TestCase.assertEqual
        code, defaults = _assert_equal.__code__, (None, compare, original)
        unit.TestCase.assertEqual = types.FunctionType(code, {"__builtins__": {}}, "assertEqual", defaults)
    kept = [item for item in _KEPT or _snapshot() if item[2:3] != ("assertEqual",)]
    kept = tuple(
        [*kept, *([(unit.TestCase, vars(unit.TestCase), "assertEqual", unit.TestCase.assertEqual)] if unit else [])]
    )
    numbers = tuple([(number, str(number)) for number in range(-5, 257)])
    mark = f"{secrets.token_hex(16)} "
    values = {f"{mark}{name}": getattr(builtins, name) for name in NAMES}
    values[f"{mark}compare"] = compare
    values[f"{mark}chain"] = chain
    own = _bound(tree)
    asked = subjects(tree, {name for name in _defined(program) if hasattr(builtins, name)}, own)
    tree = ast.fix_missing_locations(_Rewriter(mark, own, asked).visit(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(tree, "test.py", "exec")
    return comparing.sealed(_restore, kept), _filled(code, values), comparing.sealed(_check, kept, numbers)
