"""The batch APIs of OpenAI and Anthropic for tests, as far as their public references describe them.

    python batchapi.py --log FILE [--plan JSON]

OpenAI     POST GET /v1/files, DELETE /v1/files/ID, GET /v1/files/ID/content; POST GET /v1/batches, GET /v1/batches/ID,
           POST /v1/batches/ID/cancel. A batch is validated first, as a whole.
Anthropic  POST GET /v1/messages/batches, GET DELETE /v1/messages/batches/ID, POST …/cancel, GET …/results
Chat       POST /v1/chat/completions, POST /v1/messages: single requests, for runs that leave their batches

Requests that the references do not allow get the vendor's error. A batch ends after `looks` polls.
The log has events: uploaded, created, looked, read, cancelled, deleted, listed, answered.
/begin, /control, /state: see planned.py.
"""

import asyncio
import dataclasses
import itertools
import json
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from faults import FAULTS
from planned import PlannedServer, main
from verdicts import obedient

CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CHAT = {"model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop"}
MESSAGE = {"model", "max_tokens", "messages", "system", "stop_sequences", "temperature", "top_p"}
VERSION = "2023-06-01"
CREATED = "2026-11-21T10:00:00Z"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass
class Plan:
    """How the vendors behave. Steps are upload, create, look, results, list."""

    key: str = ""  # the only good key; "" for any
    text: str = "A"
    texts: list[list[Any]] = dataclasses.field(default_factory=list)
    """[text in the prompt, [first reply, second, ...]]; the last is repeated."""
    looks: int = 2
    outcomes: list[list[Any]] = dataclasses.field(default_factory=list)
    """[text in the prompt, [first outcome, second, ...]]: expired, cancelled, missing, or a status; then ok."""
    failed: list[list[dict[str, Any]]] = dataclasses.field(default_factory=list)
    """Errors of the first batch as a whole, of the second, ..."""
    refuse: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    """Step → statuses of refusals, one per request, before anything is done."""
    lose: dict[str, int] = dataclasses.field(default_factory=dict)
    """Step → how often the connection breaks after the work, before the reply."""
    hold: dict[str, float] = dataclasses.field(default_factory=dict)
    """Step → seconds between work and reply."""
    junk: list[str] = dataclasses.field(default_factory=list)
    """Lines before the results; LABEL is replaced by the label in the batch's ids."""
    twice: bool = False  # whether every result comes twice, the second time with the text "twice"
    cut: int = 0  # so many downloads of results break off midway
    drip: float = 0.0  # seconds between two results
    usage: bool = True
    metadata: bool = True  # whether a batch keeps its metadata
    newer_limit: bool = False  # whether the chat wants max_completion_tokens
    archived: bool = False  # whether results are no longer available
    models: list[str] = dataclasses.field(default_factory=list)
    name: str = ""  # what every new batch is called


@dataclasses.dataclass
class Job:
    """A batch."""

    id: str
    requests: list[dict[str, Any]]  # custom_id, body
    vendor: str
    metadata: dict[str, str] | None = None
    file: str = ""
    endpoint: str = ""
    looks: int = 0
    status: str = "in_progress"
    errors: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    results: list[tuple[str, str, dict[str, Any]]] = dataclasses.field(default_factory=list)  # id, outcome, body

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "expired", "cancelled", "ended")


class Vendor(PlannedServer):
    """The server with its plan, log, and submitted batches."""

    Plan = Plan

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.jobs: dict[str, Job] = {}
        self.asked: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.numbers = itertools.count(1)
        super().begin(log, plan)

    def routes(self, router: web.UrlDispatcher) -> None:
        for way, path, step, handler in (
            ("POST", "/v1/files", "upload", self.upload),
            ("GET", "/v1/files", "", self.list_files),
            ("DELETE", "/v1/files/{name}", "", self.delete_file),
            ("GET", "/v1/files/{name}/content", "results", self.file_content),
            ("POST", "/v1/batches", "create", self.make),
            ("POST", "/v1/messages/batches", "create", self.make_messages),
            ("POST", "/v1/chat/completions", "", self.chat),
            ("GET", "/v1/messages/batches/{name}/results", "results", self.results),
            *(
                (way, f"/v1/{vendor}batches{path}", step, handler)
                for vendor in ("", "messages/")
                for way, path, step, handler in (
                    ("GET", "", "list", self.list_jobs),
                    ("GET", "/{name}", "look", self.retrieve),
                    ("POST", "/{name}/cancel", "", self.cancel),
                )
            ),
        ):
            router.add_route(way, path, self.unless_refused(step, handler))

    def shown(self, job: Job) -> dict[str, Any]:
        """Return a batch as the vendor's API shows it."""
        return openai_batch(job) if job.vendor == "openai" else anthropic_batch(job, self.plan)

    # Failures

    def unless_refused(self, step: str, handler: Handler) -> Handler:
        """Wrap the handler of a step in the plan's refusals."""

        async def handle(request: web.Request) -> web.StreamResponse:
            key = request.headers.get("x-api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
            statuses = self.plan.refuse.get(step, [])
            status = 401 if self.plan.key and key != self.plan.key else statuses.pop(0) if statuses else 0
            return error(status, "so it is") if status and step else await handler(request)

        return handle

    async def replied(self, request: web.Request, step: str, body: Any) -> web.StreamResponse:
        if self.plan.lose.get(step, 0) > 0:
            self.plan.lose[step] -= 1
            await FAULTS["reset"](request, b"", "")
        await asyncio.sleep(self.plan.hold.get(step, 0.0))
        return web.json_response(body)

    # Replies

    def outcome(self, body: dict[str, Any]) -> tuple[str, str]:
        """Return outcome and text of a request."""
        prompt = body["messages"][-1]["content"]
        times = self.asked[prompt] = self.asked.get(prompt, 0) + 1
        found = next((row for text, row in self.plan.outcomes if text in prompt), [])
        said = next((row for text, row in self.plan.texts if text in prompt), [self.plan.text])
        outcome = str(found[times - 1]) if times <= len(found) else "ok"
        if outcome == "ok" and "max_tokens" in body and self.plan.newer_limit:
            outcome = "newer"
        if outcome == "ok":
            count = self.done[prompt] = self.done.get(prompt, 0) + 1
            text = obedient(said[min(count, len(said)) - 1], prompt)
            self.note("answered", prompt=prompt, model=body["model"], text=text)
            return outcome, text
        return outcome, ""

    def work(self, job: Job, *, cancelled: bool = False) -> None:
        """Do the batch's requests, all at once."""
        for one in job.requests:
            outcome, text = ("cancelled", "") if cancelled else self.outcome(one["body"])
            make = openai_result if job.vendor == "openai" else anthropic_result
            result = make(one["custom_id"], outcome, text, one["body"]["model"], self.plan.usage)
            if result is not None:
                job.results.append((one["custom_id"], outcome, result))

    def look(self, job: Job) -> None:
        self.note("looked", batch=job.id)
        job.looks += 1
        if job.ended or job.status == "failed" or job.looks < self.plan.looks:
            return
        if job.errors:
            job.status = "failed"
            return
        cancelled = job.status in ("cancelling", "canceling")
        self.work(job, cancelled=cancelled)
        expired = any(outcome == "expired" for _, outcome, _ in job.results)
        job.status = "cancelled" if cancelled else "expired" if expired else "completed"

    async def content(self, request: web.Request, job: Job, rows: list[dict[str, Any]]) -> web.StreamResponse:
        """Send a file of results, perhaps with junk."""
        lines = [json.dumps(row) for row in rows]
        if self.plan.twice:
            lines += [json.dumps(row).replace('"A"', '"twice"') for row in rows]
        label = job.requests[0]["custom_id"].partition("-")[0]
        lines = [line.replace("LABEL", label) for line in self.plan.junk] + lines
        self.note("read", batch=job.id, lines=len(lines))
        content = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
        reply = web.StreamResponse(headers={"Content-Length": str(len(content))})
        await reply.prepare(request)
        if self.plan.cut > 0:
            self.plan.cut -= 1
            await reply.write(content[: len(content) // 2])
            request.transport.close()
            return reply
        if self.plan.drip:
            for line in content.splitlines(keepends=True):
                await reply.write(line)
                await asyncio.sleep(self.plan.drip)
        else:
            await reply.write(content)
        await reply.write_eof()
        return reply

    # OpenAI

    async def upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        file = form.get("file")
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField):
            return error(400, "purpose must be batch, with a file")
        name = f"file-{next(self.numbers)}"
        self.files[name] = (file.filename, file.file.read())
        self.note("uploaded", file=name, filename=file.filename)
        return await self.replied(request, "upload", {"id": name, "object": "file", "filename": file.filename})

    async def list_files(self, request: web.Request) -> web.StreamResponse:
        assert request.query.get("purpose") == "batch"
        data = [{"id": name, "object": "file", "filename": file} for name, (file, _) in self.files.items()]
        return web.json_response({"object": "list", "data": data[::-1], "has_more": False})

    async def delete_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if self.files.pop(name, None) is None:
            return error(404, "no such file")
        self.note("deleted", file=name)
        return web.json_response({"id": name, "object": "file", "deleted": True})

    async def make(self, request: web.Request) -> web.StreamResponse:
        wanted = await request.json()
        allowed = {"input_file_id", "endpoint", "completion_window", "metadata"}
        there = wanted.get("input_file_id") in self.files
        if set(wanted) - allowed or wanted.get("completion_window") != "24h" or not there:
            return error(400, f"not allowed: {wanted}")
        job = Job(self.plan.name or f"batch_{next(self.numbers)}", [], "openai", file=wanted["input_file_id"])
        job.endpoint = wanted["endpoint"]
        job.metadata = wanted.get("metadata") if self.plan.metadata else None
        job.requests, job.errors = validated(self.files[job.file][1], job.endpoint, self.plan.models)
        if self.plan.failed:
            job.errors = self.plan.failed.pop(0)
        self.jobs[job.id] = job
        names, seeds = [one["custom_id"] for one in job.requests], [one["body"].get("seed") for one in job.requests]
        self.note("created", batch=job.id, names=names, prompts=prompts(job), seeds=seeds)
        return await self.replied(request, "create", self.shown(job))

    async def list_jobs(self, request: web.Request) -> web.StreamResponse:
        self.note("listed")
        vendor = "anthropic" if "/messages/" in request.path else "openai"
        jobs = [job for job in self.jobs.values() if job.vendor == vendor][::-1]
        names = [job.id for job in jobs]
        after = request.query.get("after") or request.query.get("after_id")
        start = names.index(after) + 1 if after else 0
        end = start + int(request.query.get("limit", "20"))
        ends = (
            {"first_id": names[start], "last_id": names[:end][-1]}
            if jobs[start:]
            else {"first_id": None, "last_id": None}
        )
        data = [self.shown(job) for job in jobs[start:end]]
        return web.json_response({"object": "list", "data": data, "has_more": end < len(jobs), **ends})

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        job = self.jobs.get(request.match_info["name"])
        if job is None:
            return error(404, "no such batch")
        self.look(job)
        return await self.replied(request, "look", self.shown(job))

    async def file_content(self, request: web.Request) -> web.StreamResponse:
        which, _, name = request.match_info["name"].partition("-of-")
        job = self.jobs.get(name)
        if job is None or self.plan.archived:
            return error(404, "no such file")
        rows = [result for _, outcome, result in job.results if (outcome == "ok") == (which == "output")]
        return await self.content(request, job, rows)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        job = self.jobs[request.match_info["name"]]
        if job.ended:
            return error(409, "it has ended")
        self.note("cancelled", batch=job.id)
        job.status = "cancelling" if job.vendor == "openai" else "canceling"
        return web.json_response(self.shown(job))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        outcome, text = self.outcome(body)
        result = openai_result("", outcome, text, body["model"], self.plan.usage)
        reply = (result or {}).get("response") or {"status_code": 500, "body": {}}
        return web.json_response(reply["body"], status=reply["status_code"])

    # Anthropic

    async def make_messages(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("anthropic-version") != VERSION:
            return error(400, "anthropic-version: header is required")
        wanted = await request.json()
        names = [one.get("custom_id", "") for one in wanted.get("requests", [])]
        wrong = (
            set(wanted) != {"requests"}
            or not names
            or len(set(names)) < len(names)
            or not all(CUSTOM_ID.fullmatch(name) for name in names)
            or any(set(one) != {"custom_id", "params"} for one in wanted["requests"])
            or any(set(one["params"]) - MESSAGE or "max_tokens" not in one["params"] for one in wanted["requests"])
        )
        if wrong:
            return error(400, "not allowed")
        requests = [{"custom_id": one["custom_id"], "body": one["params"]} for one in wanted["requests"]]
        job = Job(self.plan.name or f"msgbatch_{next(self.numbers)}", requests, "anthropic")
        self.jobs[job.id] = job
        self.note("created", batch=job.id, names=names, prompts=prompts(job))
        return await self.replied(request, "create", self.shown(job))

    async def results(self, request: web.Request) -> web.StreamResponse:
        job = self.jobs[request.match_info["name"]]
        assert job.ended
        return await self.content(request, job, [result for _, _, result in job.results])


def validated(content: bytes, endpoint: str, models: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the requests of a file, and its errors."""
    lines = content.decode().splitlines()
    rows = [json.loads(line) for line in lines]
    wrong = [
        {"code": "invalid_request", "message": f"line {number} is not allowed: {sorted(row)}", "line": number}
        for number, row in enumerate(rows, 1)
        if set(row) != {"custom_id", "method", "url", "body"}
        or row["method"] != "POST"
        or row["url"] != endpoint
        or set(row["body"]) - CHAT
    ]
    if len({row["custom_id"] for row in rows}) < len(rows):
        wrong.append({"code": "duplicate_custom_id", "message": "a custom_id is there twice", "line": None})
    if len({row["body"]["model"] for row in rows}) > 1:
        wrong.append({"code": "mismatched_model", "message": "more than one model", "line": None})
    if models and rows[0]["body"]["model"] not in models:
        wrong.append({"code": "model_not_found", "message": "there is no such model", "line": 1})
    if len(rows) > 50_000 or len(content) > 200_000_000 or not rows:
        wrong.append({"code": "too_large", "message": "too many, or none", "line": None})
    return [{"custom_id": row["custom_id"], "body": row["body"]} for row in rows], wrong


def prompts(job: Job) -> list[str]:
    return [one["body"]["messages"][-1]["content"] for one in job.requests]


def openai_batch(job: Job) -> dict[str, Any]:
    outcomes = [outcome for _, outcome, _ in job.results]
    good = outcomes.count("ok")
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.endpoint,
        "errors": {"object": "list", "data": job.errors} if job.status == "failed" else None,
        "input_file_id": job.file,
        "completion_window": "24h",
        "status": "validating" if job.status == "in_progress" and job.looks == 0 else job.status,
        "output_file_id": f"output-of-{job.id}" if job.ended and good else None,
        "error_file_id": f"error-of-{job.id}" if job.ended and good < len(outcomes) else None,
        "created_at": int(time.time()),
        "request_counts": {"total": len(job.requests), "completed": good, "failed": len(outcomes) - good},
        "metadata": job.metadata,
    }


def openai_result(name: str, outcome: str, text: str, model: str, usage: bool) -> dict[str, Any] | None:
    if outcome == "missing":
        return None
    row: dict[str, Any] = {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": None}
    if outcome in ("expired", "cancelled"):
        row["error"] = {"code": f"batch_{outcome}", "message": "This request was not executed."}
        return row
    if outcome == "ok":
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body: dict[str, Any] = {"id": "x", "object": "chat.completion", "model": model, "choices": [choice]}
        if usage:
            body["usage"] = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
        row["response"] = {"status_code": 200, "request_id": "r", "body": body}
        return row
    newer = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    trouble = {"message": newer if outcome == "newer" else f"it was {outcome}", "type": "error", "code": None}
    status = 400 if outcome == "newer" else int(outcome)
    row["response"] = {"status_code": status, "request_id": "r", "body": {"error": trouble}}
    return row


def anthropic_batch(job: Job, plan: Plan) -> dict[str, Any]:
    outcomes = [outcome for _, outcome, _ in job.results]
    good, late, off = outcomes.count("ok"), outcomes.count("expired"), outcomes.count("cancelled")
    counts = {"processing": 0, "succeeded": good, "expired": late, "canceled": off}
    counts["errored"] = len(job.requests) - good - late - off if job.ended else 0
    if not job.ended:
        counts["processing"] = len(job.requests)
    return {
        "id": job.id,
        "type": "message_batch",
        "processing_status": "ended" if job.ended else job.status,
        "request_counts": counts,
        "created_at": CREATED,
        "expires_at": CREATED,
        "ended_at": CREATED if job.ended else None,
        "archived_at": CREATED if plan.archived else None,
        "cancel_initiated_at": None,
        "results_url": f"https://elsewhere.invalid/v1/messages/batches/{job.id}/results" if job.ended else None,
    }


ERRORS = {
    "400": "invalid_request_error", "401": "authentication_error", "404": "not_found_error", "429": "rate_limit_error",
    "500": "api_error", "529": "overloaded_error",
}  # fmt: skip


def anthropic_result(name: str, outcome: str, text: str, model: str, usage: bool) -> dict[str, Any] | None:
    if outcome == "missing":
        return None
    result: dict[str, Any]
    if outcome in ("expired", "cancelled"):
        result = {"type": "expired" if outcome == "expired" else "canceled"}
    elif outcome == "ok":
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
        }
        if usage:
            message["usage"] = {"input_tokens": 1000, "output_tokens": 10}
        result = {"type": "succeeded", "message": message}
    else:
        trouble = {"type": ERRORS[outcome], "message": f"it was {outcome}"}
        result = {"type": "errored", "error": {"type": "error", "error": trouble, "request_id": "r"}}
    return {"custom_id": name, "result": result}


def error(status: int, message: str) -> web.Response:
    """Return an error in a form that both vendors' clients understand."""
    body = {"type": "error", "error": {"type": ERRORS.get(str(status), "api_error"), "message": message, "code": None}}
    return web.json_response(body, status=status)


if __name__ == "__main__":
    main(Vendor, __doc__)
