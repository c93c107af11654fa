"""What a card takes from a task file of lm-evaluation-harness (0.4.13), under the names that it has there.

    lm_eval:
      output_type: multiple_choice
      doc_to_text: "Question: {{question}}\\nAnswer:"
      doc_to_choice: "{{choices.text}}"
      doc_to_target: "{{choices.label.index(answerKey)}}"

Only what decides a prompt or a score is here; where the rows are, the card says as ever. `viva init --from-lm-eval`
writes it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SEED = 1234
"""What lm-eval seeds its choice of exemplars with, where nobody says otherwise."""


class Filter(Struct, frozen=True, forbid_unknown_fields=True):
    """A step of what becomes of a reply before it is compared."""

    function: Literal["regex", "remove_whitespace", "lowercase", "uppercase", "take_first"]
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)"
    group_select: int = 0
    """Which of the matches: 0 the first, -1 the last."""
    fallback: str = "[invalid]"


class Pipeline(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters in their order; the first pipeline makes the score, all of them a table."""

    name: str
    filter: list[Filter]


class Metric(Struct, frozen=True, forbid_unknown_fields=True):
    """How a reply is compared (exact_match), or which option counts (acc, acc_norm, acc_bytes)."""

    metric: Literal["exact_match", "acc", "acc_norm", "acc_bytes"]
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False
    regexes_to_ignore: list[str] = []


class Shown(Struct, frozen=True, forbid_unknown_fields=True):
    """How exemplars are chosen and written, where that differs from the question."""

    sampler: Literal["default", "first_n"] = "default"
    """`default` draws others for every question, by the random generator that lm-eval has."""
    seed: int = SEED
    without_question: bool = False
    """Whether the question itself is none of its exemplars: where both are of one split."""
    samples: list[dict[str, str]] = []
    """The exemplars themselves, in place of a split."""
    doc_to_text: str = ""
    doc_to_target: str = ""
    doc_to_choice: str | list[str] = ""
    gen_prefix: str | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None


class Generation(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a reply ends."""

    until: list[str] = []


class LmEvalTask(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a task that decide its prompts and its score."""

    output_type: Literal["multiple_choice", "generate_until"]
    doc_to_text: str
    doc_to_target: str
    doc_to_choice: str | list[str] = ""
    description: str = ""
    gen_prefix: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    num_fewshot: int | None = None
    fewshot_config: Shown = Shown()
    generation_kwargs: Generation = Generation()
    filter_list: list[Pipeline] = []
    metric_list: list[Metric] = []


def joined(before: str, after: str, delimiter: str) -> str:
    """Return two texts with what stands between them, unless one of them is empty or brings white space of its own."""
    if before and after and not (before[-1].isspace() or after[0].isspace()):
        return before + delimiter + after
    return before + after
