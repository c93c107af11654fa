"""Source code generated for the calls of one program, in languages that cannot call by name.

A driver knows the calls, never their expected results. Go gets a table of functions, C++ a table of calls: it has
overloaded functions and templates, so that the arguments say which function is meant. Java and C# look methods up by
reflection.

Regular expressions suffice here: only whether an honest program compiles depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from viva.types import Call

Driver = Callable[[str, Sequence[Call], str], Mapping[str, str]]
"""(program, calls, a one-time name of letters and digits) → files of /box by name, over those of the table."""

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", re.ASCII)


def _go(program: str, calls: Sequence[Call], entry: str) -> Mapping[str, str]:
    """Return the functions of the calls, one by one.

    One that the program does not name is nil; one with type parameters is instantiated with the arguments' own types.
    """
    names = _called(program, calls)
    table = ""
    for call in calls:
        function = call.call
        if function not in names:
            table += "\tnil,\n"
            continue
        if re.search(rf"^func\s+{function}\s*\[", program, re.MULTILINE):
            listed = ", ".join(f"a{number} {_go_type(value)}" for number, value in enumerate(call.args))
            passed = ", ".join(f"a{number}" for number in range(len(call.args)))
            function = f"func({listed}) interface{{}} {{ return {function}({passed}) }}"
        table += f"\tfunc() interface{{}} {{ return {function} }},\n"
    return {f"{entry}_calls.go": f"package main\n\nvar {entry}Functions = []func() interface{{}}{{\n{table}}}\n"}


def _cpp(program: str, calls: Sequence[Call], entry: str) -> Mapping[str, str]:
    """Return the program between the reader of arguments and the table of the calls."""
    functions: dict[str, str] = {}
    names = _called(program, calls)
    rows = ""
    for call in calls:
        function = _cpp_function(call, program) if call.call in names else "0"
        name = functions.setdefault(function, f"{entry}_{len(functions)}") if function != "0" else function
        rows += f"    {name},\n"
    text = '#include "{entry}.h"\n#include "{entry}_program.h"\n\n;\n'
    text += '#include "{entry}_table.h"\n'
    text += "".join(f"static void {name}(const {{entry}}::Node *{{entry}}g) {body}" for body, name in functions.items())
    text += f"static const {{entry}}::Call {{entry}}_calls[] = {{\n{rows}}};\n"
    text += "const {entry}::Call *const {entry}::calls = {entry}_calls;\n"
    return {f"{entry}.cpp": text.replace("{entry}", entry)}


def _called(program: str, calls: Sequence[Call]) -> set[str]:
    """Return the called names of which the program contains at least the last word."""
    words = set(re.findall(r"\w+", program))
    names = {call.call for call in calls}
    return {name for name in names if _NAME.fullmatch(name) and name.rpartition(".")[2] in words}


def _go_type(value: object) -> str:  # noqa: PLR0911  a list of cases
    """Return the type that Go would give a literal of this value."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float() | {"$float": _}:
            return "float64"
        case str():
            return "string"
        case {"$bytes": _}:
            return "[]byte"
        case {"$set": [first, *_]}:
            return f"map[{_go_type(first)}]bool"
        case {"$map": [[key, item], *_]}:
            return f"map[{_go_type(key)}]{_go_type(item)}"
        case {"$tuple": [*items]} | {"$array": [*items]} | [*items] if items:
            return f"[]{_go_common(items)}"
        case dict() if value:
            return f"map[string]{_go_common(value.values())}"
    return "interface{}"


def _go_common(items: Iterable[object]) -> str:
    """Return the common type of all items; of integers and floats, float."""
    first, *more = sorted({_go_type(item) for item in items})
    return first if not more else "float64" if [first, *more] == ["float64", "int"] else "interface{}"


_CPP_NUMBERS = ("int", "long long", "unsigned long long", "double")


def _cpp_function(call: Call, program: str) -> str:
    """Return the body of a function that makes a call: by address, or by name with the first types that fit.

    A class has no address, and what it makes is an object and no value."""
    name = "::" + call.call.replace(".", "::")
    addressed = (
        f"decltype({{entry}}::by_address(&{name}, {{entry}}n)) {{ return {{entry}}::by_address(&{name}, {{entry}}n); }}"
    )
    if re.search(rf"\b(?:struct|class|union)\s+{name.rpartition(':')[2]}\b", program):
        addressed = "typename decltype({entry}n)::none { return {}; }"
    listed: dict[str, None] = {}
    for whole in ("int", "long long", "double"):
        kinds = ", ".join(_cpp_type(value, whole) for value in call.args)
        listed["{entry}::Types<" + kinds + ">"] = None
    return (
        f"{{\n    {{entry}}::call<{len(call.args)}>(\n"
        f"        [](auto {{entry}}n) -> {addressed},\n"
        f"        [](auto &&...{{entry}}a) -> decltype({name}({{entry}}a...)) {{ return {name}({{entry}}a...); }},\n"
        f"        {{entry}}::Types<{', '.join(listed)}>(), {{entry}}g, {{entry}}::Rank<1>());\n}}\n"
    )


def _cpp_type(value: object, whole: str) -> str:  # noqa: PLR0911  a list of cases
    """Return the type that a value has in C++ by itself, an integer being at least `whole`."""
    match value:
        case bool():
            return "bool"
        case int():
            bits = max(value, ~value).bit_length()  # without the sign
            return max(_CPP_NUMBERS[(bits > 31) + (bits > 63)], whole, key=_CPP_NUMBERS.index)
        case float() | {"$float": _}:
            return "double"
        case str() | {"$bytes": _}:
            return "{entry}::Text"
        case {"$set": [*items]}:
            return f"{{entry}}::Set<{_cpp_common(items, whole)}>"
        case {"$tuple": [first, second]}:
            return f"{{entry}}::Pair<{_cpp_type(first, whole)}, {_cpp_type(second, whole)}>"
        case {"$tuple": [*items]}:
            return f"{{entry}}::Tuple<{', '.join(_cpp_type(item, whole) for item in items)}>"
        case {"$map": [*pairs]}:
            keys, items = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            return f"{{entry}}::Map<{_cpp_common(keys, whole)}, {_cpp_common(items, whole)}>"
        case {"$array": [*items]} | [*items]:
            return f"{{entry}}::List<{_cpp_common(items, whole)}>"
        case dict():
            return f"{{entry}}::Map<{{entry}}::Text, {_cpp_common(list(value.values()), whole)}>"
    return "decltype(nullptr)"


def _cpp_common(items: Sequence[object], whole: str) -> str:
    kinds = {_cpp_type(item, whole) for item in items} or {"int"}
    return max(kinds, key=_CPP_NUMBERS.index) if kinds <= set(_CPP_NUMBERS) else min(kinds)


DRIVERS: Mapping[str, Driver] = {"go": _go, "cpp": _cpp}
"""By the name of a language in languages.toml."""
