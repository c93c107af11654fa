"""Options that several commands share, as click declares them. What they become: `runs/config.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from viva.types import VerdictFormat

F = TypeVar("F", bound=Callable[..., Any])


def _stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_PATH = click.Path(path_type=Path)

exam_options = _stack(
    click.option(
        "--data",
        type=_PATH,
        help="Folder of the published files. Default: VIVA_DATA, else what `viva fetch` got, else the bundled sample.",
    ),
    click.option(
        "--language", multiple=True, metavar="LANG", help="en, zh, de, fr (CS-Bench); several: en,zh or repeat."
    ),
    click.option(
        "--shots",
        type=click.IntRange(0, 20),
        help="Exemplars before the question.  [default: the paper's; 1 for CLR-Bench, else 0]",
    ),
    click.option("--cot", is_flag=True, help="Chain of thought: ask for reasoning before the answer."),
    click.option(
        "--form",
        type=click.Choice(["chat", "base"]),
        default="chat",
        show_default=True,
        help="Chat messages, or raw text for a base model to continue.",
    ),
    click.option(
        "--only",
        type=click.Choice(["", "comprehension"]),
        default="",
        metavar="comprehension",
        help="Only the questions that need no judge.",
    ),
    click.option("--limit", type=click.IntRange(1), help="Ask so many questions, evenly spread over the set."),
    click.option(
        "--questions",
        type=_PATH,
        metavar="FILE",
        help="Ask only the questions whose ids this file lists: CSV or JSONL with a column `question` (such as the "
        "anchors of `viva items`), or a text file with an id a line.",
    ),
    click.option(
        "--seed", type=int, help="Draws exemplars and baselines; sent to the server when given.  [default: 0]"
    ),
    click.option("--prompts", type=_PATH, help="TOML file of prompt templates that replace the bundled ones."),
    click.option(
        "--context",
        type=click.IntRange(1),
        help="The model's context in tokens: exemplars that do not fit are dropped, the longest first, and counted.",
    ),
    click.option(
        "--rationale",
        is_flag=True,
        help="Ask for a rationale and an answer, and grade both (CLR-Bench's protocol): CS-Bench, CMMLU.",
    ),
    click.option(
        "--encoder",
        metavar="NAME|FOLDER|none",
        help="Compares rationales and open-ended answers with the gold before a judge does.  "
        "[default: the paper's; roberta-large for CLR-Bench, else none]",
    ),
    click.option(
        "--choose",
        type=click.Choice(["next-token", "likelihood"]),
        help="Take the most probable option, by its letter's token or its whole text, in place of reading a reply: "
        "weights (hf/), and servers that return logprobs.",
    ),
    click.option("--as-published", is_flag=True, help="Grade as the authors' scripts do, defects included."),
)

shard_option = click.option(
    "--shard",
    metavar="I/N",
    help="Only every N-th question, from the I-th on: one task of an array of N (`viva merge` makes them one run).",
)

weights_options = _stack(
    click.option(
        "--revision", metavar="NAME[=TOKENS],...", help="hf/: branch, tag or commit; several are asked one by one."
    ),
    click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        show_default=True,
        help="hf/: numbers to compute with; auto is float32 on a CPU, as stored on a GPU.",
    ),
    click.option(
        "--device",
        default="auto",
        show_default=True,
        help="hf/: cpu, cuda, cuda:1, or map to spread a model over all there is.",
    ),
    click.option("--bits", type=click.Choice(["4", "8"]), help="hf/: quantise to so many bits (bitsandbytes)."),
    click.option("--adapter", metavar="NAME|FOLDER", help="hf/: a PEFT adapter over the weights."),
    click.option(
        "--trust-remote-code", is_flag=True, help="hf/: run code that comes with the weights, with all your rights."
    ),
    click.option(
        "--template",
        metavar="FAMILY|raw",
        help="Prompt template in place of the model's own chat template: raw, or a family such as qwen or llama2 "
        "(`viva list --templates`); also for completion endpoints.",
    ),
    click.option("--batch-size", type=click.IntRange(1), help="hf/: rows at once.  [default: found out]"),
)

sampling_options = _stack(
    click.option(
        "--samples", type=click.IntRange(1), help="Answers to each question.  [default: the paper's; mostly 1]"
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Run it so often; the tables show mean ± sd.",
    ),
    click.option("--temperature", help="A number, or `server` to send none.  [default: the paper's; mostly 0]"),
    click.option(
        "--top-p", type=click.FloatRange(0, 1), help="Nucleus sampling.  [default: the paper's; mostly not sent]"
    ),
    click.option("--max-tokens", type=click.IntRange(1), help="Longest reply.  [default: the paper's; mostly 2048]"),
)

pace_options = _stack(
    click.option(
        "--concurrency",
        multiple=True,
        metavar="N|auto",
        help="Requests in flight per endpoint: a number, `auto`, or for one provider `openai=64`.  [default: auto]",
    ),
    click.option("--requests-per-minute", multiple=True, metavar="N|none", help="Pace; for one provider `openai=500`."),
    click.option(
        "--tokens-per-minute",
        multiple=True,
        metavar="N|none",
        help="The same in tokens, prompt and reply: estimated, then as the server counts them.",
    ),
)

engine_options = _stack(
    pace_options,
    click.option(
        "--timeout", type=click.FloatRange(0.1), default=300.0, show_default=True, help="Seconds for one attempt."
    ),
    click.option(
        "--question-timeout",
        type=click.FloatRange(0.1),
        default=1200.0,
        show_default=True,
        help="Seconds for one question with all its retries.",
    ),
    click.option("--attempts", type=click.IntRange(1), default=8, show_default=True, help="Tries for each question."),
    click.option(
        "--wait-for-server",
        type=click.FloatRange(0),
        default=0.0,
        show_default=True,
        metavar="SECONDS",
        help="Wait so long for a server that does not listen yet, such as one that loads its model.",
    ),
    click.option(
        "--max-requests", type=click.IntRange(1), help="Stop after so many requests, retries and judge included."
    ),
    click.option("--max-cost", type=click.FloatRange(0, min_open=True), help="Never spend more US dollars than this."),
    click.option(
        "--price",
        multiple=True,
        metavar="[MODEL=]IN/OUT",
        help="US dollars per million tokens, where the list price is unknown or not yours.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["auto", "live", "plain", "quiet"]),
        default="auto",
        show_default=True,
        help="A live line, plain lines for logs, or nothing.",
    ),
    click.option(
        "--unsafe-host-execution",
        is_flag=True,
        help="Run programs that models wrote WITHOUT a sandbox, with all your rights: they can read, send and delete "
        "whatever you can.",
    ),
    click.option(
        "--on",
        default="local",
        show_default=True,
        metavar="local|ray[://HOST:PORT]",
        help="Where programs, encoders and weights are worked on: this machine, or a Ray cluster.",
    ),
    click.option(
        "--batch/--no-batch",
        default=None,
        help="Ask through the provider's batch API (OpenAI, Anthropic): half the price, hours of patience. A run goes "
        "on as it was begun; --no-batch cancels what is handed in.",
    ),
    click.option("--no-wait", is_flag=True, help="--batch: hand in, read what is there, and end; resume goes on."),
    click.option(
        "--poll",
        type=click.FloatRange(0.01),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="--batch: between two looks at what is handed in.",
    ),
)

consent_options = _stack(
    click.option(
        "--trust-endpoints",
        is_flag=True,
        help="Send requests and keys where the run folder says, although you did not begin the run here (its run.json "
        "names the addresses and the variables of the keys).",
    ),
    click.option(
        "--trust-remote-code",
        is_flag=True,
        help="hf/: run code that comes with the weights, with all your rights; a run that was begun so needs it again.",
    ),
)

judge_options = _stack(
    click.option(
        "--judge",
        multiple=True,
        metavar="MODEL[@URL]",
        help="Model that grades what no rule can (blanks, open-ended answers, rationales). Repeat for a panel.",
    ),
    click.option(
        "--panel",
        type=click.Choice(["mean", "median", "majority"]),
        default="mean",
        show_default=True,
        help="What several verdicts on one answer become; without a majority there is none.",
    ),
    click.option("--rubric", type=_PATH, metavar="FILE", help="TOML file that replaces the judge's rubric."),
    click.option("--judge-samples", type=click.IntRange(1), default=1, show_default=True, help="Verdicts per answer."),
    click.option("--judge-base-url", metavar="URL", help="The judge's server.  [default: the examinee's server]"),
    click.option("--judge-key-env", metavar="NAME", help="Environment variable with the judge's key."),
    click.option(
        "--verdicts",
        type=click.Choice(get_args(VerdictFormat)),
        default="nonce",
        show_default=True,
        help="How judges write verdicts: a last line that carries a nonce, which no answer can know; json, the same "
        "where the server holds replies to a schema; or a bare line, which a quoted answer can bring, too.",
    ),
    click.option(
        "--canaries",
        metavar="FILE|N",
        help="Mix answers with known marks among those that are judged, in no mean, and report what they are given: so "
        "many drawn an exam, half of them right, or a file's (question, text, mark).",
    ),
)

tables_options = _stack(
    click.option(
        "--format",
        type=click.Choice(["terminal", "json", "csv", "markdown", "latex"]),
        default="terminal",
        show_default=True,
        help="How the tables are printed.",
    ),
    click.option("--out", type=_PATH, help="Write the tables to a file instead."),
)

beside_option = click.option(
    "--beside",
    metavar="MODEL,...|nearest|none",
    default="nearest",
    show_default=True,
    help="Published rows to show in the tables: named (gpt-4,llama3-8b), or the next above and below, or none.",
)

report_options = _stack(
    tables_options,
    click.option("--all", is_flag=True, help="Also the long tables (every subject)."),
    click.option("--summary", is_flag=True, help="One table in place of all: a line a model and exam."),
    beside_option,
)
