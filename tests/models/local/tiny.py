"""Make folders, as `save_pretrained` does, of tiny language models with random weights and newly trained tokenizers.

Shapes: "llama", "qwen2", "mistral" (grouped-query attention, rotary positions; `window` makes attention slide), "neox"
(rotary, parallel residual), "gpt2" (absolute positions). Tokenizers:

    bytes          byte-level BPE as GPT-2's and Qwen's: any text without loss, no BOS before it
    sentencepiece  BPE that spells a blank "▁" and puts one first, falls back to bytes and adds a BOS: as Llama 2's
    unigram        the same with a unigram model, which may split a text differently when it continues

All know the letters A to D alone and after a blank. `chat` writes messages with a chat template: "plain", "bos" (which
begins with the BOS, as Llama's), "twice" (which begins with two of them), "alone" (which knows no system messages),
"switched" (which closes an empty thought where enable_thinking is false, as Qwen3's) or "opening" (which opens one).
"""

import json
from pathlib import Path
from typing import Any

TEXT = """\
以下是关于计算机科学的单项选择题，请直接给出正确答案的选项。
题目：下列数据结构中，先进后出的是 A. 栈 B. 队列 C. 链表 D. 数组 答案是： A
题目：二分查找的时间复杂度是多少？ A. 常数 B. 对数 C. 线性 D. 平方 答案是： B
题目：操作系统把处理器轮流借给一个又一个进程，并且把它们的内存分开。以下说法正确的是
题目：两台主机使用相同的协议，就可以交换数据包，哪怕中间的网络会丢失一些。
A stack gives back first what was put in last; a queue gives back first what was put in first.
A binary search halves the sorted range at every step, and so it needs a logarithmic number of comparisons.
B is the second letter, C the third and D the fourth; the letters A B C D name the options of a question.
The operating system lends the processor to one process after another and keeps their memory apart.
Question: which of the following gives back first what was put in last? Answer: A Answer: B Answer: C Answer: D
A cache holds what was used lately, because what was used lately is likely to be used again soon.
"""
SHAPES = ("llama", "qwen2", "mistral", "neox", "gpt2")
TOKENIZERS = ("bytes", "sentencepiece", "unigram")
LETTERS = ("A", "B", "C", "D")
CONTEXT = 4096
"""Tokens that a model reads unless told otherwise."""

_TURNS = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_REFUSES = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
_EMPTY = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
CHATS = {
    "plain": _TURNS,
    "bos": "{{ bos_token }}" + _TURNS,
    "twice": "{{ bos_token }}{{ bos_token }}" + _TURNS,
    "alone": _REFUSES + _TURNS,
    "switched": _TURNS.replace("{% endif %}", _EMPTY + "{% endif %}"),
    "opening": _TURNS.replace("{% endif %}", "<think>\n{% endif %}"),
}
END = "<|end|>"
"""What ends a turn of a chat: a token of its own where there is a chat template."""


def make_tokenizer(
    kind: str = "bytes", *, pad: bool = True, side: str = "right", chat: str = "", merged: bool = False, **more: Any
) -> Any:
    """A tokenizer, trained now. `merged`: "：A" is one token, which spoils next-token choice.

    `more` goes to the tokenizer: `model_max_length=512`, `bos_token=None`.
    """
    from transformers import PreTrainedTokenizerFast

    lines = TEXT.splitlines()
    if merged:
        lines += [f"{digit}：{letter}" for digit in range(10) for letter in LETTERS] * 8
    trained = _bytes(lines, words=not merged) if kind == "bytes" else _metaspace(kind, lines)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    if kind == "bytes":
        names = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    if pad:
        names["pad_token"] = "<pad>"
    if chat:
        more["additional_special_tokens"] = [END, "<|system|>", "<|user|>", "<|assistant|>"]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained, padding_side=side, **(names | more))
    if chat:
        tokenizer.chat_template = CHATS[chat]
    return tokenizer


def make_model(
    folder: Path,
    shape: str = "llama",
    kind: str = "bytes",
    *,
    seed: int = 1,
    context: int = CONTEXT,
    window: int | None = None,
    layers: int = 2,
    width: int = 64,
    **tokenizer: Any,
) -> Path:
    """A folder with config, weights (float32, safetensors) and tokenizer; `tokenizer` goes to `make_tokenizer`.

    `context` and `window` in tokens; `window` is for "mistral" and "qwen2". About 150,000 parameters.
    """
    import torch
    import transformers

    fast = make_tokenizer(kind, **tokenizer)
    common: dict[str, Any] = {
        "vocab_size": len(fast),
        "initializer_range": 0.2,  # far enough from nothing that predictions differ
        "bos_token_id": fast.bos_token_id,
        "eos_token_id": fast.eos_token_id,
        "pad_token_id": fast.pad_token_id,
        "max_position_embeddings": context,
    }
    size: dict[str, Any] = {
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
    }
    if shape == "gpt2":
        del common["max_position_embeddings"]
        common |= {"n_positions": context, "n_embd": width, "n_layer": layers, "n_head": 4}
        config = transformers.GPT2Config(**common, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    elif shape == "neox":
        config = transformers.GPTNeoXConfig(**common, **size)
    elif shape == "mistral":
        config = transformers.MistralConfig(**common, **size, num_key_value_heads=2, sliding_window=window)
    elif shape == "qwen2":
        sliding = {"use_sliding_window": True, "sliding_window": window, "max_window_layers": 1} if window else {}
        config = transformers.Qwen2Config(**common, **size, num_key_value_heads=2, tie_word_embeddings=True, **sliding)
    else:
        config = transformers.LlamaConfig(**common, **size, num_key_value_heads=2)
    torch.manual_seed(seed)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def _bytes(lines: list[str], *, words: bool) -> Any:
    """`words`: no token reaches over the end of a word or punctuation."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    marks = ["<|endoftext|>"]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def _metaspace(kind: str, lines: list[str]) -> Any:
    """Trained words behind <unk>, <s>, </s> and 256 bytes: the order that SentencePiece gives them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    trained = Tokenizer(models.BPE() if kind == "sentencepiece" else models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    alphabet = [*LETTERS, "▁"]
    if kind == "sentencepiece":
        trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    else:
        trainer = trainers.UnigramTrainer(
            vocab_size=400, initial_alphabet=alphabet, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        )
    trained.train_from_iterator(lines, trainer)
    learned = json.loads(trained.to_str())["model"]
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    if kind == "sentencepiece":
        words = sorted(learned["vocab"], key=learned["vocab"].get)
        vocabulary = {word: index for index, word in enumerate(first + words)}
        merges = [tuple(pair) for pair in learned["merges"]]
        model = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    else:
        scored = [(word, score) for word, score in learned["vocab"] if word != "<unk>"]
        known = {word for word, _ in scored}
        scored += [(word, -9.0) for letter in LETTERS for word in (letter, f"▁{letter}") if word not in known]
        model = models.Unigram([*((word, 0.0) for word in first), *scored], unk_id=0, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in first[:3]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer
