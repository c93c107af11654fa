"""How `--help` shows the options of a command: by subject, and of many those that most users need."""

from __future__ import annotations

from typing import Any

import click

GROUPS = {
    "Model": (
        "model", "checkpoints", "base_url", "api_key_env", "revision", "dtype", "device", "bits", "adapter",
        "trust_remote_code", "template", "batch_size",
    ),
    "Server": (
        "reasoning_effort", "reasoning_budget", "keep_reasoning", "system", "request_field",
        "template_option", "header", "env_file", "api_version", "stream", "strict_parameters",
    ),
    "Task": (
        "data", "language", "only", "limit", "questions", "shard", "shuffle", "strict",
        "as_published", "extraction",
    ),
    "Prompt": ("shots", "cot", "form", "prompts", "context", "rationale", "answer_by"),
    "Sampling": ("samples", "repeats", "temperature", "top_p", "max_tokens", "seed"),
    "Judging": (
        "encoder", "judge", "panel", "rubric", "judge_samples", "judge_base_url", "judge_key_env", "verdicts",
        "judge_reasoning_effort", "judge_reasoning_budget", "judge_request_field",
    ),
    "Limits": (
        "concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "question_timeout", "max_attempts",
        "wait_for_server", "max_requests", "max_cost", "price", "batch", "no_wait", "poll",
    ),
    "Execution": ("unsafe_host_execution", "backend", "trust_endpoints"),
    "Output": (
        "run", "reuse", "config", "write_config", "estimate", "progress", "format", "out", "scores", "tables", "all",
        "published_rows", "json", "quiet", "verbose", "log_level", "help_all", "help",
    ),
}  # fmt: skip
"""The headings of `--help`, and the options below them; options of none stand first."""
MANY = 45
"""Options from which on a command's `--help` leaves the rare ones to `--help-all`."""
HELP_ALL = "viva.help-all"


class GroupedCommand(click.Command):
    """A command whose `--help` lists its options by subject, and of many options those that most users need."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its heading."""
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Options", *GROUPS)}
        headings = {option: heading for heading, names in GROUPS.items() for option in names}
        hides = len(self.params) > MANY and not ctx.meta.get(HELP_ALL)
        hidden = 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            if hides and getattr(parameter, "rare", False):
                hidden += 1
                continue
            name = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
            rows[headings.get(name, "Options")].append(record)
        for heading, found in rows.items():
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {hidden} more options.")


class Option(click.Option):
    """An option that `--help` may leave to `--help-all`."""

    def __init__(self, *given: Any, rare: bool = False, **named: Any) -> None:
        super().__init__(*given, **named)
        self.rare = rare
