"""The deviations of the generator's default mode as the rows of a table, with the counts of one treebank."""

from collections import Counter
from collections.abc import Callable

FIRST = 6
"""The README's list has five that are the script's."""
OLD, NEW = "as published", "default"
Counts = Counter[tuple[str, str, str]]
Figure = Callable[..., str]


def deviations_table(counts: Counts) -> str:
    """One row a deviation: what the published generator does, what Viva does, how many questions it concerns."""
    lines = ["| | as published | by default | questions |", "|---|---|---|---|"]

    def figure(what: str, *points: str, mode: str = OLD) -> str:
        """How often, of these knowledge points or all."""
        found = sum(
            number
            for (name, of, point), number in counts.items()
            if (name, of) == (what, mode) and point != "findings" and (not points or point in points)
        )
        return f"{found:,}"

    for number, (published, default, questions) in enumerate(_rows(figure), FIRST):
        lines.append(f"| {number} | {published} | {default} | {questions} |")
    return "\n".join(lines)


def _rows(n: Figure) -> list[tuple[str, str, str]]:
    def kept(what: str) -> str:
        return f"{n(what)}; {n(what, mode=NEW)} still asked about the same phrases"

    def now(what: str, of: str) -> str:
        return f"{n(what)} of {n(of)}; now {n(what, mode=NEW)} of {n(of, mode=NEW)}"

    return [
        ("`does n't have` is shown, and asked for, as `does have`", "with its *not*", kept("1 negation dropped")),
        (
            "`was previously`: adverbs are part of the verb phrase",
            "left out; accepted where the verb phrase is asked for (MVP)",
            f"{kept('1 adverb glued')}. Blanks whose shown phrase is no substring of the sentence, "
            f"as other words stand between its own: {n('1 blank whose slot is no substring')}, now "
            f"{n('1 blank whose slot is no substring', mode=NEW)}",
        ),
        (
            "the shown phrase holds the answer, or the reverse: `was down` → `down`",
            "not asked, if it still does without adverbs",
            f"{n('1 answer in the shown phrase')} ({n('1 answer in the shown phrase, whole', 'SC')} of SC's with the "
            f"whole answer); {n('1 answer in the shown phrase', mode=NEW)} still asked",
        ),
        ("an imperative's subject is `omitted`", "not asked", n("2 omitted")),
        (
            "commas at the end, lone quotation marks, `7\\/8`, the lost possessive of *whose*",
            "tidied; a subject or object with an apposition or relative clause is accepted with it",
            f"{n('3 comma at the end')}, {n('3 lone quotation mark')}, {n('3 escaped slash in slot or answer')}, "
            f"{n('3 whose')}; {n('accepted beside the answer', mode=NEW)} blanks accept other phrases",
        ),
        (
            "`did n't`, `$ 5 million`, `3 %`",
            "written as a newspaper does",
            f"{n('sentences that read differently', mode='')} of {n('trees', mode='')} sentences",
        ),
        (
            "no argument of a clause that begins with But, And, Or",
            "asked",
            f"{n('4 questions about them', mode=NEW)} new, of {n('4 clauses with But, And, Or', mode=NEW)} clauses",
        ),
        (
            "CO offers another conjunct or the shown phrase itself as wrong, in capitals",
            "neither; only neighbours of a list are paired",
            f"{n('6 either offered')} of {n('multiple choice', 'CO')} MC, and "
            f"{n('6 wrong partner, a conjunct or the phrase')} of {n('6 wrong partner')} pairs of statements",
        ),
        (
            "PPA offers what holds the answer or the phrase, or lies inside the phrase; or nothing of the other kind "
            "(a verb phrase beside nouns)",
            "what the phrase could attach to, the nearest of the other kind first",
            f"{n('7 any of the four')} of {n('multiple choice', 'PPA')} MC; now {n('7 any of the four', mode=NEW)}, "
            f"{n('7 no option of the other kind', mode=NEW)} of them without one of the other kind",
        ),
        (
            "a moved argument's wrong options overlap with it",
            "none overlaps",
            f"{now('8 moved, an option overlaps', '8 moved')} (not moved: "
            f"{n('8 not moved, an option overlaps')} of {n('8 not moved')}, now "
            f"{n('8 not moved, an option overlaps', mode=NEW)})",
        ),
        (
            "a sentence with too few phrases borrows options from a list, which gives them away",
            "no MC without three wrong phrases of its sentence",
            f"{n('9 an option from the list')} of {n('multiple choice')} MC; there are "
            f"{n('multiple choice', mode=NEW)} now (MVP {n('multiple choice', 'MVP')}, now "
            f"{n('multiple choice', 'MVP', mode=NEW)}; ADV {n('multiple choice', 'ADV')}, now "
            f"{n('multiple choice', 'ADV', mode=NEW)})",
        ),
        (
            "the same statement several times (ADV, ADJ), blanks with two answers, verb phrases that occur again",
            "each is made once, and blanks have one answer",
            f"{n('10 TF asked again')} statements again, now {n('10 TF asked again', mode=NEW)}; "
            f"{n('10 blank with several answers')} blanks; {n('10 repeated verb phrase')}",
        ),
        (
            "the first modifier of a noun is asked about the last one's comma",
            "about its own",
            f"{n('11 modifiers filed otherwise', mode='')} modifiers filed otherwise",
        ),
        (
            "a noun phrase with a modifier inside is said to have none; pronouns as well",
            "neither is said",
            f"{n('12 though a phrase inside modifies it')} of {n('12 said to have no modifier')} pairs of "
            f"statements; now {n('12 said to have no modifier', mode=NEW)} pairs",
        ),
        (
            "a verb phrase's particles and unnamed clauses are no modifiers, so a blank seems to have one answer",
            "counted, and no blank",
            f"{n('12 blank with an uncounted particle or clause')} of ADV's blanks",
        ),
        (
            'one MC in 25 ends in "none of the above", be it the answer or not',
            "never",
            f"{n('13 none of the above')} MC, the answer's place in {n('13 none of the above, the gold')}",
        ),
    ]
