"""Make a language model of a few hundred kilobytes on the spot, and teach it the shape of an answer.

python tests/real_server/tiny_model.py FOLDER

It knows nothing. It has learned that a question is followed by a short sentence with a letter, so that some of its
replies can be read and end by themselves. Needs torch and transformers; nothing is downloaded.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1]))
from models.local.tiny import END, TEXT, make_model

STEPS = 150
BATCH = 16
LONGEST = 96
REPLIES = ("{}", "({})", "Answer: {}", "The right option is {}.", "答案是{}", "答案：{}")


def lessons(draw: random.Random) -> Iterator[str]:
    """Endless conversations: a line of the text, four options, and a reply in one of the wordings."""
    lines, words = TEXT.splitlines(), TEXT.split()
    while True:
        options = "\n".join(f"{letter}. {draw.choice(words)}" for letter in "ABCD")
        reply = draw.choice(REPLIES).format(draw.choice("ABCD"))
        yield f"<|user|>\n{draw.choice(lines)}\n{options}{END}\n<|assistant|>\n{reply}{END}"


def train(model: Any, tokenizer: Any) -> None:
    """A few seconds of training: the shape of a reply, no knowledge."""
    source = lessons(random.Random(1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        texts = [next(source) for _ in range(BATCH)]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", truncation=False)
        tokens, mask = batch["input_ids"][:, -LONGEST:], batch["attention_mask"][:, -LONGEST:]
        loss = model(input_ids=tokens, attention_mask=mask, labels=tokens.masked_fill(mask == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    make_model(folder, "llama", "bytes", chat="plain", context=8192, eos_token=END)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    train(model, tokenizer)
    # `transformers serve` samples only with a model that says so; at temperature 0 it never does.
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
