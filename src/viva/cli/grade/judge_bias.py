"""`viva judge-bias`: does a judge's mark depend on what should not matter?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from viva.cli.consent import confirm_endpoints
from viva.cli.options import consent_options, derive, engine_options, tables_options
from viva.cli.output import show_study
from viva.lab.judges.study import JudgeBiasConfig, study
from viva.runs.config import LimitOptions

_METAVARS = {"judge": "MODEL[@URL]", "judge_base_url": "URL", "judge_key_env": "NAME", "answers": "N", "seed": "N"}


@click.command(name="judge-bias", short_help="Does a judge's mark depend on what should not matter?")
@click.argument("run", type=click.Path(path_type=Path))
@derive(JudgeBiasConfig, without=LimitOptions.__struct_fields__, metavars=_METAVARS)
@engine_options
@consent_options
@tables_options
def judge_bias_command(**given: Any) -> int:
    """Examine the judge of RUN, without any expert: it marks the same answers as they are and in another form (padded,
    as Markdown, with an invented authority, after the question repeated, with an order to the judge, before the
    reference), the same answer twice, and what is no answer. Replies are kept in judge-bias.jsonl of the run folder:
    the same command goes on where it stopped, and asks nobody twice.

    \b
    viva judge-bias runs/NAME --estimate
    viva judge-bias runs/NAME --max-cost 2                       the run's own judges, 100 answers
    viva judge-bias runs/NAME --judge openai/OTHER --answers 300
    """
    return show_study(partial(study, confirm=confirm_endpoints), JudgeBiasConfig, given).exit_code
