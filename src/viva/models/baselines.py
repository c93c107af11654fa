"""Models without knowledge: their expected scores are known exactly and they cost nothing, so they test the whole path.

baseline/random draws one of the legal answers (1/4 on four options, 1/2 on assertions), reproducibly by seed, question
and sample; baseline/first and baseline/last take the first and the last; baseline/longest the longest option;
baseline/silent says nothing; baseline/echo says the question back, as it was asked: what keywords and similarities give
for that is no knowledge. Where there is nothing to choose from (blanks, open and programming questions) they say
that they do not know: what a question's author wrote as its answers is no guess. baseline/example-answers does give
these, one drawn for each sample: it is no floor for models, but takes the grading and the sandbox through all they do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from viva.errors import VivaError
from viva.providers import Endpoint
from viva.types import Choose, Generate, Likelihood, Request, Response, Sampling, Usage

NEVER = -100.0
"""The log-probability of continuations that are not chosen."""


def _longest(request: Generate, seed: int) -> str:
    if not request.options:
        return request.choices[0]
    # If several options may be right, the single letters come first in `choices`.
    longest = max(range(len(request.options)), key=lambda index: len(request.options[index]))
    return request.choices[longest]


def _random(request: Generate, seed: int) -> str:
    return _drawn(request.choices, request, seed)


def _example(request: Generate, seed: int) -> str:
    return _drawn(request.examples or request.choices, request, seed)


def _drawn(answers: Sequence[str], request: Generate, seed: int) -> str:
    number = hashlib.blake2b(f"{seed}/{request.question}/{request.sample}".encode(), digest_size=8).digest()
    return answers[int.from_bytes(number) * len(answers) >> 64]


def _echo(request: Generate, seed: int) -> str:
    return request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content


EXAMPLES = "example-answers"
ECHO = "echo"
BASELINES: dict[str, Callable[[Generate, int], str]] = {
    "random": _random,
    "first": lambda request, seed: request.choices[0],
    "last": lambda request, seed: request.choices[-1],
    "longest": _longest,
    "silent": lambda request, seed: "",
    ECHO: _echo,
    EXAMPLES: _example,
}
WHAT: dict[str, str] = {
    "random": "guesses: one of the options, drawn; where there are none it says that it does not know",
    "first": "the first option",
    "last": "the last option",
    "longest": "the longest option",
    "silent": "an empty reply",
    ECHO: "the question said back, as it was asked",
    EXAMPLES: "the question's own example answers, right ones among them: it tests the grading, and is no floor",
}
"""Baseline → its description in `viva list --baselines`."""


class Baseline:
    """A rule in place of a model."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = f"baseline/{name}"
        self.context_window = None
        self.rate_limit_group = "baseline"
        self.identity: Mapping[str, str] = {"provider": "baseline", "model": name, "seed": str(seed)}
        self._rule = BASELINES[name]
        self._seed = seed
        self._speaks = name != "silent"
        self._chooses = name not in ("silent", ECHO)

    async def answer(self, request: Generate) -> Response:
        """Return the rule's answer."""
        some = request.choices or (request.examples and self._rule is _example) or self._rule is _echo
        text = self._rule(request, self._seed) if some else "I do not know." if self._speaks else ""
        return Response(text=text, usage=Usage())

    def check_supported(self, request: Request) -> None:
        """Do nothing: every request is supported."""

    async def choose(self, request: Choose) -> Response:
        """Return the rule's choice: certain of one continuation, and of no other."""
        drawn = Generate(
            question=request.question,
            sample=request.sample,
            prompt=request.prompt,
            sampling=Sampling(),
            choices=request.continuations,
            options=request.options,
        )
        chosen = self._rule(drawn, self._seed) if self._chooses else None
        return Response(
            likelihoods=tuple(
                Likelihood(0.0 if text == chosen else NEVER, bound=not self._chooses) for text in request.continuations
            ),
            usage=Usage(),
        )

    async def close(self) -> None:
        """Do nothing."""


def connect(name: str, endpoint: Endpoint) -> Baseline:
    """Open `random`, `first`, `last`, `longest`, `silent`, `echo` or `example-answers`."""
    if name not in BASELINES:
        raise VivaError(f"no baseline {name!r}; there are: {', '.join(f'baseline/{known}' for known in BASELINES)}")
    return Baseline(name, endpoint.seed)
