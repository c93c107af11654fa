"""A service that speaks OpenAI's protocol and refuses what `Plan.refuses` names, in the words of some real service.

A system text is refused as a chat template without one does it. Sources of every row are in ../README.md.
"""

import json

from .base import WORDS, Asked, Plan, Reply, think
from .openai import completion, counts

NO_SYSTEM = {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}


def answer(plan: Plan, asked: Asked) -> Reply:
    """Any model's name is good."""
    if plan.key and asked.bearer != plan.key:
        return Reply(401, {"error": {"message": "invalid key", "type": "invalid_request_error", "code": None}})
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return Reply(
            body={"object": "list", "data": [{"id": name, "object": "model"} for name in plan.models or ["m"]]}
        )
    if asked.path != "/v1/chat/completions":
        return Reply(404, {"detail": "Not Found"})
    body = asked.body
    if "system" in plan.refuses and any(message["role"] == "system" for message in body["messages"]):
        return Reply(400, NO_SYSTEM)
    dialect = WORDS["dialects"][plan.dialect]
    for name in body:
        if name in plan.refuses:
            words = dialect["body"].replace("FIELD", name)
            return Reply(dialect["status"], json.loads(words) if words.startswith("{") else words)
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    said = think(plan, body["messages"], limit=limit, stop=body.get("stop"))
    shown = {plan.parser: said.thought or None} if plan.parser else {}
    return completion(plan, body, said, shown, counts(said))
