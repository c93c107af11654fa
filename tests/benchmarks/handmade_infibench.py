"""InfiBench sets of our own making, in the two published forms."""

import csv
import json
from pathlib import Path

HEAD = "id: {id}\nprompt_path: prompt.txt\ntype: code completion\nlang: {lang}\ngrading:\n"


def spec(grading: str, identity: str = "q-1", lang: str = "python") -> str:
    """A case as YAML; `grading` is indented by two."""
    lines = "\n".join("  " + line for line in grading.strip("\n").split("\n"))
    return HEAD.format(id=identity, lang=lang) + lines + "\n"


def as_csv(folder: Path, specs: list[str], files: dict[str, str] | None = None, prompt: str = "Why?") -> Path:
    """A folder with the set as one CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "suite_v2.1_data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", "no", "case_path", "prompt", "eval_spec", "dependencies"])
        for number, text in enumerate(specs):
            row = [number, number, f"cases/eval_{number}.yaml", prompt, text, json.dumps(files) if files else ""]
            writer.writerow(row)
    return folder


def as_folder(folder: Path, specs: dict[str, str], files: dict[str, str] | None = None, suite: str = "") -> Path:
    """A folder with the set as YAML files: paths and contents."""
    paths = "\n".join(f"  - {path}" for path in specs)
    named = {"suite_v2.1.yaml": f"{suite}\ncases:\n{paths}\n", "cases/prompt.txt": "Why?"} | specs | (files or {})
    for name, text in named.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder
