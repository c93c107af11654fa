"""Some questions of a question file as a question file: every value stays as it was written."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from viva.benchmarks.custom.questionloading import sound_questions
from viva.errors import DataError


def subset(path: Path, wanted: Collection[str]) -> bytes:
    """Return the file with only the questions of these ids, in their order. Raises DataError for a file with errors.

    Of a YAML file comments are lost and anchors renamed; texts keep their quotes and blocks, so that none becomes a
    number or a truth value.
    """
    sound_questions(path)  # bounded, and without anything that builds objects
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    if path.suffix.lower() == ".json" or (path.suffix.lower() not in {".yaml", ".yml"} and text.lstrip()[:1] in "{["):
        found: dict[str, Any] = json.loads(text)
        found["questions"] = [one for one in found["questions"] if str(one["id"]) in wanted]
        return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode()
    return _yaml(text, wanted, str(path))


def _yaml(text: str, wanted: Collection[str], name: str) -> bytes:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root: Any = yaml.compose(text, Loader=loader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "questions" and isinstance(value, yaml.SequenceNode):
            value.value = [node for node in value.value if _id(node) in wanted]
            break
    else:
        raise DataError(f"{name} has no list of questions")
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    found: str = yaml.serialize(root, Dumper=dumper, allow_unicode=True, width=1 << 20)
    return found.encode()


def _id(node: Any) -> str:
    return next((str(value.value) for key, value in node.value if key.value == "id"), "")
