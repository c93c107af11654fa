"""`viva export BENCHMARK --to lm-eval-tasks`: benchmarks as a folder of tasks for lm-evaluation-harness.

A YAML file for each benchmark and one small Python module, which calls the installed Viva for questions, prompts and
scores: the folder contains no questions, and works with any data that the settings name.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml

from viva.benchmarks import BENCHMARKS
from viva.errors import DataError, VivaError
from viva.interop.asked import Asked, Settings, open_asked
from viva.studies.export.evaluations import Source
from viva.studies.export.exportformats import Written
from viva.types import Generate, Prompt, Sampling
from viva.version import __version__
from viva.visible import one_line

MODULE = "viva_tasks"
_MODULE = '''\
"""What the YAML files beside this one call: Viva, which must be installed where lm-evaluation-harness runs."""

from viva.interop.lmeval_tasks import (  # noqa: F401
    clrbench,
    cmmlu,
    csbench,
    doc_to_target,
    doc_to_text,
    headline,
    infibench,
    process_results,
    syneval,
    unscored,
)
'''


class _Function(str):
    """Name of a function of the module, written with lm-eval's YAML tag."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", f"{MODULE}.{name}"))


def write_tasks(source: Source, folder: Path) -> Written:
    """Write the tasks of one or several benchmarks."""
    config = source.config
    for name in config.sources:
        if name not in BENCHMARKS:
            known = ", ".join(BENCHMARKS)
            raise VivaError(
                f"lm-eval-tasks writes tasks of benchmarks, and {one_line(name, 80)!r} is none; there are: {known}",
                field="to",
            )
    files: dict[str, str] = {f"{MODULE}.py": _MODULE}
    for name in dict.fromkeys(config.sources):
        languages: list[str | None] = [part for given in config.language for part in given.split(",") if part]
        for language in languages or [None]:
            how = Settings(data=str(config.data.resolve()) if config.data else None, language=language)
            task = f"viva_{name}" + (f"_{language}" if language else "")
            files[f"{task}.yaml"] = _task(task, name, open_asked(name, how), how)
            with suppress(DataError):  # sets without prompts for base models
                base = msgspec.structs.replace(how, form="base")
                files[f"{task}_base.yaml"] = _task(f"{task}_base", name, open_asked(name, base), base)
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    tasks = [file.removesuffix(".yaml") for file in files if file.endswith(".yaml")]
    place, named = one_line(str(config.out), 200), ",".join(task for task in tasks if "_base" not in task)
    command = f"lm_eval run --include_path {place} --tasks {named} --apply_chat_template --log_samples"
    return f"{len(tasks)} tasks", [command]


def _task(task: str, benchmark: str, opened: Asked, how: Settings) -> str:
    draws = opened.draws
    prompt: Prompt = ""
    longest, stops = 0, set[str]()
    for question in opened.exam.questions():
        request = opened.exam.request(question, 0, draws.sampling)
        prompt = request.prompt
        if isinstance(request, Generate):
            longest = max(longest, request.sampling.max_tokens or 0)
            stops.update(request.sampling.stop)
    sampling = msgspec.structs.replace(draws.sampling, max_tokens=longest or None, stop=tuple(sorted(stops)))
    system = not isinstance(prompt, str) and any(turn.role == "system" for turn in prompt)
    signature = opened.settings()
    take = {"function": "take_first_k", "k": draws.samples}
    content: dict[str, Any] = {
        "task": task,
        "task_alias": f"{opened.about.title} (Viva)",
        "custom_dataset": _Function(benchmark),
        "test_split": "test",
        "output_type": "generate_until",
        "num_fewshot": 0,  # Viva's prompts contain the exemplars
        **({"description": "{{system}}"} if system else {}),
        "doc_to_text": _Function("doc_to_text"),
        "doc_to_target": _Function("doc_to_target"),
        "process_results": _Function("process_results"),
        "generation_kwargs": _generation(sampling),
        "repeats": draws.samples,
        # Without a filter lm-eval scores the first reply alone.
        **({"filter_list": [{"name": "all", "filter": [take]}]} if draws.samples > 1 else {}),
        "metric_list": [
            {"metric": "viva", "aggregation": _Function("headline"), "higher_is_better": True},
            {"metric": "viva_unscored", "aggregation": _Function("unscored"), "higher_is_better": False},
        ],
        "metadata": {
            "version": int(opened.about.version),
            **msgspec.to_builtins(how),
            "viva": __version__,
            "signature": "|".join(f"{name}:{value}" for name, value in signature.items() if name != "model"),
        },
    }
    head = f"# {opened.about.title}, asked and scored by Viva {__version__}; written by `viva export`.\n"
    return head + yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _generation(sampling: Sampling) -> dict[str, Any]:
    warm = bool(sampling.temperature)
    return {
        "until": list(sampling.stop),
        "max_gen_toks": sampling.max_tokens or 2048,
        "do_sample": warm,
        "temperature": sampling.temperature or 0.0,
        **({"top_p": sampling.top_p} if warm and sampling.top_p is not None else {}),
    }
