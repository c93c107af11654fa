"""Where a base model stops answering and makes up the next exam question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from viva.scorers.lexicon import phrases

_MOST = 4
_REACH = 16_000
"""Characters in which a first answer is expected to end; what starts later is not looked at."""


@cache
def _pattern() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(phrases("newquestion"), key=len, reverse=True))
    return re.compile(
        rf"\n[ \t>#*\[【]{{0,8}}(?:{names})[ \t]{{0,2}}(?:No\.? ?)?\d{{0,4}}[ \t*\]】]{{0,4}}[:：.．]"
        r"|<\|(?:im_end|im_start|endoftext|eot_id|end|user|eom_id)\|>|</s>|<eos>|<end_of_turn>|\[INST\]",
        re.IGNORECASE,
    )


def boundaries(reply: str, start: int) -> Iterator[int]:
    """Ends of what may be the whole answer: before each of the first new questions, at last the reply's own end."""
    if "\n" in reply or "<" in reply or "[" in reply:
        for count, match in enumerate(_pattern().finditer(reply, start, start + _REACH)):
            if count == _MOST:
                break
            yield match.start()
    yield len(reply)
