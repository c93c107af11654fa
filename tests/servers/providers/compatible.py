"""A service with OpenAI's protocol that refuses the fields in `Plan.refuses`, with the error texts of a real service.

A system text is refused like by a chat template without one. Sources of every row are in ../README.md.
"""

import json

from .base import WORDS, Asked, Plan, Reply, think
from .openai import completion, counts

NO_SYSTEM = {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}


def answer(plan: Plan, asked: Asked) -> Reply:
    """Answer a request for any model."""
    body = asked.body
    if asked.method == "GET":
        return Reply(404, {"detail": "Not Found"})
    if "system" in plan.refuses and any(message["role"] == "system" for message in body["messages"]):
        return Reply(400, NO_SYSTEM)
    dialect = WORDS["dialects"][plan.dialect]
    for name in body:
        if name in plan.refuses:
            words = dialect["body"].replace("FIELD", name)
            return Reply(dialect["status"], json.loads(words) if words.startswith("{") else words)
    said = think(plan, body["messages"], limit=body.get("max_completion_tokens") or body.get("max_tokens"))
    return completion(plan, body, said, {plan.parser: said.thought or None}, counts(said))
