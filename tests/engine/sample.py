"""The bundled sample of CMMLU as seen by servers: prompt → question."""

from functools import cache

from viva.benchmarks import find_benchmark
from viva.types import ExamSpec, Question, Sampling


@cache
def prompts() -> dict[str, Question]:
    """Every prompt with its question, in the order in which they are asked."""
    exam = find_benchmark("cmmlu").open(ExamSpec(benchmark="cmmlu", language="zh"), None, None)
    found: dict[str, Question] = {}
    for question in exam.questions():
        prompt = exam.request(question, 0, Sampling()).prompt
        assert not isinstance(prompt, str)
        found[prompt[-1].content] = question
    return found


def text_of(place: int) -> str:
    """The text of one question: it stands in its own prompt and in no other."""
    text = list(prompts().values())[place].text
    assert sum(text in prompt for prompt in prompts()) == 1
    return text


FIRST = text_of(0)
"""The question that is asked first, ahead of all others."""
ONE = text_of(40)
"""One question among the others."""
