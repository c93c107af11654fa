# mypy: ignore-errors
# ruff: noqa: PLR0911, PLR0912, SIM102
"""The comparisons of a test: an object whose comparison the program wrote may equal a value that it did not write, as
numbers and approximations of one's own do, but not everything. It is asked about other values as well, and one that
equals those too is equal to nothing.

Every name that these functions use is a parameter of theirs: a test carries them in its constants, without globals,
closures or anything that can be changed, so that a program which finds them can call them, and that is all.
"""

import operator
import os
import sys
import types

WINDOW, FEW = 8, 4
PLAIN = frozenset((int, float, str, bool, type(None), bytes, complex))


def _written(
    kind,
    names,
    bases=type.__dict__["__mro__"].__get__,
    attributes=type.__dict__["__dict__"].__get__,
    type_of=type,
    function=types.FunctionType,
    system=("/usr/", "/opt/viva/", "<frozen "),
    descriptors=frozenset((types.WrapperDescriptorType, types.MethodDescriptorType)),
    distrusted=(),
):
    """Whether the first of these methods that the type has is the program's, neither Python's nor an installed
    library's."""
    for owner in bases(kind):
        own = attributes(owner)
        for name in names:
            found = own.get(name)
            if found is not None:
                if type_of(found) is function:
                    place = found.__code__.co_filename
                    return not place.startswith(system) or place.endswith(distrusted)
                return type_of(found) not in descriptors or found.__objclass__ is not owner
    return False


def _holds(
    value,
    names,
    written,
    plain=PLAIN,
    type_of=type,
    containers=(list, tuple, set, frozenset),
    mapping=dict,
    isinstance=isinstance,
    list=list,
    keys=dict.keys,
    values=dict.values,
    most=200_000,
    length=len,
):
    """Whether the value, or something in it, compares by the program's own code."""
    queue, seen = [value], 0
    while queue and seen < most:
        one = queue.pop()
        seen += 1
        kind = type_of(one)
        if kind in plain:
            continue
        if written(kind, names):
            return True
        if isinstance(one, mapping):
            queue += keys(one)
            queue += values(one)
        elif isinstance(one, containers):
            queue += list(one)
        elif kind.__name__ == "ndarray" and one.dtype.kind == "O":
            queue += list(one.flat)
    return False


def near(value, other, type_of=type, int=int, float=float):
    """Whether it is another number: a number modulo a third equals a few of them."""
    return type_of(value) is int and type_of(other) in (int, float)


def others(
    value,
    type_of=type,
    object=object,
    int=int,
    float=float,
    str=str,
    bool=bool,
    list=list,
    tuple=tuple,
    dict=dict,
    range=range,
    random=os.urandom,
    window=WINDOW,
):
    """Values that nothing equals which is equal to this one; a number's neighbours only where numbers are exact. An
    integer stands anywhere among its neighbours, and the distance of the far one is random: none of them tells it."""
    kind = type_of(value)
    others = [object(), None, "nothing of the kind", (object(),), -31_415_926, 2.5e300]
    if kind is int:
        first = value - random(1)[0] % window
        others += [one for one in range(first, first + window) if one != value]
        others += [value + 1_000_003 + int.from_bytes(random(5), "big")]
    elif kind is float:
        others += [value * 3 + 1_000_003.5, -value - 12_345.5]
    elif kind is str:
        others += [value + "~", "", value[::-1] + value]
    elif kind is list:
        others += [[*value, None], []]
    elif kind is tuple:
        others += [(*value, None), ()]
    elif kind is dict:
        others += [{}, {**value, "~": None}]
    elif kind is bool:
        others += [not value]
    return others


def _lies(
    suspect,
    value,
    others,
    near,
    bool=bool,
    error=Exception,
    rank=os.urandom,
    sorted=sorted,
    first=operator.itemgetter(0),
    few=FEW,
):
    """Whether an object claims to equal other values than this one, or not always this one; asked in random order."""
    asked = [(rank(8), other, False) for other in others(value) if not bool(other == value)]
    asked += [(rank(8), value, True), (rank(8), value, True)]
    for _, other, wanted in sorted(asked, key=first):
        try:
            claimed = bool(suspect == other)
        except error:
            claimed = False
        if claimed is not wanted:
            few -= 1
            if wanted or few < 0 or not near(value, other):
                return True
    return False


def _equal(
    left,
    right,
    again,
    written,
    lies,
    others,
    type_of=type,
    names=("__eq__",),
    all=all,
    any=any,
    zip=zip,
    len=len,
    isinstance=isinstance,
    list=list,
    tuple=tuple,
    dict=dict,
    set=set,
    frozenset=frozenset,
    bool=bool,
):
    """Equality where one of the two holds an object that compares by the program's own code."""
    if left is right:
        return True
    suspects = written(type_of(left), names), written(type_of(right), names)
    if suspects == (True, True):
        return left == right
    if suspects != (False, False):
        suspect, value = (left, right) if suspects[0] else (right, left)
        return not lies(suspect, value, others)
    if type_of(left) is not type_of(right):
        return left == right if not isinstance(left, (list, tuple, dict, set, frozenset)) else False
    given = (again, written, lies, others)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all([again(a, b, *given) for a, b in zip(left, right)])
    if isinstance(left, dict):
        return len(left) == len(right) and all([key in right and again(left[key], right[key], *given) for key in left])
    if isinstance(left, (set, frozenset)):
        return len(left) == len(right) and all([any([again(a, b, *given) for b in right]) for a in left])
    return left == right


def _compare(
    operation,
    left,
    right,
    equal,
    holds,
    written,
    lies,
    others,
    array,
    view,
    plain=PLAIN,
    type_of=type,
    isinstance=isinstance,
    containers=(list, tuple, set, frozenset),
    any=any,
    all=all,
    bool=bool,
    hooks=("__array_ufunc__", "__array_function__"),
):
    """One comparison of the test."""
    if array is not None:
        if isinstance(left, array) and written(type_of(left), hooks):
            left = view(left, array)
        if isinstance(right, array) and written(type_of(right), hooks):
            right = view(right, array)
    kinds = type_of(left), type_of(right)
    if operation in ("in", "not in") and written(kinds[1], ("__contains__", "__iter__", "__getitem__")):
        if all([other in right for other in others(None)]):
            return operation == "not in"
    ordered = operation in ("<", "<=", ">", ">=")
    if not (kinds[0] in plain and kinds[1] in plain):
        names = ("__lt__", "__le__", "__gt__", "__ge__") if ordered else ("__eq__", "__ne__")
        if ordered:
            if written(kinds[0], names) != written(kinds[1], names) and (
                (bool(left < right) and bool(left > right))
                or (bool(left <= right) and bool(left >= right) and left != right)
            ):
                return False
        elif holds(left, names, written) or holds(right, names, written):
            given = (equal, written, lies, others)
            if operation == "==":
                return equal(left, right, *given)
            if operation == "!=":
                return not equal(left, right, *given)
            if kinds[1] in containers:
                return any([equal(left, one, *given) for one in right]) == (operation == "in")
    if operation == "==":
        return left == right
    if operation == "!=":
        return left != right
    if operation == "in":
        return left in right
    if operation == "not in":
        return left not in right
    if operation == "<":
        return left < right
    if operation == "<=":
        return left <= right
    if operation == ">":
        return left > right
    return left >= right


def _chain(operations, operands, compare, zip=zip):
    """a < b < c, where every operand is evaluated once and none after the first comparison that fails."""
    left = operands[0]()
    result = True
    for operation, following in zip(operations, operands[1:]):
        right = following()
        result = compare(operation, left, right)
        if not result:
            return result
        left = right
    return result


def sealed(function, *bound):
    """The same function without globals, with `bound` as the values of its last parameters that have none."""
    defaults = (*bound, *(function.__defaults__ or ()))
    return types.FunctionType(function.__code__, {"__builtins__": {}}, function.__name__, defaults)


def sealed_comparisons(trusting_mocks):
    """(compare, chain): one comparison, and a chain of them such as a < b < c.

    `trusting_mocks`: the test itself speaks of mocks, so an object that equals everything may be the test's own.
    """
    written = _written
    if not trusting_mocks:
        written = types.FunctionType(_written.__code__, {}, "_written", (*_written.__defaults__[:-1], ("/mock.py",)))
    written, unlike = sealed(written), sealed(others)
    holds, lies, equal = sealed(_holds), sealed(_lies, sealed(near)), sealed(_equal)
    numpy = sys.modules.get("numpy")
    array, view = (numpy.ndarray, numpy.ndarray.view) if numpy is not None else (None, None)
    compare = sealed(_compare, equal, holds, written, lies, unlike, array, view)
    return compare, sealed(_chain, compare)
