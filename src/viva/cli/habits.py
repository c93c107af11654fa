"""What users of other tools type: it works, or they are told what it is called here."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

import click

NAMED = ("--tasks", "--datasets", "--eval")
"""Benchmarks by an option, several with commas; here they are arguments."""
SAME = {
    "-m": "--model",
    "--num_fewshot": "--shots",
    "--fewshot": "--shots",
    "--output_path": "--run",
    "--log-dir": "--run",
    "--work-dir": "--run",
    "--epochs": "--repeats",
    "--max-connections": "--concurrency",
    "--max-concurrency": "--concurrency",
    "-j": "--concurrency",
    "--eval-batch-size": "--concurrency",
    "--max-retries": "--max-attempts",
    "--use_cache": "--reuse",
    "--api-url": "--base-url",
    "--model-base-url": "--base-url",
    "-c": "--config",
}
"""Another tool's option → ours, which takes the same value."""
TOLD = {
    "--model_args": "a model is named whole, as in --model hf/NAME or --model openai/NAME --base-url URL, and its "
    "settings are options: --revision, --dtype, --device, --adapter, --trust-remote-code",
    "--gen_kwargs": "write --temperature, --top-p, --max-tokens, --samples",
    "--generation-config": "write --temperature, --top-p, --max-tokens, --samples",
    "--apply_chat_template": "chat messages are the default; --form base sends raw text",
    "--log_samples": "leave it out: every answer is kept in the run folder, and `viva show` has them",
    "--include_path": "name the card itself: viva run FILE.yaml",
    "--write_out": "`viva show BENCHMARK --prompt` shows what a model is sent",
    "--api-key": "put the key into a variable and name that: --api-key-env NAME",
    "--hf_hub_log_args": "leave it out: nothing is uploaded",
}
"""Another tool's option, and what to write here; its value means something else."""
COMMANDS = {
    "eval": "run", "evaluate": "run", "ls": "runs", "log": "show", "logs": "runs", "score-log": "score",
    "agree": "agreement", "errors": "error-types", "items": "item-analysis", "reduce": "score", "score-table": "score",
    "prompt": "show EXAM --prompt", "toolchains": "doctor", "serve-check": "doctor URL",
}  # fmt: skip
"""Another tool's command, or a former name → ours."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean csbench?`, or nothing where nothing is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def translated(arguments: Sequence[str], known: Collection[str], *, benchmarks: bool) -> list[str]:
    """Arguments with other tools' options under our names; each is said once. `benchmarks`: the command takes some.

    Raises UsageError for an option that has no equal here, with what to write.
    """
    found: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return [*found, argument, *rest]
        name, equals, value = argument.partition("=")
        if not name.startswith("-") or name in known:
            found.append(argument)
            continue
        plain = name.replace("_", "-")
        ours = next((one for one in (SAME.get(name), SAME.get(plain), plain) if one in known), None)
        if benchmarks and name in NAMED and (equals or rest):
            names = [one for one in (value if equals else rest.pop(0)).split(",") if one]
            say(f"{name} is no option here: benchmarks are arguments, as in `viva run {' '.join(names)}`")
            found += names
        elif benchmarks and (said := TOLD.get(name) or TOLD.get(plain.replace("-", "_"))):
            raise click.UsageError(f"there is no {name} here: {said}")
        elif ours is not None:
            if ours != plain:
                say(f"{name} is called {ours} here")
            found.append(f"{ours}{equals}{value}")
        else:
            found.append(argument)
    return found


def say(text: str) -> None:
    """A sentence of Viva's own on stderr."""
    from viva.runs import live_line

    live_line.say(f"viva: {text}")
