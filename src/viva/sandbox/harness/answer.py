# mypy: ignore-errors
# ruff: noqa: S102, PTH123
"""The answerer of a Python program (see calls.py): runs the program, then calls its functions on request.

Nothing here is a secret, and nothing here decides: what comes back is compared by Viva.
"""

import asyncio
import inspect
import json
import os

import python
import values


def _found(space, name):
    """Return the function of that name, or the method of a class ("Class.method"); None where there is none."""
    first, *rest = name.split(".")
    value = space.get(first)
    for part in rest:
        value = getattr(value, part, None)
    return value if callable(value) else None


async def _settled(value):
    value = await value if inspect.isawaitable(value) else value
    return [item async for item in value] if inspect.isasyncgen(value) else value


def _reply(space, request):
    """Return the line that answers a request."""
    function = _found(space, request["call"])
    if function is None:
        reply = {"missing": f"no function {request['call']}"}
    else:
        try:
            result = function(*values.decode(request["args"]))
            if inspect.isawaitable(result) or inspect.isasyncgen(result):
                result = asyncio.run(_settled(result))
            return values.line({"id": request["id"], "returns": values.encode(result)})
        except values.UnknownError as unknown:
            reply = {"unknown": str(unknown)}
        except BaseException as error:
            reply = {"raises": _raised(error)}
    return values.line({"id": request["id"], **reply})


def _raised(error):
    """Return an exception in the form of a reply."""
    try:
        message = str(error)[:1000]
    except Exception:
        message = ""
    kind = type(error)
    return {"type": kind.__name__, "message": message, "bases": [base.__name__ for base in kind.__mro__[1:-1]][:20]}


def run_calls(source, answers, path="main.py"):
    """Run the program, then call. Never returns."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        space = python.module()
        exec(compile(text, path, "exec"), space)
        with os.fdopen(source, "rb", closefd=False) as requests:
            for line in requests:
                text = _reply(space, json.loads(line))
                while text:
                    text = text[os.write(answers, text) :]
    except BaseException as error:
        python.flush()
        python.fail(error)
    python.flush()
    os._exit(0)
