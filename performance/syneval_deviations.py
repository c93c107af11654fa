"""What the generator's two modes differ in, counted over a treebank: the rows of SynEval's README, to paste.

    python performance/syneval_deviations.py                        # some twenty seconds for the sample
    python performance/syneval_deviations.py --data my.mrg --json counts.json

Every quirk of the published generator (specification, section 6) that the default mode does without, with the published
questions that it concerns and what becomes of them; then a balance from one mode's questions to the other's.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from commandline import add_tiny
from syneval import SAMPLE, _treebank
from syneval_compared import (
    ARGUMENTS,
    NONE,
    Key,
    Side,
    empty_leaf,
    has_glued_adverb,
    in_opened_clause,
    is_filler,
    is_negated,
    is_repeated,
    overlap,
    pairs,
    repeated,
    why_gone,
    why_new,
    why_not_shown,
    within,
    wrong_options,
)
from syneval_rows import deviations_table

from viva.benchmarks.syneval.facts import FORMATS, Item
from viva.build.treebank.arguments import OMITTED, has_conjunction, is_coordinated
from viva.build.treebank.findings import Finding
from viva.errors import VivaError

NOUNS = ARGUMENTS - {"MVP"}
OLD, NEW = "as published", "default"
HOLDERS = frozenset(("ADJP", "ADVP", "PP", "VP", "RRC"))
Counts = Counter[tuple[str, str, str]]
"""(what, mode, knowledge point or format) → how many."""
Balance = Counter[tuple[str, str]]
"""(why, format) → questions that the default mode has more (or, below 0, less)."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=_treebank, default="", metavar="TREEBANK", help="as syneval.py has it")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the counts there")
    add_tiny(parser, data=SAMPLE)
    options = parser.parse_args()
    counts: Counts = Counter()
    balance: Balance = Counter()
    try:
        for old, new in pairs(options.data):
            count(counts, old, new)
            weigh(balance, old, new)
    except VivaError as error:
        print(f"syneval_deviations.py: {error}", file=sys.stderr)
        return 2
    print(counts_table(counts), deviations_table(counts), balance_table(balance, counts), sep="\n\n")
    if options.json:
        report = {" / ".join(name): number for name, number in sorted(counts.items())}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def count(counts: Counts, old: Side, new: Side) -> None:
    """All counts of one tree."""
    counts["trees", "", ""] += 1
    counts["sentences that read differently", "", ""] += old.reading.tree.sentence != new.reading.tree.sentence
    for mode, side in ((OLD, old), (NEW, new)):
        for item in side.every:
            counts["questions", mode, item.format] += 1
        _texts(counts, mode, side)
        _options(counts, mode, side)
        _repetitions(counts, mode, side)
        _partners(counts, mode, side)
    _verbs(counts, old, new)
    _clauses(counts, new)
    _modifiers(counts, old, new)


def _add(counts: Counts, what: str, old: Side, new: Side, one: Key) -> None:
    """A published finding's questions, and those about the same finding by default."""
    counts[what, OLD, "findings"] += 1
    counts[what, OLD, one.point] += len(old.items[one])
    counts[what, NEW, one.point] += len(new.items.get(one, ()))


def _verbs(counts: Counts, old: Side, new: Side) -> None:
    for one, found in old.findings.items():
        if is_negated(old, found):
            _add(counts, "1 negation dropped", old, new, one)
        if has_glued_adverb(old, found):
            _add(counts, "1 adverb glued", old, new, one)
        if overlap(found.slot, found.answer):
            _add(counts, "1 answer in the shown phrase", old, new, one)
        if within(found.answer, found.slot):
            _add(counts, "1 answer in the shown phrase, whole", old, new, one)
        if found.answer == OMITTED and any(tag.endswith(f":{OMITTED}") for tag in found.tags):
            _add(counts, "2 omitted", old, new, one)
        if is_repeated(old, found):
            _add(counts, "10 repeated verb phrase", old, new, one)
        leaf = empty_leaf(found.answer_node)
        antecedent = old.reading.antecedents.get(leaf.index)
        if found.knowledge_point in NOUNS and not found.answer_node.text and antecedent is not None:
            words = old.reading.tree.leaves[antecedent.start : antecedent.end]
            if any((word.word or "").lower() == "whose" for word in words) and "complementizer" in " ".join(found.tags):
                _add(counts, "3 whose", old, new, one)


def _texts(counts: Counts, mode: str, side: Side) -> None:
    sentence = side.reading.tree.sentence
    for one, found in side.findings.items():
        texts, asked = (found.slot, found.answer), len(side.items[one])
        if found.blank and found.slot not in sentence:
            counts["1 blank whose slot is no substring", mode, one.point] += 1
        if any(text.endswith(",") for text in texts):
            counts["3 comma at the end", mode, one.point] += asked
            if found.blank and found.answer.endswith(","):
                counts["3 comma at the end of a blank's answer", mode, one.point] += 1
        if any(text.count('"') % 2 for text in texts):
            counts["3 lone quotation mark", mode, one.point] += asked
        if any("\\/" in text for text in texts):
            counts["3 escaped slash in slot or answer", mode, one.point] += asked
        if found.blank and found.accepted:
            counts["accepted beside the answer", mode, one.point] += 1
        if found.blank and len(side.right[one.point, found.slot]) > 1:
            counts["10 blank with several answers", mode, one.point] += 1
    if "\\/" in sentence:
        counts["3 sentence with an escaped slash", mode, ""] += 1


def _options(counts: Counts, mode: str, side: Side) -> None:
    verbs = {verb.plain.lower() for verb in side.reading.verbs}
    nouns = {text.lower() for text in side.reading.noun_counts}
    for one, found in side.findings.items():
        gold, slot = found.answer.lower(), found.slot.lower()
        for item in side.items[one]:
            if item.format != "MC":
                continue
            counts["multiple choice", mode, one.point] += 1
            wrong = [text.lower() for text in wrong_options(item)]
            if item.options[-1] == NONE:
                counts["13 none of the above", mode, one.point] += 1
                counts["13 none of the above, the gold", mode, one.point] += item.answer == "D"
            if any(text not in item.sentence.lower() for text in wrong):
                counts["9 an option not in the sentence", mode, one.point] += 1
            if any(is_filler(item, text) for text in wrong):
                counts["9 an option from the list", mode, one.point] += 1
            if one.point == "CO":
                _coordinated(counts, mode, wrong, slot, side.right[one.point, found.slot])
            elif one.point == "PPA":
                rivals = verbs if found.answer_verb is None else nouns
                _attached(counts, mode, wrong, slot, gold, rivals)
            elif one.point in NOUNS:
                kind = "moved" if any(tag.endswith(":moved") for tag in found.tags) else "not moved"
                counts[f"8 {kind}", mode, one.point] += 1
                counts[f"8 {kind}, an option overlaps", mode, one.point] += any(overlap(text, gold) for text in wrong)


def _coordinated(counts: Counts, mode: str, wrong: list[str], slot: str, true: set[str]) -> None:
    conjunct, itself = any(text in true for text in wrong), slot in wrong
    counts["6 another conjunct offered", mode, "CO"] += conjunct
    counts["6 the shown phrase offered", mode, "CO"] += itself
    counts["6 either offered", mode, "CO"] += conjunct or itself


def _attached(counts: Counts, mode: str, wrong: list[str], slot: str, gold: str, rivals: set[str]) -> None:
    checks = {
        "7 no option of the other kind": not any(text in rivals for text in wrong),
        "7 an option holds the right one": any(within(gold, text) for text in wrong),
        "7 an option holds the shown phrase": any(within(slot, text) for text in wrong),
        "7 an option lies inside the shown phrase": any(within(text, slot) for text in wrong),
    }
    counts.update({(what, mode, "PPA"): int(hit) for what, hit in checks.items()})
    counts["7 any of the four", mode, "PPA"] += any(checks.values())


def _repetitions(counts: Counts, mode: str, side: Side) -> None:
    for form in FORMATS:
        for point in {one.point for one in side.findings}:
            mine = [item for item in side.every if (item.format, item.knowledge_point) == (form, point)]
            every, again = repeated(mine)
            counts[f"10 {form} asked again", mode, point] += again
            counts[f"10 {form} asked several times", mode, point] += every


def _partners(counts: Counts, mode: str, side: Side) -> None:
    """Statements that pair a phrase with one that it is coordinated with, or with itself."""
    for slot, items in side.pairs:
        if items:
            partner = items[0].question.rpartition("“")[2].partition("”")[0].lower()
            counts["6 wrong partner", mode, "CO"] += 1
            counts["6 wrong partner, a conjunct or the phrase", mode, "CO"] += partner in {
                slot.slot.lower(),
                *(text.lower() for text in slot.also),
            }


def _clauses(counts: Counts, new: Side) -> None:
    for clause in new.reading.clauses:
        if clause.tag == "S" and has_conjunction(clause) and not is_coordinated(clause, published=False):
            counts["4 clauses with But, And, Or", NEW, ""] += 1
    for one, found in new.findings.items():
        if in_opened_clause(new, found):
            counts["4 questions about them", NEW, one.point] += len(new.items[one])


def _modifiers(counts: Counts, old: Side, new: Side) -> None:
    hosts = zip(old.reading.noun_modifiers.values(), new.reading.noun_modifiers.values(), strict=True)
    for before, after in hosts:
        kinds = {modifier.node.path: modifier.category for modifier in before}
        now = {modifier.node.path: modifier.category for modifier in after}
        counts["11 modifiers filed otherwise", "", "ADJ"] += sum(
            kinds.get(path) != now.get(path) for path in {*kinds, *now}
        )
    for mode, side in ((OLD, old), (NEW, new)):
        for found, items in side.exist:
            if found.knowledge_point == "ADJ" and not found.exists and items:
                counts["12 said to have no modifier", mode, "ADJ"] += 1
                inside = {child.tag for child in found.nodes[0].children} & HOLDERS
                counts["12 though a phrase inside modifies it", mode, "ADJ"] += bool(inside)
    for found in old.findings.values():
        if found.knowledge_point == "ADV" and found.blank and found.slot_verb is not None:
            modifiers = old.reading.verb_modifiers[found.slot_verb]
            counts["12 blank with an uncounted particle or clause", OLD, "ADV"] += len(modifiers) > 1


def weigh(balance: Balance, old: Side, new: Side) -> None:
    """Why each question more or less."""
    for one in old.findings.keys() - new.findings.keys():
        _more(balance, why_gone(old, new, one), old.items[one], -1)
    for one in new.findings.keys() - old.findings.keys():
        _more(balance, why_new(old, new, one), new.items[one], 1)
    for one in old.findings.keys() & new.findings.keys():
        _weigh_one(balance, old, new, one)
    _weigh_statements(balance, old, new)


def _weigh_statements(balance: Balance, old: Side, new: Side) -> None:
    """Statements on whether a slot has a modifier, and on wrong partners."""

    def placed(found: Finding) -> tuple[object, ...]:
        return found.knowledge_point, found.exists, found.nodes[0].path, found.nodes[-1].path

    for before, after in ((old.exist, new.exist), (old.pairs, new.pairs)):
        was = {placed(found): (found, items) for found, items in before}
        now = {placed(found): items for found, items in after}
        for place in now.keys() - was.keys():
            balance["otherwise", "TF"] += len(now[place])
        for place, (found, items) in was.items():
            if len(now.get(place, ())) != len(items):
                balance[_why_unsaid(new, found, place in now), "TF"] += len(now.get(place, ())) - len(items)


def _why_unsaid(new: Side, found: Finding, shown: bool) -> str:
    if found.exists is None:
        return "no wrong partner in the sentence (CO)" if shown else why_not_shown(new, found.slot)
    inside = [child.tag for child in found.nodes[0].children]
    if not found.exists and found.knowledge_point == "ADJ":
        if HOLDERS & set(inside):
            return "no modifier, though one is inside (ADJ)"
        if "PRP" in inside:
            return "pronouns have no modifier (ADJ)"
    why = why_not_shown(new, found.slot)
    if why != "otherwise":
        return why
    if found.exists:
        return "attachment that readers dispute (ADJ, ADV, PPA)"
    return "no modifier, though something stands first or follows (ADJ, ADV)"


def _weigh_one(balance: Balance, old: Side, new: Side, one: Key) -> None:
    before = Counter(item.format for item in old.items[one])
    after = Counter(item.format for item in new.items[one])
    if before["FITB"] != after["FITB"]:
        several = len(new.right[one.point, new.findings[one].slot]) > 1
        other = {"ADV": "blank with an uncounted adverbial (ADV)", "MVP": "argument of several verb phrases (MVP)"}
        why = "blank with several answers" if several else other.get(one.point, "otherwise")
        balance[why, "FITB"] += after["FITB"] - before["FITB"]
    if before["MC"] != after["MC"]:
        choice = next(item for item in (*old.items[one], *new.items[one]) if item.format == "MC")
        filled = any(is_filler(choice, text) for text in wrong_options(choice))
        why = "three options only with the list's" if filled else "three options only with overlapping ones"
        balance[why, "MC"] += after["MC"] - before["MC"]
    if before["TF"] and not new.findings[one].statements:
        balance["not stated, as grammars differ on what it is", "TF"] -= before["TF"]
    elif before["TF"] != after["TF"]:
        balance["no wrong phrase in the sentence to state", "TF"] += after["TF"] - before["TF"]


def _more(balance: Balance, why: str, items: list[Item], times: int) -> None:
    for item in items:
        balance[why, item.format] += times


def counts_table(counts: Counts) -> str:
    """Every count, by mode and knowledge point."""
    lines = ["| | either | as published | default |", "|---|---|---|---|"]
    for what in sorted({name for name, _, _ in counts}, key=_order):
        cells = [what]
        for mode in ("", OLD, NEW):
            mine = {
                kind: number for (name, of, kind), number in counts.items() if (name, of) == (what, mode) and number
            }
            findings = mine.pop("findings", 0)
            total = f"{sum(mine.values()):,}" + (f" of {findings:,} findings" if findings else "")
            split = ", ".join(f"{kind} {number:,}" for kind, number in mine.items() if kind and number)
            cells.append(f"{total} ({split})" if split else total)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(what: str) -> tuple[int, str]:
    number = what.partition(" ")[0]
    return (int(number) if number.isdigit() else 0, what)


def balance_table(balance: Balance, counts: Counts) -> str:
    """From one mode's questions to the other's."""
    lines = ["| | TF | MC | FITB | all |", "|---|---|---|---|---|"]
    lines.append(_line(OLD, [counts["questions", OLD, form] for form in FORMATS], ""))
    for why in sorted({why for why, _ in balance}, key=lambda why: sum(balance[why, form] for form in FORMATS)):
        if any(balance[why, form] for form in FORMATS):
            lines.append(_line(why, [balance[why, form] for form in FORMATS], "+"))
    lines.append(_line(NEW, [counts["questions", NEW, form] for form in FORMATS], ""))
    for form in FORMATS:
        more = sum(number for (_, of), number in balance.items() if of == form)
        if counts["questions", OLD, form] + more != counts["questions", NEW, form]:
            raise AssertionError(f"{form}: the reasons add up to {more:,}")
    return "\n".join(lines)


def _line(name: str, numbers: list[int], sign: str) -> str:
    cells = (f"{number:{sign},}".replace("-", "−") if number else "" for number in (*numbers, sum(numbers)))
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
