"""What every exam asks a judge: a rubric's system and user message, with what the examinee wrote between fences."""

from __future__ import annotations

from collections.abc import Mapping

from viva.prompting import Templates, fill, verdict_places
from viva.types import Generate, Message, Question, Sampling

_SAMPLING = Sampling(temperature=0.0, max_tokens=1024)


def ask_judge(
    question: Question, aspect: str, samples: int, texts: Templates, section: str, values: Mapping[str, str]
) -> tuple[Generate, ...]:
    """Return the requests for `samples` verdicts on one aspect of an answer, by the rubric in `section`."""
    system, user = (texts.text(f"{section}.{role}") for role in ("system", "user"))
    prompt = (Message("system", fill(system, values)), Message("user", fill(user, values)))
    at = tuple(
        (index, place) for index, template in enumerate((system, user)) for place in verdict_places(template, values)
    )
    return tuple(
        Generate(question=question.id, sample=sample, prompt=prompt, sampling=_SAMPLING, aspect=aspect, verdict_at=at)
        for sample in range(samples)
    )
