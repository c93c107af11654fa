"""The tools: how each is installed, driven and read. To change a command, change it here."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
CONCURRENCY = 64


def _viva_scores(out: Path, _: Path) -> float:
    rows = [json.loads(line) for line in (out / "run" / "scores.jsonl").read_bytes().splitlines()]
    return sum(row["value"] or 0 for row in rows) / len(rows)


def _viva_graded(out: Path, bin_: Path) -> float:
    subprocess.run([str(bin_ / "viva"), "score", str(out / "run")], capture_output=True, check=True)
    return _viva_scores(out, bin_)


def _printed(out: Path, _: Path) -> float:
    return float(re.findall(r"accuracy ([0-9.]+)", (out / "log.txt").read_text())[-1])


def _lm_eval_result(out: Path, _: Path) -> float:
    (path,) = out.rglob("results_*.json")
    return float(json.loads(path.read_text())["results"]["mcq"]["exact_match,letter"])


def _inspect_log(out: Path, bin_: Path) -> float:
    (path,) = out.rglob("*.eval")
    # Its log is compressed in a way that Python reads from 3.14 only, so its own program unpacks it.
    dump = [str(bin_ / "inspect"), "log", "dump", "--header-only", str(path)]
    header = json.loads(subprocess.run(dump, capture_output=True, check=True).stdout)
    return float(header["results"]["scores"][0]["metrics"]["accuracy"]["value"])


def _evalscope_report(out: Path, _: Path) -> float:
    (path,) = out.rglob("reports/**/general_mcq.json")
    return float(json.loads(path.read_text())["metrics"][0]["score"])


@dataclass(frozen=True)
class Tool:
    """One tool. It runs in the folder `$data`; this, `$out`, `$url`, `$concurrency` and `$here` are filled in."""

    command: str
    # Reads the accuracy that the tool came to, from the run's folder; also given the folder of its programs.
    accuracy: Callable[[Path, Path], float]
    # What its environment is made of; empty: Viva, in the environment which runs this benchmark.
    requirements: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    # Whether it is a tool of Viva's kind, rather than a bare client.
    peer: bool = False

    @property
    def concurrency(self) -> int | None:
        """Requests in flight at most; None where the tool chooses."""
        return CONCURRENCY if "$concurrency" in self.command else None

    def filled(self, values: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """Its arguments and environment with the `$` names replaced."""
        arguments = [Template(part).substitute(values) for part in shlex.split(self.command)]
        return arguments, {name: Template(text).substitute(values) for name, text in self.environment.items()}


_VIVA = (
    "viva run cmmlu --data $data/cmmlu --shots 0 --model openai/fixed --base-url $url/v1 "
    "--max-tokens 16 --run $out/run --progress quiet"
)
TOOLS = {
    "viva": Tool(
        command=f"{_VIVA} --concurrency $concurrency",
        environment={"OPENAI_API_KEY": "x"},
        accuracy=_viva_scores,
    ),
    # The default: Viva finds out how many requests the server takes.
    "viva-auto": Tool(command=_VIVA, environment={"OPENAI_API_KEY": "x"}, accuracy=_viva_scores),
    # Without grading and tables; only for --memory.
    "viva-ask": Tool(
        command="python $here/clients/viva_asking.py $data/cmmlu $url/v1 $concurrency $out/run",
        environment={"OPENAI_API_KEY": "x"},
        accuracy=_viva_graded,
    ),
    "lm-eval": Tool(
        command="lm-eval run --model local-chat-completions --model_args model=fixed,"
        "base_url=$url/v1/chat/completions,num_concurrent=$concurrency,max_retries=3,tokenizer_backend=None "
        "--tasks mcq --include_path $data/lm-eval --apply_chat_template --output_path $out/results --log_samples",
        requirements=("lm-eval[api]==0.4.13",),
        environment={"OPENAI_API_KEY": "x"},
        peer=True,
        accuracy=_lm_eval_result,
    ),
    "inspect": Tool(
        command="inspect eval inspect_mcq.py --model openai-api/local/fixed --max-connections $concurrency "
        "--temperature 0 --max-tokens 16 --log-dir $out/logs --display none",
        requirements=("inspect-ai==0.3.285", "openai==3.52.0"),
        environment={"LOCAL_BASE_URL": "$url/v1", "LOCAL_API_KEY": "x"},
        peer=True,
        accuracy=_inspect_log,
    ),
    "evalscope": Tool(
        command="evalscope eval --model fixed --api-url $url/v1 --api-key x --eval-type openai_api "
        "--datasets general_mcq --dataset-args "
        """'{"general_mcq": {"local_path": "$data/evalscope", "subset_list": ["mcq"]}}' """
        """--generation-config '{"temperature": 0, "max_tokens": 16}' """
        "--eval-batch-size $concurrency --work-dir $out/results",
        requirements=("evalscope==1.14.1",),
        peer=True,
        accuracy=_evalscope_report,
    ),
    "openai": Tool(
        command="python $here/clients/bare_openai.py $data/questions.jsonl $url/v1 $concurrency",
        requirements=("openai==3.52.0",),
        accuracy=_printed,
    ),
    "bare": Tool(
        command="python $here/clients/bare_aiohttp.py $data/questions.jsonl $url/v1 $concurrency",
        requirements=("aiohttp==3.14.5", "msgspec==0.22.0"),
        accuracy=_printed,
    ),
}
CEILING = "bare"
OF_MEMORY = ("viva", "viva-ask")
TIMED = tuple(name for name in TOOLS if name != "viva-ask")
