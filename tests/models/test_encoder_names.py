"""Encoders by name, and the error without torch; neither torch nor an encoder is needed."""

from pathlib import Path

import msgspec

from models.fresh import SRC, told
from rows import each_row
from viva.models.encoder import published_layer

NAMES = {
    "roberta-large": 17,
    "FacebookAI/roberta-large": 17,
    "roberta-base": 10,
    "bert-base-uncased": 9,
    "google-bert/bert-base-uncased": 9,
    "microsoft/deberta-xlarge-mnli": 40,
    "someone/roberta-large": None,
    "roberta-large-tuned": None,
    "my-encoder": None,
    "": None,
}
FOLDERS = {
    "/models/roberta-large": 17,
    "models/roberta-large/": 17,
    "/home/x/.cache/huggingface/hub/models--roberta-large/snapshots/0123abcd": 17,
    "/cache/models--FacebookAI--roberta-base/snapshots/0123abcd": 10,
    "/models/microsoft/deberta-large": 16,
    "/models/deberta-large": None,
    "/roberta-large/tuned": None,
    "/": None,
}
"""Those that are called like a listed encoder have its layer."""


@each_row(*((False, *one) for one in NAMES.items()), *((True, *one) for one in FOLDERS.items()))
def test_the_layer_is_the_published_one_where_there_is_one(folder: bool, name: str, layer: int | None) -> None:
    assert published_layer(name, folder=folder) == layer


def test_without_torch_it_says_what_to_install(tmp_path: Path) -> None:
    """A Python that sees nothing but Viva and msgspec."""
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    code = f"""
import sys
sys.path += [{str(SRC)!r}, {str(tmp_path)!r}]
from viva.errors import VivaError
from viva.models.encoder import missing, open_encoder
print(missing("roberta-large"))
try:
    open_encoder("roberta-large")
except VivaError as problem:
    print(problem)
"""
    first, second = told(code, None, "-I", "-S").splitlines()
    assert first == second
    assert "torch and transformers" in first
    assert "pip install 'viva[encoder]'" in first
    assert "--encoder none" in first
