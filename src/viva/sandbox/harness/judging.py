"""Keeping a test's words true: what it compares with is Python's own, whatever the program made of it.

Before the test, what the program replaced in the modules that tests decide with is put back; after it, nothing may have
changed. In the test itself (never in the program) comparisons and the names of built-in functions are bound to the real
ones, and an object whose comparison the program wrote is never equal to a value whose comparison it did not write: an
answer that claims to be equal to everything is equal to nothing.
"""

import ast
import builtins
import sys
import types
import warnings

NAMES = frozenset((
    "abs", "all", "any", "bool", "bytes", "callable", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset",
    "getattr", "hasattr", "hash", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
    "object", "ord", "chr", "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip",
    "AssertionError", "Exception", "ValueError", "TypeError", "KeyError", "IndexError", "RuntimeError", "__import__", "exit",
))
MODULES = ("math", "operator", "_operator", "json", "re", "copy", "functools", "itertools", "unittest.case", "numpy.testing",
           "numpy.testing._private.utils", "pandas.testing", "pandas._testing.asserters", "datetime", "decimal")
CLASSES = (("unittest.case", "TestCase"), ("pandas.core.frame", "DataFrame"), ("pandas.core.series", "Series"),
           ("pandas.core.generic", "NDFrame"), ("pandas.core.arraylike", "OpsMixin"), ("pandas.core.indexes.base", "Index"))
NUMPY = ("all", "any", "allclose", "isclose", "array_equal", "array_equiv", "array", "asarray", "equal", "not_equal", "abs")
MAY_CHANGE = frozenset(("input", "print", "open", "__build_class__", "_", "exit", "quit"))
PLAIN = frozenset((int, float, str, bool, type(None), bytes, complex))
OPERATIONS = {
    ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.In: "in", ast.NotIn: "not in",
    ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__",
}
MIRRORED = {"__eq__": "__eq__", "__ne__": "__ne__", "__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__",
            "__ge__": "__le__"}
CONTAINERS = (list, tuple, set, frozenset, dict)
FEW = 200_000
_SYSTEM = ("/usr/", "<frozen ")


def _snapshot():
    """(owner, name, value) of everything that the program may not keep replaced."""
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
    return kept


_KEPT = []


def warm_up():
    """Take the snapshot of the modules loaded so far; a forked process has it for nothing."""
    _KEPT[:] = _snapshot()


def _defined_by_program(kind, operation):
    """Whether objects of this type compare by something that is neither Python's nor an installed library's."""
    for owner in type.__dict__["__mro__"].__get__(kind):
        found = type.__dict__["__dict__"].__get__(owner).get(operation)
        if found is None:
            continue
        if type(found) is types.FunctionType:
            return not found.__code__.co_filename.startswith(_SYSTEM)
        return type(found) not in (
            types.WrapperDescriptorType, types.BuiltinFunctionType, types.MethodDescriptorType, types.MethodWrapperType
        )
    return False


class Judge:
    """The references to Python's own functions, taken before the program starts, and the comparisons of its test."""

    def __init__(self):
        self.kept = _KEPT or _snapshot()
        self.builtins = {name: getattr(builtins, name) for name in NAMES if hasattr(builtins, name)}
        self.space = {}
        self._set, self._type, self._zip, self._isinstance, self._len = setattr, type, zip, isinstance, len
        self._suspects = {}

    def _changed(self):
        for owner, name, value in self.kept:
            if owner.__dict__.get(name) is not value:
                yield owner, name, value

    def restore(self):
        """Put back what the program replaced. In this order: setattr() itself may be among it."""
        for owner, name, value in self._changed():
            self._set(owner, name, value)

    def check(self):
        """Raise if something is replaced now: only code that the test called can have done it."""
        for owner, name, _ in self._changed():
            raise RuntimeError(f"{getattr(owner, '__name__', owner)}.{name} was replaced while the test ran")

    def _suspect(self, kind, operation):
        if kind in PLAIN:
            return False
        known = self._suspects.get((kind, operation))
        if known is None:
            known = self._suspects[kind, operation] = _defined_by_program(kind, operation)
        return known

    def _holds_suspect(self, value, operation):
        """Whether the value, or something in it, compares by the program's own code."""
        queue, seen = [value], 0
        while queue and seen < FEW:
            one = queue.pop()
            seen += 1
            kind = self._type(one)
            if kind in PLAIN:
                continue
            if self._suspect(kind, operation):
                return True
            if self._isinstance(one, dict):
                queue += dict.keys(one)
                queue += dict.values(one)
            elif self._isinstance(one, CONTAINERS):
                queue += kind.__iter__(one) if kind in CONTAINERS else list(one)
            elif kind.__name__ == "ndarray" and one.dtype == object:
                queue += list(one.flat)
        return False

    def _equal(self, left, right):
        """Equality where one of the two holds an object of the program's: structure by structure, and strictly."""
        if left is right:
            return True
        suspects = self._suspect(self._type(left), "__eq__"), self._suspect(self._type(right), "__eq__")
        if suspects == (True, True):
            return left == right
        if suspects != (False, False) or self._type(left) is not self._type(right):
            return False
        if self._isinstance(left, (list, tuple)):
            return len(left) == len(right) and all(self._equal(a, b) for a, b in zip(left, right))
        if self._isinstance(left, dict):
            return len(left) == len(right) and all(key in right and self._equal(left[key], right[key]) for key in left)
        if self._isinstance(left, (set, frozenset)):
            return len(left) == len(right) and all(any(self._equal(a, b) for b in right) for a in left)
        return left == right

    def compare(self, operation, left, right):
        """One comparison of the test."""
        kinds = self._type(left), self._type(right)
        if not (kinds[0] in PLAIN and kinds[1] in PLAIN):
            method = "__eq__" if operation in ("in", "not in") else operation
            mirrored = MIRRORED[method]
            if operation in MIRRORED and operation not in ("__eq__", "__ne__"):
                if self._suspect(kinds[0], method) != self._suspect(kinds[1], mirrored):
                    return False
            elif any(self._holds_suspect(side, name) for side in (left, right) for name in ("__eq__", "__ne__")):
                if operation == "__eq__":
                    return self._equal(left, right)
                if operation == "__ne__":
                    return not self._equal(left, right)
                if not self._suspect(kinds[1], "__contains__") and self._isinstance(right, CONTAINERS):
                    found = any(self._equal(left, one) for one in right)
                    return found == (operation == "in")
        if operation == "__eq__":
            return left == right
        if operation == "__ne__":
            return left != right
        if operation == "in":
            return left in right
        if operation == "not in":
            return left not in right
        if operation == "__lt__":
            return left < right
        if operation == "__le__":
            return left <= right
        if operation == "__gt__":
            return left > right
        return left >= right


class _Rewriter(ast.NodeTransformer):
    """Comparisons and built-in names of a test become calls and constants that the program has no name for."""

    def __init__(self, mark, own):
        self.mark, self.own = mark, own

    def _constant(self, name, at):
        return ast.copy_location(ast.Constant(f"{self.mark}{name}"), at)

    def visit_Compare(self, node):  # noqa: N802
        self.generic_visit(node)
        if len(node.ops) != 1:
            # a < b < c: each pair once; the middle is evaluated once, as Python does, through a walrus of its own name
            return node if not any(type(op) in OPERATIONS for op in node.ops) else self._chain(node)
        if type(node.ops[0]) not in OPERATIONS:
            return node
        return self._call(node.ops[0], node.left, node.comparators[0], node)

    def _call(self, operation, left, right, at):
        name = ast.copy_location(ast.Constant(OPERATIONS[type(operation)]), at)
        call = ast.Call(func=self._constant("compare", at), args=[name, left, right], keywords=[])
        return ast.copy_location(call, at)

    def _chain(self, node):
        if any(type(op) not in OPERATIONS for op in node.ops):
            return node
        words = [ast.copy_location(ast.Constant(OPERATIONS[type(op)]), node) for op in node.ops]
        values = [node.left, *node.comparators]
        thunks = [
            ast.Lambda(args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]), body=value)
            for value in values
        ]
        if any(isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)) for v in values for part in ast.walk(v)):
            return node
        arguments = [ast.Tuple(elts=words, ctx=ast.Load()), *thunks]
        call = ast.Call(func=self._constant("chain", node), args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_MatchClass(self, node):  # noqa: N802
        return node  # its class must stay a name

    def visit_JoinedStr(self, node):  # noqa: N802
        return node  # a constant in it would become text

    def visit_Name(self, node):  # noqa: N802
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


def _filled(constant, values):
    """The same code with the marks among its constants replaced by what they stand for."""
    if isinstance(constant, types.CodeType):
        return constant.replace(co_consts=tuple(_filled(one, values) for one in constant.co_consts))
    if isinstance(constant, (tuple, frozenset)):  # the compiler folds displays of constants
        return type(constant)(_filled(one, values) for one in constant)
    return values.get(constant, constant) if isinstance(constant, str) else constant


def rewritten(tree, judge):
    """A parsed test as code that compares through the judge."""
    import secrets

    mark = f"{secrets.token_hex(16)} "

    def chain(operations, first, *rest):
        left = first()
        for operation, following in zip(operations, rest):
            right = following()
            result = judge.compare(operation, left, right)
            if not result:
                return result
            left = right
        return result

    values = {f"{mark}{name}": value for name, value in judge.builtins.items()}
    values[f"{mark}compare"] = judge.compare
    values[f"{mark}chain"] = chain
    tree = ast.fix_missing_locations(_Rewriter(mark, _bound(tree)).visit(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(tree, "test.py", "exec")
    return _filled(code, values)
