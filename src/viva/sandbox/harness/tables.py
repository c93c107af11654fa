# mypy: ignore-errors
# ruff: noqa: PLR0911, PLR0912
"""How arrays of NumPy's and frames of pandas' cross to another process: as JSON of dtypes, raw bytes and labels.

No pickle, no objects but those that `encode` knows. An array of objects is a list of them.
"""

import array
import base64
import math
import operator
import sys
import types

VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}
SPACES = (types.SimpleNamespace, types.MappingProxyType)


def _numpy():
    return sys.modules.get("numpy")


def _pandas():
    return sys.modules.get("pandas")


def name_of(value):
    """What the kind of a table or array is called here."""
    return type(value).__name__


def is_kept(value):
    """Whether it is a table or array, which is known to both sides once it crossed."""
    numpy, pandas = _numpy(), _pandas()
    kind = type(value)
    return (numpy is not None and kind is numpy.ndarray) or (
        pandas is not None and kind in (getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None))
    )


def plain(value):
    """An instance of a class over an array or a table as what it is over; None for anything else."""
    numpy, pandas = _numpy(), _pandas()
    if numpy is not None and isinstance(value, numpy.ndarray) and not isinstance(value, numpy.ma.MaskedArray):
        return numpy.array(value, subok=False)
    for name in ("DataFrame", "Series"):
        base = getattr(pandas, name, None)
        if base is not None and isinstance(value, base):
            return base(value)
    return None


def snapshot(value):
    """A copy to compare with later."""
    if type(value).__name__ != "ndarray":
        return value.copy()
    return (value.dtype.str, value.shape, list(value.flat) if value.dtype.hasobject else value.tobytes())


def same(before, now):
    """Whether a table or array is as it was when that snapshot was taken."""
    if isinstance(before, tuple):
        if before[:2] != (now.dtype.str, now.shape):
            return False
        if now.dtype.hasobject:
            return all(map(operator.is_, before[2], now.flat))
        return before[2] == now.tobytes()
    if not before.equals(now) or not before.index.equals(now.index) or before.index.names != now.index.names:
        return False
    if hasattr(before, "columns"):
        return before.columns.equals(now.columns) and list(before.dtypes) == list(now.dtypes)
    return before.name == now.name and before.dtype == now.dtype


def become(value, other):
    """Make a table or array what the other one is."""
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


def simple(value, encode):
    """A view, a scalar or a dtype as JSON; None for anything else."""
    numpy, pandas = _numpy(), _pandas()
    kind = type(value)
    if kind in VIEWS:
        return {"view": [VIEWS[kind], [encode(one) for one in value]]}
    if kind is array.array:
        return {"array": [value.typecode, [encode(one) for one in value]]}
    if kind in SPACES:
        fields = vars(value) if kind is SPACES[0] else value
        return {"space": [SPACES.index(kind), [[encode(key), encode(one)] for key, one in fields.items()]]}
    if numpy is not None:
        if isinstance(value, numpy.generic) and kind.__module__ == "numpy":
            if value.dtype.hasobject or value.dtype.names:
                return None
            return {"npscalar": [value.dtype.str, base64.b64encode(value.tobytes()).decode("ascii")]}
        if isinstance(value, numpy.dtype) and not value.hasobject:
            return {"npdtype": encode(_descr(value))}
        if isinstance(value, numpy.dtype) and value.kind == "O":
            return {"npdtype": "O"}
        if isinstance(value, type) and issubclass(value, numpy.generic) and kind.__module__ == "builtins":
            return {"nptype": value.__name__} if getattr(numpy, value.__name__, None) is value else None
    if pandas is None or not kind.__module__.startswith("pandas."):
        return None
    if value is pandas.NaT or value is pandas.NA:
        return {"pdconstant": "NaT" if value is pandas.NaT else "NA"}
    if kind is pandas.Timestamp:
        return {"pdtime": [encode(value.asm8), _zone(value.tz)]}
    if kind is pandas.Timedelta:
        return {"pdspan": encode(value.asm8)}
    if kind is pandas.Period:
        return {"pdperiod": [value.ordinal, value.freqstr]}
    if kind is pandas.Interval:
        return {"pdinterval": [encode(value.left), encode(value.right), value.closed]}
    if isinstance(value, pandas.Index):
        return {"pdindex": _index(value, encode)}
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return {"pdarray": _array(value, encode)}
    if isinstance(value, pandas.api.extensions.ExtensionDtype) and kind.__name__ != "CategoricalDtype":
        return {"pddtype": str(value)}
    return None


def _descr(dtype):
    return dtype.str if dtype.names is None else [list(one) for one in dtype.descr]


def _zone(zone):
    if zone is None:
        return None
    return getattr(zone, "zone", None) or getattr(zone, "key", None) or str(zone)


def _array(values, encode):
    """An array, NumPy's or pandas' own: [kind, ...]."""
    numpy = _numpy()
    if isinstance(values, numpy.ndarray):
        if values.dtype.hasobject:
            return ["objects", list(values.shape), [encode(one) for one in values.flat]]
        raw = base64.b64encode(values.tobytes()).decode("ascii")
        return ["raw", encode(_descr(values.dtype)), list(values.shape), raw]
    name = type(values).__name__
    if name in ("NumpyExtensionArray", "PandasArray"):
        return _array(values.to_numpy(), encode)
    if name in ("DatetimeArray", "TimedeltaArray"):
        zone = _zone(getattr(values, "tz", None))
        return ["times", _array(values._ndarray, encode), zone]
    if name == "Categorical":
        return ["categories", _array(values.codes, encode), _index(values.categories, encode), bool(values.ordered)]
    return ["typed", str(values.dtype), [encode(one) for one in values]]


def _index(index, encode):
    pandas = _pandas()
    names = [encode(name) for name in index.names]
    if isinstance(index, pandas.RangeIndex):
        return ["range", names, index.start, index.stop, index.step]
    if isinstance(index, pandas.MultiIndex):
        levels = [_index(level, encode) for level in index.levels]
        return ["multi", names, levels, [[int(code) for code in codes] for codes in index.codes]]
    freq = None if isinstance(index, pandas.PeriodIndex) else getattr(index, "freqstr", None)
    return ["plain", names, _array(index.array, encode), freq]


def encode(value, write):
    """The content of an array or a table."""
    if type(value).__name__ == "ndarray":
        return _array(value, write)
    index = _index(value.index, write)
    attributes = [[write(key), write(one)] for key, one in value.attrs.items()]
    if type(value).__name__ == "Series":
        return [index, _array(value.array, write), write(value.name), attributes]
    columns = [_array(value.iloc[:, at].array, write) for at in range(value.shape[1])]
    return [index, _index(value.columns, write), columns, attributes]


# ---- containers of any kind that both sides have


def size(value):
    """How many items it has, in all its dimensions."""
    size = getattr(value, "size", None)
    return int(size) if isinstance(size, int) else len(value)


def taken(value):
    """What is in a container, to be compared with what is in it later."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, bytearray):
        return bytes(value)
    return snapshot(value) if is_kept(value) else list(value)


def unchanged(before, value):
    """Whether nothing has changed since that snapshot: the very same things in a list or dict, equal bytes."""
    if isinstance(value, dict):
        size = len(value)
        return (
            len(before) == 2 * size
            and all(map(operator.is_, before, value))
            and all(map(operator.is_, before[size:], value.values()))
        )
    if isinstance(value, bytearray):
        return before == value
    if is_kept(value):
        return same(before, value)
    return len(before) == len(value) and all(map(operator.is_, before, value))


# ---- reading


def made(tag, inner, read):
    """The view, scalar or dtype of JSON."""
    if tag == "view":
        items = [read(one) for one in inner[1]]
        made = {"keys": dict.fromkeys, "values": lambda given: dict(enumerate(given)), "items": dict}[inner[0]](items)
        return getattr(made, inner[0])()
    if tag == "array":
        return array.array(inner[0], [read(one) for one in inner[1]])
    if tag == "space":
        fields = {read(key): read(one) for key, one in inner[1]}
        return SPACES[1](fields) if inner[0] else SPACES[0](**fields)
    if tag.startswith("np"):
        import numpy

        if tag == "npscalar":
            return numpy.frombuffer(base64.b64decode(inner[1]), dtype=numpy.dtype(inner[0]))[0]
        if tag == "nptype":
            found = getattr(numpy, inner)
            if not (isinstance(found, type) and issubclass(found, numpy.generic)):
                raise ValueError(f"{inner} is no type of NumPy's")
            return found
        if tag == "npdtype":
            return _dtype(read(inner))
    import pandas

    if tag == "pdconstant":
        return {"NaT": pandas.NaT, "NA": pandas.NA}[inner]
    if tag == "pdtime":
        found = pandas.Timestamp(read(inner[0]))
        return found if inner[1] is None else found.tz_localize("UTC").tz_convert(inner[1])
    if tag == "pdspan":
        return pandas.Timedelta(read(inner))
    if tag == "pdperiod":
        return pandas.Period(ordinal=inner[0], freq=inner[1])
    if tag == "pdinterval":
        return pandas.Interval(read(inner[0]), read(inner[1]), inner[2])
    if tag == "pdindex":
        return _index_made(inner, read)
    if tag == "pdarray":
        return _array_made(inner, read)
    if tag == "pddtype":
        return pandas.api.types.pandas_dtype(inner)
    raise ValueError(f"a value of an unknown kind: {tag!r}")


def _dtype(descr):
    import numpy

    if isinstance(descr, str):
        return numpy.dtype(descr)
    return numpy.dtype([tuple([tuple(part) if isinstance(part, list) else part for part in one]) for one in descr])


def _array_made(inner, read):
    import numpy
    import pandas

    kind, *rest = inner
    if kind == "objects":
        shape, items = rest
        found = numpy.empty(math.prod(shape), dtype=object)
        found[:] = [read(one) for one in items]
        return found.reshape(shape)
    if kind == "raw":
        descr, shape, raw = rest
        return numpy.frombuffer(base64.b64decode(raw), dtype=_dtype(read(descr))).reshape(shape).copy()
    if kind == "times":
        values, zone = _array_made(rest[0], read), rest[1]
        if values.dtype.kind not in "mM":
            raise ValueError("times that are none")
        found = pandas.array(values)
        return found if zone is None else pandas.DatetimeIndex(values).tz_localize("UTC").tz_convert(zone).array
    if kind == "categories":
        codes, categories, ordered = rest
        return pandas.Categorical.from_codes(_array_made(codes, read), _index_made(categories, read), bool(ordered))
    if kind == "typed":
        return pandas.array([read(one) for one in rest[1]], dtype=rest[0])
    raise ValueError(f"an array of an unknown kind: {kind!r}")


def _index_made(inner, read):
    import pandas

    kind, names, *rest = inner
    names = [read(name) for name in names]
    if kind == "range":
        return pandas.RangeIndex(*rest, name=names[0])
    if kind == "multi":
        levels = [_index_made(level, read) for level in rest[0]]
        return pandas.MultiIndex(levels=levels, codes=rest[1], names=names)
    values, freq = rest
    values = _array_made(values, read)
    if freq is not None and getattr(values.dtype, "kind", "") == "M":
        return pandas.DatetimeIndex(values, freq=freq, name=names[0])
    if getattr(getattr(values, "dtype", None), "kind", "") == "O" and type(values).__name__ == "ndarray":
        return pandas.Index(values, dtype=object, name=names[0])
    return pandas.Index(values, name=names[0])


def decode(name, content, read):
    """The array or table of that content."""
    if name == "ndarray":
        return _array_made(content, read)
    import pandas

    if name == "Series":
        index, values, label, attributes = content
        values = _array_made(values, read)
        found = pandas.Series(values, index=_index_made(index, read), name=read(label), dtype=values.dtype)
    elif name == "DataFrame":
        index, columns, values, attributes = content
        columns = _index_made(columns, read)
        arrays = [_array_made(one, read) for one in values]
        index = _index_made(index, read)
        columns_made = {at: pandas.Series(one, index=index, dtype=one.dtype) for at, one in enumerate(arrays)}
        found = pandas.DataFrame(columns_made, index=index)
        found.columns = columns
    else:
        raise ValueError(f"a container of an unknown kind: {name!r}")
    found.attrs.update({read(key): read(one) for key, one in attributes})
    return found
