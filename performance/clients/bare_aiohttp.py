"""The ceiling: ask, decode, compare a letter, and nothing else.

Usage: python bare_aiohttp.py QUESTIONS.jsonl BASE_URL CONCURRENCY
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import msgspec


class Message(msgspec.Struct):
    content: str
    reasoning_content: str = ""  # read, as a tool must that keeps it


class Choice(msgspec.Struct):
    message: Message


class Completion(msgspec.Struct):
    choices: list[Choice]


PROMPT = "{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nReply with one line, ANSWER: and the letter."


async def main(questions: str, base_url: str, concurrency: int) -> None:
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Completion).decode
    rows: list[dict[str, Any]] = [msgspec.json.decode(x) for x in Path(questions).read_bytes().splitlines()]
    waiting, right = iter(rows), 0
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}

    async def ask(session: aiohttp.ClientSession) -> None:
        nonlocal right
        for row in waiting:  # shared: each worker takes the next question
            message = {"role": "user", "content": PROMPT.format_map(row)}
            body = {"model": "fixed", "messages": [message], "temperature": 0, "max_tokens": 16}
            async with session.post(f"{base_url}/chat/completions", data=encode(body)) as response:
                response.raise_for_status()
                reply = decode(await response.read()).choices[0].message.content
            right += reply == f"ANSWER: {row['answer']}"

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(ask(session) for _ in range(concurrency)))
    print("accuracy", right / len(rows))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
