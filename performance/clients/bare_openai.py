"""The same loop through the openai SDK: what a tool built on it cannot go below.

Usage: python bare_openai.py QUESTIONS.jsonl BASE_URL CONCURRENCY
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

PROMPT = "{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nReply with one line, ANSWER: and the letter."


async def main(questions: str, base_url: str, concurrency: int) -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in Path(questions).read_bytes().splitlines()]
    waiting, right = iter(rows), 0

    async def ask(client: AsyncOpenAI) -> None:
        nonlocal right
        for row in waiting:  # shared: each worker takes the next question
            completion = await client.chat.completions.create(
                model="fixed",
                messages=[{"role": "user", "content": PROMPT.format_map(row)}],
                temperature=0,
                max_tokens=16,
            )
            right += completion.choices[0].message.content == f"ANSWER: {row['answer']}"

    async with AsyncOpenAI(base_url=base_url, api_key="x") as client:
        await asyncio.gather(*(ask(client) for _ in range(concurrency)))
    print("accuracy", right / len(rows))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
