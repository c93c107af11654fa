"""How fast near-duplicates are found, next to datasketch (MIT, PyPI), and how many; how fast a corpus is searched.

    python performance/overlap.py --peer VENV/bin/python       # an environment with datasketch; some minutes
    python performance/overlap.py --texts 5000 --rounds 1      # a minute, without the peer

Both do the same work in processes of their own, one after the other: word shingles of three, 128 permutations, every
pair of the texts at 0.7 or more. Whose pairs are right is told by how the texts were made. It reports and judges
nothing.
"""

import argparse
import importlib.util
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import machine
from commandline import add_tiny

THRESHOLD = 0.7
WORDS = 120
KNOWN = 20_000
"""Different words."""


def texts(count: int) -> tuple[list[str], set[tuple[int, int]]]:
    """Texts of 120 words, a tenth of them changed copies of others; and the pairs that are at least 0.7 alike."""
    dice = random.Random(0)
    names = [f"w{number:05d}" for number in range(KNOWN)]
    found = [dice.choices(names, k=WORDS) for _ in range(count)]
    for at in range(0, count, 10):
        found[at] = found[at + 1].copy()
        for place in dice.sample(range(WORDS), dice.randint(0, 12)):
            found[at][place] = dice.choice(names)
    pairs = set()
    for at in range(0, count, 10):
        one, other = shingles(found[at]), shingles(found[at + 1])
        if len(one & other) >= THRESHOLD * len(one | other):
            pairs.add((at, at + 1))
    return [" ".join(words) for words in found], pairs


def shingles(words: list[str]) -> set[str]:
    """Every run of three words."""
    return {" ".join(words[at : at + 3]) for at in range(len(words) - 2)}


def by_viva(found: list[str]) -> set[tuple[int, int]]:
    """As `viva overlap` does it in one process."""
    from viva.analysis.overlap.leakage import Document, OverlapConfig, Search

    search = Search(
        found, OverlapConfig(threshold=THRESHOLD, n=50, least=50)
    )  # runs of 50: nothing but near-duplicates
    pairs = set()
    for start in range(0, len(found), 500):
        documents = [Document(str(at), found[at], at) for at in range(start, min(start + 500, len(found)))]
        pairs |= {(near.question, int(near.place)) for near in search.batch(documents).near}
    return pairs


def by_datasketch(found: list[str]) -> set[tuple[int, int]]:
    """As its documentation has it; candidates compared exactly, as Viva's are."""
    from datasketch import MinHash, MinHashLSH

    sets = [shingles(text.split()) for text in found]
    index = MinHashLSH(threshold=THRESHOLD, num_perm=128)
    hashes = []
    for at, each in enumerate(sets):
        made = MinHash(num_perm=128)
        made.update_batch([shingle.encode() for shingle in each])
        index.insert(at, made)
        hashes.append(made)
    pairs = set()
    for at, made in enumerate(hashes):
        for other in index.query(made):
            if other < at and len(sets[at] & sets[other]) >= THRESHOLD * len(sets[at] | sets[other]):
                pairs.add((other, at))
    return pairs


def by_corpus(found: list[str]) -> set[tuple[int, int]]:
    """500 of the texts as questions, all of them as a corpus that quotes some: passages alone."""
    from viva.analysis.overlap.leakage import Document, OverlapConfig, Search

    search = Search(found[:500], OverlapConfig())
    documents = [Document(str(at), f"{text} {found[at % 500][:300]}" * 8) for at, text in enumerate(found)]
    for start in range(0, len(documents), 60):
        search.batch(documents[start : start + 60])
    return set()


WORK = {"viva": by_viva, "datasketch": by_datasketch, "viva, passages": by_corpus}


def work(name: str, path: Path) -> None:
    """One process: the texts in, what it took out."""
    found, right = json.loads(path.read_text())
    wall, cpu = time.perf_counter(), time.process_time()
    pairs = WORK[name](found)
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    wanted = {tuple(pair) for pair in right}
    size = sum(map(len, found)) if name != "viva, passages" else sum(8 * (len(text) + 301) for text in found)
    took |= {"found": len(pairs & wanted), "wanted": len(wanted), "wrong": len(pairs - wanted), "mb": size / 1e6}
    took["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(took))


def main() -> None:
    """Rounds of everybody in turn, then a table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--texts", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=3)
    here = sys.executable if importlib.util.find_spec("datasketch") else None
    options.add_argument("--peer", default=here, help="Python of an environment with datasketch; this one if it has it")
    options.add_argument("--work", help=argparse.SUPPRESS)
    options.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    add_tiny(options, texts=600, rounds=1)
    given = options.parse_args()
    if given.work:
        work(given.work, given.path)
        return
    names = ["viva", *(["datasketch"] if given.peer else []), "viva, passages"]
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.json")
        found, pairs = texts(given.texts - given.texts % 10)
        path.write_text(json.dumps([found, sorted(pairs)]))
        for number in range(given.rounds):
            for name in names if number % 2 == 0 else names[::-1]:
                python = given.peer if name == "datasketch" else sys.executable
                command = [python, __file__, "--work", name, "--path", str(path)]
                ended = subprocess.run(command, capture_output=True, text=True, check=False)
                if ended.returncode:
                    raise SystemExit(f"{name} failed: {ended.stderr[-2000:]}")
                rows[name].append(json.loads(ended.stdout))
                print(f"round {number + 1}, {name}: {rows[name][-1]['cpu_s']:.2f} CPU s", file=sys.stderr, flush=True)
    print(json.dumps(machine.describe()))
    print("| | CPU s | texts or MB per CPU s | pairs found | wrong | peak RSS MB | CPU ÷ viva |")
    print("|---|---|---|---|---|---|---|")
    for name, runs in rows.items():
        cpu = median(run["cpu_s"] for run in runs)
        ratios = sorted(run["cpu_s"] / mine["cpu_s"] for run, mine in zip(runs, rows["viva"], strict=True))
        rate = f"{runs[0]['mb'] / cpu:.1f} MB" if "passages" in name else f"{len(found) / cpu:,.0f} texts"
        pairs_found = "" if "passages" in name else f"{runs[0]['found']:.0f} of {runs[0]['wanted']:.0f}"
        ratio = "" if "passages" in name else f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        rss = max(run["rss_mb"] for run in runs)
        print(f"| {name} | {cpu:.2f} | {rate} | {pairs_found} | {runs[0]['wrong']:.0f} | {rss:.0f} | {ratio} |")


if __name__ == "__main__":
    main()
