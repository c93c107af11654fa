"""Make a language model of a few hundred kilobytes on the spot: tokenizer, weights, chat template.

python tests/real_server/tiny_model.py FOLDER [--steps N]

It knows nothing. With the default steps of training it has learned that a question is followed by a short sentence
with a letter, so that some of its replies can be read and end by themselves; with `--steps 0` its weights are random.
Needs torch and transformers; nothing is downloaded.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

USER, ASSISTANT, END, PAD = "<|user|>", "<|assistant|>", "<|end|>", "<|pad|>"
CONTEXT = 8192
VOCABULARY = 2048
STEPS = 150
BATCH = 16
LONGEST = 96

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + ('assistant' if message['role'] == 'assistant' else 'user') + '|>\n' }}"
    "{{ message['content'] + '<|end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)

TEXT = """\
A stack gives back first what was put in last; a queue gives back first what was put in first.
A binary search halves the sorted range at every step, and so it needs a logarithmic number of comparisons.
The operating system lends the processor to one process after another and keeps their memory apart.
Two hosts that speak the same protocol can exchange packets although the network between them loses some.
A cache holds what was used lately, because what was used lately is likely to be used again soon.
Which of the following statements is right? Which option is wrong? Choose the letter of the right option.
The following is a multiple-choice question about computer science. Exactly one option is right.
Decide whether the statement is true or false. Fill in the blank. Answer the question in a few sentences.
Question: Answer: Give the letter of the right option and nothing else. (A) (B) (C) (D)
The river was high after three days of rain, and the ferry stayed on the other side until the evening.
Bakers rise before the birds; by the time the street wakes up, the bread is already on the shelf.
Copper carries heat well, wood carries it badly, and that is why the pan has a wooden handle.
栈是后进先出的结构，队列是先进先出的结构，二者都可以用数组或链表实现。
二分查找每次把有序区间缩小一半，所以比较次数与元素个数的对数成正比。
操作系统轮流把处理器交给各个进程，并且把它们的内存彼此隔开。
下面是单项选择题，每道题只有一个正确选项，请写出正确选项的字母。题目：答案是：
下列说法中正确的是哪一项？下列选项中错误的是哪一个？请判断这句话是否正确。
春天的早晨，河边的柳树刚刚发芽，老人带着孩子在桥上看船慢慢地过去。
铜容易导热，木头不容易导热，因此锅的把手常常用木头做。历史、地理、医学、法律、经济、文学。
Ein Stapel gibt zuerst zurück, was zuletzt abgelegt wurde; eine Schlange gibt zuerst zurück, was zuerst kam.
Die binäre Suche halbiert den sortierten Bereich in jedem Schritt und braucht daher nur wenige Vergleiche.
Das Betriebssystem teilt den Prozessor nacheinander den Prozessen zu und trennt ihren Speicher voneinander.
Welche der folgenden Aussagen ist richtig? Genau eine Möglichkeit ist richtig. Nennen Sie nur den Buchstaben.
Der Bäcker steht vor den Vögeln auf, und wenn die Straße erwacht, liegt das Brot schon im Regal.
Une pile rend d'abord ce qui fut posé en dernier; une file rend d'abord ce qui est arrivé en premier.
La recherche dichotomique divise l'intervalle trié par deux à chaque étape et demande peu de comparaisons.
Le système d'exploitation prête le processeur à chaque processus à tour de rôle et sépare leurs mémoires.
Laquelle des affirmations suivantes est vraie? Une seule réponse est juste. Donnez seulement la lettre.
Le boulanger se lève avant les oiseaux, et quand la rue s'éveille, le pain est déjà sur l'étagère.
"""
REPLIES = ("{}", "({})", "Answer: {}", "The right option is {}.", "答案是{}", "答案：{}", "Antwort: {}", "Réponse : {}")


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE, trained on the text above: any text can be written with it, other scripts byte by byte."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*TEXT.splitlines(), *REPLIES], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def make_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """Two layers of sixty-four, with random weights."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    # do_sample: `transformers serve` samples only with a model that says so; at temperature 0 it never does.
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def lessons(draw: random.Random) -> Iterator[str]:
    """Endless conversations: a line of the text, four options, and a reply in one of the wordings."""
    lines = TEXT.splitlines()
    words = TEXT.split()
    while True:
        options = "\n".join(f"{letter}. {draw.choice(words)}" for letter in "ABCD")
        reply = draw.choice(REPLIES).format(draw.choice("ABCD"))
        yield f"{USER}\n{draw.choice(lines)}\n{options}\n{END}\n{ASSISTANT}\n{reply}{END}"


def train(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, steps: int, seed: int) -> None:
    """A few seconds of training: the shape of a reply, no knowledge."""
    source = lessons(random.Random(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(steps):
        texts = [next(source) for _ in range(BATCH)]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", truncation=False)
        tokens, mask = batch["input_ids"][:, -LONGEST:], batch["attention_mask"][:, -LONGEST:]
        loss = model(input_ids=tokens, attention_mask=mask, labels=tokens.masked_fill(mask == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()


def make(folder: Path, steps: int = STEPS, seed: int = 1) -> None:
    """Write a model that transformers can load into `folder`."""
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, seed)
    train(model, tokenizer, steps, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    chosen = parser.parse_args()
    make(chosen.folder, chosen.steps)
