"""`viva`: the commands, each loaded on use, and the handling of errors that reach the top."""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import click

from viva import plugins
from viva.errors import EXIT_INTERRUPTED, EXIT_STORAGE, VivaError, missing_extras
from viva.version import __version__

OF_EVERY_COMMAND = ("--json", "--quiet", "--verbose", "--log-level")

STUDY = "", ""
"""Value in `GROUPS` of a study placed by hand; the others follow their heading's commands alphabetically."""
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "list": ("viva.cli.ask.list", "Benchmarks: formats, languages, counts, licences."),
        "fetch": ("viva.cli.ask.fetch", "Download a benchmark's published files."),
        "run": ("viva.cli.ask.run", "Ask models, grade their answers, print the scores."),
        "resume": ("viva.cli.ask.run", "Go on with a run: ask only what is missing or failed."),
        "limits": ("viva.cli.ask.limits", "Show and change how hard a running run asks."),
        "merge": ("viva.cli.ask.merge", "Make one run of the shards of a run."),
        "doctor": ("viva.cli.ask.doctor", "What a server supports; which languages the sandbox can run."),
        "docs": ("viva.cli.look.docs", "Read the documentation here: `viva docs TOPIC`."),
    },
    "Grade and judge": {
        "grade": ("viva.cli.grade.grade", "Grade answers collected elsewhere."),
        "score": ("viva.cli.grade.score", "Grade a run again from its files, or sum up a score table."),
        "extract": ("viva.cli.grade.extract", "Read letters and truth values out of anybody's replies."),
        "review": ("viva.cli.grade.review", "Let experts confirm or change verdicts, on a page of their own."),
        "error-types": STUDY,
    },
    "Look": {
        "runs": STUDY,
        "show": ("viva.cli.look.show", "Prompt, reply, what was read in it, and the verdict."),
        "view": ("viva.cli.look.view", "Browse runs in the browser, also while they are running."),
        "report": ("viva.cli.look.report", "A run as one HTML file that opens offline, or as tables."),
        "leaderboard": STUDY,
    },
    "Compare": {
        "published": STUDY,
    },
    "Sets": {
        "init": ("viva.cli.sets.init", "Write the card that makes a table an exam."),
        "check": ("viva.cli.sets.check", "Test a data set and its grading with its own gold answers."),
    },
}
"""The core's commands under the headings of `--help`: module and one line, so that `--help` imports none of them."""
for _name, _study in plugins.studies().items():
    if _study.package:
        GROUPS.setdefault(_study.package, {})[_name] = _study[:2]
COMMANDS = {name: known for group in GROUPS.values() for name, known in group.items()}


class Commands(click.Group):
    """The commands whose names begin with `prefix`: the core's, and those that packages register."""

    def __init__(self, prefix: str = "", **given: Any) -> None:
        super().__init__(**given)
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the first words of command names, for completion."""
        names = (name.removeprefix(self._prefix) for name in self._known() if name.startswith(self._prefix))
        return list(dict.fromkeys(name.partition(" ")[0] for name in names))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of one word, or the group of commands that begin with it; None for neither."""
        name = self._prefix + cmd_name
        if name in COMMANDS:
            return _built_in(name)
        known = _registered().get(name)
        if known is None:
            return None
        return _of_package(name) if ":" in known.place else _group(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the longest name that the arguments begin with: `variance run` before `variance`."""
        name = args[0]
        if self._prefix + name not in COMMANDS and len(args) > 1:
            longer = f"{self._prefix}{name} {args[1]}"
            if any(f"{known} ".startswith(f"{longer} ") for known in _registered()) and not _is_run(args[1:]):
                return name, _group(self._prefix + name), args[1:]
        command = self.get_command(ctx, name)
        if command is None:
            near = "" if self._prefix else _known_elsewhere()["commands"].get(name, "")
            known = self.list_commands(ctx)
            hint = f"; did you mean `viva {near}`?" if near else _nearest(name, known)
            hint = hint or f"; there are: {', '.join(known)}"
            raise click.UsageError(f"there is no command {self._prefix + name!r}{hint}")
        if isinstance(command, click.Group):
            return name, command, args[1:]
        known_options = {option for parameter in command.params for option in parameter.opts}
        takes_benchmarks = any(param.name == "benchmarks" for param in command.params)
        return name, command, _translated(args[1:], known_options, benchmarks=takes_benchmarks)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a group's options, by their names only, and its commands."""
        formatter.write("\nOptions: --version, --help\n" if not self._prefix else "\nOptions: --help\n")
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, and problems of packages."""
        rows: dict[str, dict[str, str]] = {}
        if not self._prefix:
            rows = {heading: {name: line for name, (_, line) in group.items()} for heading, group in GROUPS.items()}
        for name, known in _registered().items():
            shown = name.removeprefix(self._prefix)
            if name.startswith(self._prefix) and " " not in shown:
                heading = "Commands" if self._prefix else known.package.capitalize()
                rows.setdefault(heading, {})[shown] = known.summary
        write_sections(formatter, rows)

    def _known(self) -> Iterator[str]:
        yield from COMMANDS
        yield from _registered()


def _is_run(args: list[str]) -> bool:
    """Return whether the first argument is a run folder with a command's name, as in `variance run`: commands that ask
    name an exam, those that look a run.
    """
    if not Path(args[0], "run.json").is_file():
        return False
    from viva.benchmarks import BENCHMARKS, question_file

    return not any(arg == "--config" or arg in BENCHMARKS or question_file(arg) for arg in args[1:])


def write_sections(formatter: click.HelpFormatter, rows: Mapping[str, Mapping[str, str]]) -> None:
    """Write headings and rows without empty lines between them, to fit one screen."""
    widest = max((len(name) for lines in rows.values() for name in lines), default=0)
    for heading, lines in rows.items():
        formatter.write(f"{heading}:\n")
        for name, line in lines.items():
            formatter.write(f"  {name:<{widest}}  {line}\n")


def _registered() -> dict[str, plugins.Registered]:
    """Return the commands of packages, but those with the name of a core command."""
    commands = plugins.registered()
    for name in COMMANDS.keys() & commands.keys():
        plugins.problems.append(
            f"{commands[name].package} registers the command {name!r}, which Viva has: Viva's counts"
        )
        del commands[name]
    return commands


def _group(name: str) -> click.Group:
    """Return the group of a package's commands with this prefix; its help is the docstring of the module registered for
    it, if any.
    """
    import inspect

    known = _registered()[name]
    has_help = known.place and ":" not in known.place
    summary = importlib.import_module(known.place).__doc__ if has_help else known.summary
    return Commands(f"{name} ", name=name.rpartition(" ")[2], help=inspect.cleandoc(summary or ""))


def _built_in(name: str) -> click.Command:
    from viva.cli.options import add_common_options

    place, summary = COMMANDS[name]
    if ":" in place:
        return _derived(name, plugins.Registered(place, summary, "viva"), {})
    command = getattr(importlib.import_module(place), f"{name.replace('-', '_')}_command")
    command.short_help = summary
    return add_common_options(cast("click.Command", command))


def _of_package(name: str) -> click.Command:
    """Return the command of a registered function; its help names the commands with this prefix."""
    below = {each: known.summary for each, known in _registered().items() if each.startswith(f"{name} ")}
    return _derived(name, _registered()[name], below)


def _derived(name: str, known: plugins.Registered, below: Mapping[str, str]) -> click.Command:
    from viva.cli.options import add_common_options, derived

    return add_common_options(derived(name, plugins.load(known), known.summary, below, _built_in))


@cache
def _known_elsewhere() -> dict[str, Any]:
    """Return habits.toml: options and commands of other tools, and former names."""
    from viva.files import shipped_table  # not at the top: `viva --help` needs no msgspec

    return shipped_table(__file__, "habits.toml", dict[str, Any])


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean csbench?`, or "" without a similar name."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _translated(arguments: Sequence[str], known: Collection[str], *, benchmarks: bool) -> list[str]:
    """Replace other tools' options in arguments by Viva's, telling the user of each once. `benchmarks`: whether the
    command takes some.

    Raises UsageError, with what to write instead, for an option without an equivalent.
    """
    translated: list[str] = []
    rest = list(arguments)
    if all(name.partition("=")[0] in known for name in rest if name.startswith("-")):
        return rest
    habits = _known_elsewhere()
    same = habits["same"]
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return [*translated, argument, *rest]
        name, equals, value = argument.partition("=")
        if not name.startswith("-") or name in known:
            translated.append(argument)
            continue
        plain = name.replace("_", "-")
        ours = next((candidate for candidate in (same.get(name), same.get(plain), plain) if candidate in known), None)
        if benchmarks and name in habits["named"] and (equals or rest):
            names = [part for part in (value if equals else rest.pop(0)).split(",") if part]
            _say(f"{name} is no option here: benchmarks are arguments, as in `viva run {' '.join(names)}`")
            translated += names
        elif benchmarks and (advice := habits["told"].get(name) or habits["told"].get(plain.replace("-", "_"))):
            raise click.UsageError(f"there is no {name} here: {advice}")
        elif ours is not None:
            if ours != plain:
                _say(f"{name} is called {ours} here")
            translated.append(f"{ours}{equals}{value}")
        else:
            translated.append(argument)
    return translated


def _say(text: str) -> None:
    """Print a sentence of Viva's own on stderr."""
    from viva.runs import progress

    progress.say(f"viva: {text}")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    options_metavar="",
    subcommand_metavar="COMMAND ...",
)
@click.version_option(__version__, prog_name="viva")
def cli() -> None:
    """\b
    Ask models published question sets, and know how far to trust the number.
    Exit codes: 0 done, 2 wrong use, 3 something missing or failed, 4 key or model
    refused, 5 cannot write, 6 a gate fails, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors for the user are one sentence on stderr; only defects of Viva show a traceback."""
    # Before NumPy is loaded: of vectors of more than 10,000 numbers OpenBLAS makes several threads wait for each other,
    # for twice the time of one, and the last digit of a sum depends on how many there are.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make 100,000 objects of which none is garbage: by Python's 700 the collector takes a fifth of their time.
    gc.set_threshold(5_000)
    _open_streams()
    out = sys.stdout
    try:
        with missing_extras():
            code: Any = cli.main(arguments, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message())
        code = 2
    except click.ClickException as problem:
        _explained(problem).show()
        code = problem.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt) as stopped:
        _say(str(stopped.__cause__ or stopped) or "interrupted")  # click raises its own from a KeyboardInterrupt
        code = EXIT_INTERRUPTED
    except (VivaError, UnicodeEncodeError) as problem:
        _say(  # of a file, whose name the system takes in any bytes
            f"{problem.object[problem.start :]!r:.80}: a name that is not UTF-8"
            if isinstance(problem, UnicodeEncodeError)
            else str(problem)
        )
        code = getattr(problem, "exit_code", 2)
    except (SystemExit, BrokenPipeError) as problem:
        # The reader (head, less) left: no error, but click wraps the streams, and exits.
        if isinstance(problem, SystemExit) and sys.stdout is out:
            raise  # a package's command that exits
        code = 0
    except OSError as problem:
        _say(f"{problem.filename or 'output'}: {problem.strerror}")
        code = EXIT_STORAGE
    for line in plugins.problems:
        _say(line)
    try:
        sys.stdout.flush()
    except OSError:  # Python would try once more at exit, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code if isinstance(code, int) else 0)


def _open_streams() -> None:
    """Open what was closed before the start, where the next file opened would be taken for it, and print any text."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r+", encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):  # its encoding may lack a minus sign, say
        sys.stdout.reconfigure(errors="backslashreplace")


def _explained(problem: click.ClickException) -> click.ClickException:
    """Return a mistake on the command line, of an unknown option with what was perhaps meant."""
    if not isinstance(problem, click.NoSuchOption):
        return problem
    inside, name = problem.ctx, problem.option_name
    if inside and name in OF_EVERY_COMMAND and isinstance(inside.command, click.Group):
        return click.UsageError(f"{name} belongs after the command: {inside.command_path} COMMAND {name}", inside)
    command = inside.command_path.removeprefix(inside.find_root().command_path).strip() if inside else ""
    if place := plugins.moved(command, name):
        return click.UsageError(f"there is no {name} here; did you mean {place}?", inside)
    if command == "resume" and any(name in known.opts and not known.is_eager for known in _built_in("run").params):
        return click.UsageError(f"{name} is settled when a run begins: `viva run`", inside)
    near = difflib.get_close_matches(name, problem.possibilities or (), 1, 0.7)  # dashes make any two a little alike
    return click.NoSuchOption(name, possibilities=near, ctx=inside)
