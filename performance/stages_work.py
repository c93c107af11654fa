"""A model's server for stages.py: it answers after a time, as an examinee or as a judge, and prints its port."""

import asyncio
import json
import re
import socket
import sys
from collections import Counter
from pathlib import Path

from aiohttp import web

NONCE = re.compile(r"VERDICT ([0-9a-f]{10})(?= ?[:：])")


def main() -> None:
    replies, answer_s, verdict_s = json.loads(Path(sys.argv[1]).read_text()), float(sys.argv[2]), float(sys.argv[3])
    asyncio.run(serve(replies, answer_s, verdict_s))


async def serve(replies: dict[str, list[str]], answer_s: float, verdict_s: float) -> None:
    """Answer on a free port of 127.0.0.1; `replies` are by the text of their question, each in its turn."""
    asked: Counter[str] = Counter()

    def answer(prompt: str) -> str:
        question = next((text for text in replies if text in prompt), "")
        asked[question] += 1
        if question:
            return replies[question][asked[question] % len(replies[question])]
        return json.dumps({"Rationale": f"It follows from rule {asked['']}.", "Answer": f"Case {asked['']}"})

    async def complete(request: web.Request) -> web.Response:
        body = await request.json()
        prompt = "\n".join(message["content"] for message in body["messages"])
        if body["model"].startswith("judge"):
            nonces = NONCE.findall(prompt)
            text = f"As it is.\nVERDICT{f' {nonces[-1]}' if nonces else ''}: 1"
            await asyncio.sleep(verdict_s)
        else:
            text = answer(prompt)
            await asyncio.sleep(answer_s)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        reply = {"id": "x", "object": "chat.completion", "created": 1700000000, "model": body["model"]}
        return web.json_response(reply | {"choices": [choice], "usage": usage})

    application = web.Application(client_max_size=1 << 24)
    application.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    await web.SockSite(runner, listener).start()
    print(listener.getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # it ends with whoever started it


if __name__ == "__main__":
    main()
