# mypy: ignore-errors
# ruff: noqa: PLW0108
"""Values of Python, NumPy and pandas taken apart into a name and plainer parts, and put together again.

No pickle, no classes but those named here. Arrays and frames are dtypes, raw bytes, labels and columns; an array of
objects is a list of them.
"""

import array
import base64
import collections
import datetime
import decimal
import fractions
import math
import operator
import sys
import types

CONTAINERS = {kind.__name__: kind for kind in (list, dict, set, bytearray)} | {
    name: getattr(collections, name) for name in ("deque", "OrderedDict", "Counter", "defaultdict")
}
BASES = CONTAINERS | {kind.__name__: kind for kind in (tuple, int, float, str, bytes, frozenset)}
"""Plain classes whose subclasses in a program still cross by value."""


TABLES = {"ndarray": "numpy", "DataFrame": "pandas", "Series": "pandas"}
"""Kinds of tables and arrays, and their modules."""


class Library:
    """A library that is imported when one of its names is used."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        return getattr(__import__(self.name), name)


numpy, pandas = Library("numpy"), Library("pandas")


def _items(value):
    return tuple(value)


def _text(value):
    return (value.isoformat(),)


def _space(*items):
    return types.SimpleNamespace(**dict(items))


KINDS = {
    tuple: (_items, lambda *items: items),
    frozenset: (_items, lambda *items: frozenset(items)),
    bytes: (lambda value: (base64.b64encode(value).decode("ascii"),), base64.b64decode),
    complex: (lambda value: (value.real, value.imag), complex),
    datetime.date: (_text, datetime.date.fromisoformat),
    datetime.datetime: (_text, datetime.datetime.fromisoformat),
    datetime.time: (_text, datetime.time.fromisoformat),
    type(...): (lambda value: (), lambda: ...),
    type(NotImplemented): (lambda value: (), lambda: NotImplemented),
    array.array: (lambda value: (value.typecode, tuple(value)), array.array),
    type({}.keys()): (_items, lambda *items: dict.fromkeys(items).keys()),
    type({}.values()): (_items, lambda *items: dict(enumerate(items)).values()),
    type({}.items()): (_items, lambda *items: dict(items).items()),
    types.SimpleNamespace: (lambda value: _items(vars(value).items()), _space),
    types.MappingProxyType: (lambda value: tuple(value.items()), lambda *items: types.MappingProxyType(dict(items))),
}
"""Class → functions that take its instances apart and put them together."""
for kind in (range, slice, decimal.Decimal, fractions.Fraction, datetime.timedelta):
    KINDS[kind] = (lambda value: value.__reduce_ex__(2)[1], kind)


def base_of(kind):
    """Return the class of BASES that a class is derived from; None for none."""
    for each in kind.__mro__:
        if BASES.get(each.__name__) is each:
            return each
    return None


def is_table(value):
    """Return whether a value is a table or array, which both sides know once it has crossed."""
    kind = type(value)
    module = TABLES.get(kind.__name__)
    return module is not None and getattr(sys.modules.get(module), kind.__name__, None) is kind


def plain(value):
    """Return an instance of a subclass of an array or table as the plain one; None for anything else."""
    for base in type(value).__mro__:
        name = base.__name__
        if name == "MaskedArray":
            return None
        if getattr(sys.modules.get(TABLES.get(name)), name, None) is base:
            return numpy.array(value, subok=False) if name == "ndarray" else base(value)
    return None


def apart(value, kind):
    """Return the name of a value's kind and its parts; None for what has none."""
    if kind in KINDS:
        zone = getattr(value, "tzinfo", None)
        known = zone is None or (kind is datetime.datetime and type(zone) is datetime.timezone)
        return (kind.__name__, KINDS[kind][0](value)) if known else None
    for base in kind.__mro__ if kind.__module__.startswith(("numpy", "pandas.")) else ():
        name = f"{base.__module__.partition('.')[0]}.{base.__name__}"
        if name in LIBRARIES:
            parts = LIBRARIES[name][0](value)
            return None if parts is None else (name, parts)
    return None


def _descr(dtype):
    return dtype.str if dtype.names is None else tuple(dtype.descr)


def _zone(zone):
    return None if zone is None else getattr(zone, "zone", None) or getattr(zone, "key", None) or str(zone)


def _array(values):
    """Return the kind and the parts of an array of NumPy's or pandas'."""
    name = type(values).__name__
    if name in ("NumpyExtensionArray", "PandasArray"):
        values = values.to_numpy()
    elif getattr(values, "tz", values) is None or name == "TimedeltaArray":
        values = values._ndarray
    if isinstance(values, numpy.ndarray):
        if values.dtype.hasobject:
            return "objects", values.shape, tuple(values.flat)
        return "raw", _descr(values.dtype), values.shape, values.tobytes()
    if name == "Categorical":
        return "categories", _array(values.codes), _index(values.categories), bool(values.ordered)
    return "typed", str(values.dtype), tuple(values)


def _index(index):
    names = tuple(index.names)
    if isinstance(index, pandas.RangeIndex):
        return "range", names, index.start, index.stop, index.step
    if isinstance(index, pandas.MultiIndex):
        codes = tuple([tuple(map(int, codes)) for codes in index.codes])
        return "multi", names, tuple(map(_index, index.levels)), codes
    freq = None if isinstance(index, pandas.PeriodIndex) else getattr(index, "freqstr", None)
    return "plain", names, _array(index.array), freq


def table_apart(value):
    """Return the parts of a table or array."""
    if type(value).__name__ == "ndarray":
        return _array(value)
    if type(value).__name__ == "Series":
        label, columns = value.name, [value]
    else:
        label, columns = _index(value.columns), [value.iloc[:, number] for number in range(value.shape[1])]
    arrays = tuple([_array(column.array) for column in columns])
    return _index(value.index), label, arrays, tuple(value.attrs.items())


# ---- containers of any kind that both sides have, without the methods of a program's class


def items(value):
    """Return the content of a container: bytes, pairs or items."""
    base = base_of(type(value))
    if base is bytearray:
        return bytes(value)
    return list(base.items(value) if issubclass(base, dict) else base.__iter__(value))


def fill(value, content):
    """Replace the content of a container by these pairs or items."""
    base = base_of(type(value))
    base.clear(value)
    if issubclass(base, dict):
        for key, item in content:
            base.__setitem__(value, key, item)
    else:
        (base.update if base is set else base.extend)(value, content)


def size(value):
    """Return the number of items of a container, in all its dimensions."""
    return int(value.size) if is_table(value) else base_of(type(value)).__len__(value)


def taken(value):
    """Return a snapshot of a container's content for later comparison."""
    parts = items(value)
    return [part for pair in parts for part in pair] if isinstance(value, dict) else parts


def same(before, now):
    """Return whether two snapshots of a container hold the same objects, or its two encodings are equal."""
    return len(before) == len(now) and all(map(operator.is_, before, now)) if isinstance(now, list) else before == now


def become(value, other):
    """Give a table or array the content of the other one."""
    if type(value).__name__ != "ndarray":
        value._update_inplace(other)
        if not hasattr(value, "columns"):
            value.name = other.name
    elif value.shape == other.shape and value.dtype == other.dtype and value.flags.writeable:
        value[...] = other
    elif value.size == other.size and value.dtype == other.dtype:
        value.shape = other.shape
        value[...] = other
    else:
        raise ValueError("an array that changed its size")


# ---- putting together


def _zoned(times, zone):
    return times if zone is None else times.tz_localize("UTC").tz_convert(zone)


def _dtype(descr):
    return numpy.dtype(descr if isinstance(descr, str) else list(descr))


def _array_together(kind, *rest):
    if kind == "objects":
        shape, items = rest
        together = numpy.empty(math.prod(shape), dtype=object)
        together[:] = items
        return together.reshape(shape)
    if kind == "raw":
        descr, shape, raw = rest
        return numpy.frombuffer(raw, dtype=_dtype(descr)).reshape(shape).copy()
    if kind == "categories":
        codes, categories, ordered = rest
        return pandas.Categorical.from_codes(_array_together(*codes), _index_together(*categories), bool(ordered))
    if kind == "typed":
        return pandas.array(list(rest[1]), dtype=rest[0])
    raise ValueError(f"an array of an unknown kind: {kind!r}")


def _index_together(kind, names, *rest):
    if kind == "range":
        return pandas.RangeIndex(*rest, name=names[0])
    if kind == "multi":
        levels, codes = rest
        return pandas.MultiIndex(levels=[_index_together(*level) for level in levels], codes=codes, names=names)
    values, freq = _array_together(*rest[0]), rest[1]
    if freq is not None and getattr(values.dtype, "kind", "") == "M":
        return pandas.DatetimeIndex(values, freq=freq, name=names[0])
    if type(values).__name__ == "ndarray" and values.dtype.kind == "O":
        return pandas.Index(values, dtype=object, name=names[0])
    return pandas.Index(values, name=names[0])


def table(name, parts):
    """Return the array or table of that name with these parts."""
    if name == "ndarray":
        return _array_together(*parts)
    index, label, arrays, attributes = parts
    index = _index_together(*index)
    arrays = [_array_together(*array) for array in arrays]
    columns = [pandas.Series(array, index=index, dtype=array.dtype) for array in arrays]
    if name == "Series":
        (made,) = columns
        made.name = label
    elif name == "DataFrame":
        made = pandas.DataFrame(dict(enumerate(columns)), index=index)
        made.columns = _index_together(*label)
    else:
        raise ValueError(f"a container of an unknown kind: {name!r}")
    made.attrs.update(attributes)
    return made


LIBRARIES = {
    "numpy.generic": (
        lambda value: None if value.dtype.hasobject or value.dtype.names else (value.dtype.str, value.tobytes()),
        lambda descr, raw: numpy.frombuffer(raw, dtype=_dtype(descr))[0],
    ),
    "numpy.dtype": (lambda value: None if value.hasobject and value.kind != "O" else (_descr(value),), _dtype),
    "pandas.NaTType": (lambda value: (), lambda: pandas.NaT),
    "pandas.NAType": (lambda value: (), lambda: pandas.NA),
    "pandas.Timestamp": (
        lambda value: (value.asm8, _zone(value.tz)),
        lambda value, zone: _zoned(pandas.Timestamp(value), zone),
    ),
    "pandas.Timedelta": (lambda value: (value.asm8,), lambda value: pandas.Timedelta(value)),
    "pandas.Period": (
        lambda value: (value.ordinal, value.freqstr),
        lambda ordinal, freq: pandas.Period(ordinal=ordinal, freq=freq),
    ),
    "pandas.Interval": (
        lambda value: (value.left, value.right, value.closed),
        lambda *parts: pandas.Interval(*parts),
    ),
    "pandas.Index": (_index, _index_together),
    "pandas.ExtensionArray": (_array, _array_together),
    "pandas.CategoricalDtype": (lambda value: None, None),
    "pandas.ExtensionDtype": (lambda value: (str(value),), lambda text: pandas.api.types.pandas_dtype(text)),
}
"""The same for libraries, by library and name of a class or its base; without parts, a value does not cross."""
TOGETHER = {kind.__name__: make for kind, (_, make) in KINDS.items()}
TOGETHER.update({name: make for name, (_, make) in LIBRARIES.items()})
