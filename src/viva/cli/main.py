"""`viva`: the commands, each loaded when it is used, and the last line of defence for errors."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import Any, cast

import click

from viva.cli import habits
from viva.cli.common import OF_EVERY_COMMAND, add_common_options
from viva.cli.renamed import current_command, current_options
from viva.errors import EXIT_INTERRUPTED, EXIT_STORAGE, VivaError, missing_extras
from viva.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("viva.cli.ask.run", "Examine models: ask, grade, print the tables."),
    "runs": ("viva.cli.look.runs", "Your runs: date, models, exams, score, cost, and what is left to do."),
    "resume": ("viva.cli.ask.run", "Go on with a run: ask only what is missing or failed."),
    "limits": ("viva.cli.ask.limits", "Show and change how hard a running run asks."),
    "score": ("viva.cli.grade.score", "Grade a run again from its files, asking nobody."),
    "review": ("viva.cli.grade.review", "Let experts confirm or change verdicts, on a page of their own."),
    "agreement": ("viva.cli.grade.agree", "How far experts agree, and a judge with them; scores from few labels."),
    "judge-bias": ("viva.cli.grade.judge_bias", "Does a judge's mark depend on what should not matter?"),
    "error-types": ("viva.cli.grade.errors", "Why wrong answers are wrong: CS-Bench's error types, by a judge."),
    "grade": ("viva.cli.grade.grade", "Grade answers collected elsewhere."),
    "score-table": ("viva.cli.grade.reduce", "Sum up item scores: best of ten, leaderboard rows, difficulty."),
    "merge": ("viva.cli.ask.merge", "Make one run of the shards of a run."),
    "export": ("viva.cli.look.export", "Write runs and sets as other people's tools read them."),
    "plan": ("viva.cli.compare.plan", "How many questions a decision needs, and what a number of them can show."),
    "compare": ("viva.cli.compare.compare", "Who is better, question by question, and is it chance?"),
    "published": ("viva.cli.compare.published", "The papers' own tables, with sources and contradictions."),
    "breakdown": ("viva.cli.compare.breakdown", "Scores by any tag; the worst and best slices, and chance."),
    "variance": ("viva.cli.compare.variance", "What moves a score: prompts, option orders, exemplars, chance."),
    "training": ("viva.cli.compare.training", "Scores over training: many checkpoints of one model."),
    "correlate": ("viva.cli.compare.correlate", "How scores in formats or exams go together over models."),
    "scaling": ("viva.cli.compare.scaling", "How scores grow with size: fits, predictions, breaks."),
    "item-analysis": ("viva.cli.compare.items", "Questions: facility, discrimination, item response, anchors, levels."),
    "perplexity": ("viva.cli.ask.perplexity", "How little texts surprise a model; signs of leakage."),
    "report": ("viva.cli.look.report", "A run as one HTML file that opens offline, or as tables."),
    "show": ("viva.cli.look.show", "Show prompt, reply, what was read in it, and the verdict."),
    "leaderboard": ("viva.cli.look.leaderboard", "A static site of rankings: a page a benchmark and a model."),
    "view": ("viva.cli.look.view", "Browse runs in the browser, also while they are running."),
    "prompt": ("viva.cli.ask.prompt", "Show the exact text that a model would be sent."),
    "init": ("viva.cli.sets.init", "Write the card that makes a table an exam."),
    "check": ("viva.cli.sets.check", "Test a data set and its grading with its own gold answers."),
    "overlap": ("viva.cli.sets.overlap", "Near-duplicates and leakage: a set beside another set or a corpus."),
    "extract": ("viva.cli.grade.extract", "Read letters and truth values out of anybody's replies."),
    "list": ("viva.cli.ask.list", "List benchmarks: formats, languages, counts, licences."),
    "serve-check": ("viva.cli.ask.serve_check", "Say what an OpenAI-compatible server supports, with samples."),
    "toolchains": ("viva.cli.ask.toolchains", "Say which programming languages the sandbox can run here."),
    "fetch": ("viva.cli.ask.fetch", "Download a benchmark's published files."),
    "build": (
        "viva.build.treebank.command",
        "Make an examination of your own: of a treebank, a dump, a translation, ...",
    ),
}


class _Commands(click.Group):
    """Commands by name; the help text lives here so that `viva --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command = cast("click.Command", getattr(module, f"{cmd_name.replace('-', '_')}_command"))
        return add_common_options(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, [current_command(args[0], COMMANDS), *args[1:]])
        except click.UsageError:
            near = habits.COMMANDS.get(args[0], "")
            said = f"; did you mean {near}?" if near else habits.nearest(args[0], COMMANDS)
            said = said or f"; there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}{said}") from None
        return name, command, current_options(command, rest) if command else rest


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="viva")
def cli() -> None:
    """Examine language models with published question sets, and know how far to trust the number.

    \b
    viva run csbench cmmlu --model baseline/random         the bundled samples, offline
    viva run cmmlu --data DIR --shots 5 --model openai/NAME --base-url http://127.0.0.1:8000/v1
    viva resume runs/NAME                                  go on where it stopped

    Exit codes: 0 all answered; 2 wrong use; 3 something is unanswered or failed a check; 4 the endpoint refuses key or
    model; 5 the run folder cannot be written; 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Errors for the user are one sentence on stderr; only defects of Viva show a traceback."""
    # Before NumPy is loaded: of vectors of more than 10,000 numbers OpenBLAS makes several threads wait for each other,
    # for twice the time of one, and the last digit of a sum depends on how many there are.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with missing_extras():
            code: Any = cli.main(arguments, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message())
        code = 2
    except click.ClickException as problem:
        if isinstance(problem, click.NoSuchOption):
            near = difflib.get_close_matches(problem.option_name, problem.possibilities or (), 1)
            problem = click.NoSuchOption(problem.option_name, possibilities=near, ctx=problem.ctx)
            inside = problem.ctx
            if inside and problem.option_name in OF_EVERY_COMMAND and isinstance(inside.command, click.Group):
                where = f"{inside.command_path} COMMAND {problem.option_name}"
                problem = click.UsageError(f"{problem.option_name} belongs after the command: {where}", inside)
        problem.show()
        code = problem.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        habits.say("interrupted")
        code = EXIT_INTERRUPTED
    except VivaError as problem:
        habits.say(str(problem))
        code = problem.exit_code
    except BrokenPipeError:
        # The reader (head, less) went away: that is no error, but Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as problem:
        habits.say(f"{problem.filename or 'output'}: {problem.strerror}")
        code = EXIT_STORAGE
    sys.exit(code if isinstance(code, int) else 0)
