"""Every study of finished runs as a function: `viva.breakdown("runs/a", by="domain")`, loaded when it is used."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from viva.api.asking import UnansweredWarning
from viva.api.keywords import in_parameters, keywords, parameter_names, with_signature
from viva.api.threads import run_in_thread
from viva.errors import VivaError, missing_extras
from viva.runs.config import Option, options
from viva.runs.messages import Caller

if TYPE_CHECKING:
    from viva.reports.printing import StudyResult

STUDIES: Mapping[str, tuple[str, str]] = {
    "agreement": ("viva.studies.agreement.study", "AgreementConfig"),
    "breakdown": ("viva.studies.breakdown.study", "BreakdownConfig"),
    "compare": ("viva.studies.compare.study", "CompareConfig"),
    "correlate": ("viva.studies.correlate.study", "CorrelateConfig"),
    "error_types": ("viva.studies.errors.study", "ErrorsConfig"),
    "item_analysis": ("viva.lab.items.study", "ItemsConfig"),
    "judge_bias": ("viva.lab.judge_bias.study", "JudgeBiasConfig"),
    "leaderboard": ("viva.studies.leaderboard.study", "LeaderboardConfig"),
    "overlap": ("viva.lab.overlap.study", "OverlapSettings"),
    "perplexity": ("viva.lab.perplexity.study", "PerplexityConfig"),
    "plan": ("viva.lab.plan.study", "PlanConfig"),
    "published_tables": ("viva.studies.published.study", "PublishedConfig"),
    "scaling": ("viva.studies.scaling.study", "ScalingConfig"),
    "score_table": ("viva.studies.score_table.study", "ScoreTableConfig"),
    "set_statistics": ("viva.build.stats.study", "SetStatisticsConfig"),
    "training": ("viva.studies.training.study", "TrainingConfig"),
    "variance": ("viva.lab.variance.study", "VarianceConfig"),
}
"""Function → the module of its `study`, and the struct of its arguments and options there."""
ASKING = ("error_types", "judge_bias", "perplexity")
"""Those that ask models: in a thread, as runs do, so that an event loop of the program's goes on."""


class Study(Protocol):
    """A study as a function: its arguments, and its options by their names."""

    def __call__(self, *given: Any, **named: Any) -> StudyResult:
        """What was found."""


def __getattr__(name: str) -> Study:
    if name not in STUDIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function(name)


def study_options(name: str) -> dict[str, Option]:
    """Arguments and options of a study by their names."""
    module, config = STUDIES[name]
    return options(getattr(importlib.import_module(module), config))


@cache
def _function(name: str) -> Study:
    module, config = STUDIES[name]
    with missing_extras():
        loaded = importlib.import_module(module)
    known = study_options(name)
    first = [option for option in known.values() if option.argument]
    signature = inspect.Signature([_argument(option) for option in first])

    @parameter_names(known)
    def function(*given: Any, **named: Any) -> StudyResult:
        bound = signature.bind(*given, **{each.name: named.pop(each.name) for each in first if each.name in named})
        values = keywords(known, {**bound.arguments, **named}, f"viva.{name}")
        for each in known.values():
            if each.required and not values[each.name]:
                raise VivaError(f"{each.name}: must be given ({each.description.rstrip('.')})")
        asked = getattr(loaded, config)(**values)
        with missing_extras():
            result: StudyResult = _in_thread(loaded.study, asked) if name in ASKING else loaded.study(asked)
        return result

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    lines = [f"    {each.name}: {in_parameters(each.description, known)}" for each in known.values()]
    function.__doc__ = "\n".join((inspect.cleandoc(loaded.study.__doc__), "", *lines))
    return with_signature({each: option for each, option in known.items() if not option.argument})(function)


def _in_thread(study: Callable[[Any], StudyResult], config: Any) -> StudyResult:
    said: list[str] = []

    def work(caller: Caller) -> StudyResult:
        try:
            return study(config)
        finally:
            said.extend(caller.messages)

    result = run_in_thread(work)
    if said:
        warnings.warn("; ".join(said), UnansweredWarning, stacklevel=4)
    return result


def _argument(option: Option) -> inspect.Parameter:
    kind = inspect.Parameter.VAR_POSITIONAL if option.several else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if option.several or option.required else option.default
    return inspect.Parameter(option.name, kind, default=default, annotation=option.kind)
