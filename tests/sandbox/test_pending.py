"""A test in JavaScript or TypeScript that still waits for something when nothing is left to happen has failed."""

from __future__ import annotations

import pytest

from rows import tabled
from sandbox.conftest import Run, request

CHECK = "const check = require('assert');\n"
PENDING = {
    "then, and resolve was forgotten": (
        "const later = (n) => new Promise((resolve) => { n * n; });",
        "later(3).then((found) => check.strictEqual(found, 9));",
    ),
    "await, and resolve was forgotten": (
        "const later = (n) => new Promise((resolve) => { n * n; });",
        "(async () => { check.strictEqual(await later(3), 9); })();",
    ),
    "a callback that is never called": (
        "function later(n, done) { n * n; }",
        "new Promise((resolve) => later(3, resolve)).then((found) => check.strictEqual(found, 9));",
    ),
    "a callback that is never called, and nobody waits for the promise": (
        "function later(n, done) { n * n; }",
        "new Promise((resolve) => later(3, (found) => { check.strictEqual(found, 9); resolve(); }));",
    ),
    "a timer that was cleared": (
        "function later(n) { return new Promise((ok) => { const t = setTimeout(ok, 5, n * n); clearTimeout(t); }); }",
        "async function main() { check.strictEqual(await later(3), 9); }\nmain();",
    ),
    "a timer that keeps nothing alive": (
        "function later(n) { return new Promise((ok) => { setTimeout(ok, 5000, n * n).unref(); }); }",
        "later(3).then((found) => check.strictEqual(found, 9)).finally(() => {});",
    ),
    "one of several": (
        "const later = (n) => new Promise((ok) => { if (n < 3) ok(n * n); });",
        "Promise.all([1, 2, 3].map(later)).then((found) => check.deepStrictEqual(found, [1, 4, 9]));",
    ),
    "a thenable that tells nobody": (
        "const later = (n) => ({ then() {} });",
        "(async () => { check.strictEqual(await later(3), 9); })();",
    ),
    "an iteration that does not go on": (
        "async function* later() { yield 1; await new Promise(() => {}); yield 2; }",
        "(async () => { const all = []; for await (const one of later()) all.push(one); check.ok(all[1]); })();",
    ),
}
UNCALLED = {
    "a callback": ("function later(n, done) { n * n; }", "later(3, (found) => check.strictEqual(found, 9));"),
    "a callback within a timer": (
        "function later(n, done) { clearTimeout(setTimeout(done, 5, n * n)); }",
        "setTimeout(() => later(3, function (found) { check(found === 9); }), 1);",
    ),
    "a thenable's": ("const later = (n) => ({ then() {} });", "later(3).then((found) => check.strictEqual(found, 9));"),
}
SETTLED = {
    "calls within what is called back": (
        "const later = (n, done) => setTimeout(done, 5, n * n);",
        "later(3, (nine) => later(nine, (found) => later(2, (four) => {\n"
        "check.strictEqual(found, 81); check.strictEqual(four, 4); })));",
    ),
    "calls from timers that overtake one another": (
        "const square = (n) => n * n;",
        "for (let n = 0; n < 20; n++) setTimeout(() => check.strictEqual(square(n), n * n), n);",
    ),
    "a value that takes the program long to read": (
        "let length = 0;\nconst keep = async (list) => { length = (await list).length; };\nconst kept = () => length;",
        "setTimeout(() => check.ok(kept), 1);\nkeep(Promise.resolve(Array.from({ length: 50000 }, (_, n) => n)))"
        ".then(() => check.strictEqual(kept(), 50000));",
    ),
    "a callback of two": (
        "const later = (n, good, bad) => setTimeout(n < 0 ? bad : good, 5, n * n);",
        "later(3, (found) => check.strictEqual(found, 9), (error) => check.ok(!error));\n"
        "later(3, (found) => check.equal(found, 9), () => check.fail('no'));",
    ),
    "callbacks that may stay uncalled": (
        "const each = (list, work) => list.forEach((one) => work(one));\nconst later = async (n) => n * n;",
        "each([], () => check.fail('no'));\n[].forEach((one) => check.ok(one));\n"
        "later(3).then((found) => check.equal(found, 9)).catch((error) => check.ifError(error));",
    ),
    "a promise of the program's that nobody needs": (
        "const idle = new Promise(() => {});\nconst later = async (n) => { idle.then(() => 1); return n * n; };",
        "later(3).then((found) => check.strictEqual(found, 9));",
    ),
    "an async function of the program's that nobody waits for": (
        "async function poll() { await new Promise(() => {}); }\nconst later = async (n) => { poll(); return n * n; };",
        "(async () => { check.strictEqual(await later(3), 9); })();",
    ),
    "a race against a promise that never settles": (
        "const within = (p, ms) => Promise.race([p, new Promise((_, no) => setTimeout(no, ms, new Error('late')))]);",
        "const never = new Promise(() => {});\nconst slow = new Promise((resolve, reject) => {});\n"
        "check.rejects(within(never, 5), /late/);\n(async () => { await check.rejects(within(slow, 5), /late/); })();",
    ),
    "a limit of the test's own that is called off": (
        "const later = async (n) => n * n;",
        "let timer;\nconst limit = new Promise((_, reject) => { timer = setTimeout(reject, 9000); });\n"
        "Promise.race([later(3), limit]).then((found) => { clearTimeout(timer); check.strictEqual(found, 9); });",
    ),
    "a rejection that is looked for": (
        "const later = async (n) => { throw new RangeError('n'); };",
        "check.rejects(later(3), RangeError);\nlater(3).catch((error) => check.ok(error instanceof RangeError));\n"
        "later(4).then(() => check.fail(), (error) => check.strictEqual(error.message, 'n'));",
    ),
    "timers, callbacks and events": (
        "const later = (n, done) => setTimeout(() => setImmediate(() => process.nextTick(done, n * n)), 5);",
        "const { once, EventEmitter } = require('events');\nconst bell = new EventEmitter();\n"
        "once(bell, 'rung').then(([found]) => check.strictEqual(found, 9));\nlater(3, (n) => bell.emit('rung', n));",
    ),
    "a generator and an error's own stack": (
        "Error.prepareStackTrace = (error, frames) => frames.length;\nError.stackTraceLimit = 1;\n"
        "async function* later(n) { for (let i = 1; i <= n; i++) yield i * i; }",
        "(async () => { const all = []; for await (const one of later(3)) all.push(one);\n"
        "check.deepStrictEqual(all, [1, 4, 9]); check.ok(new Error().stack); })();",
    ),
    "thousands of promises": (
        "const later = async (n) => { let sum = 0; for (let i = 0; i < n; i++) sum += await i; return sum; };",
        "later(20000).then((found) => check.strictEqual(found, 199990000));",
    ),
}


SLOW = pytest.mark.slow
TOGETHER = "console.info = console.log; "  # a test that changes what the program sees shares its process


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("language", "most", "given"),
    [
        ("js", 2, ""),
        pytest.param("js", 99, "", marks=SLOW),
        pytest.param("js", 99, TOGETHER, marks=SLOW),
        pytest.param("ts", 99, "", marks=SLOW),
        pytest.param("ts", 99, TOGETHER, marks=SLOW),
    ],
)
def test_a_test_that_still_waits_at_the_end_has_failed(language: str, most: int, given: str, run: Run) -> None:
    cases = [(*one, "failed") for those in (PENDING, UNCALLED) for one in list(those.items())[: most - 1]]
    cases += [(*one, "passed") for one in list(SETTLED.items())[:most]]
    found = run(*(request(language, program, given + CHECK + test, seconds=20) for _, (program, test), _ in cases))
    for ((name, _, verdict), ran), row in tabled(*zip(cases, found, strict=True)):
        with row:
            assert ran.verdict == verdict, ran.detail
            assert ran.isolation == ("shared" if given else "separate")
            why = "the test was still waiting" if name in PENDING else "never called"
            assert verdict == "passed" or why in ran.detail
