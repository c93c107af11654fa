"""The bundled mini-treebank: valid trees, and the expectations in `coverage.csv`."""

from collections import Counter

from build.generated import BUNDLED, bundled, covered
from rows import table
from viva.build.treebank.tree import EMPTY, Node, Tree, parse

_WORDS = """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB -NONE- -LRB- -RRB- `` '' , . : $ #"""
_PHRASES = """ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP
WHADJP WHADVP WHNP WHPP X"""
_FUNCTIONS = "ADV BNF CLF CLR DIR DTV EXT HLN LGS LOC MNR NOM PRD PRP PUT SBJ TMP TPC TTL VOC"
WORDS, PHRASES, FUNCTIONS = (frozenset(tags.split()) for tags in (_WORDS, _PHRASES, _FUNCTIONS))
INDEXED, BARE = ("*", "*T*", "*EXP*", "*ICH*", "*RNR*"), ("0", "*U*", "*")


def test_every_sentence_is_there_once_and_has_its_row() -> None:
    trees = bundled()
    assert len(trees) >= 170
    sentences = Counter(parse(text).sentence.lower() for text in trees.values())
    assert [sentence for sentence, times in sentences.items() if times > 1] == []
    rows = covered()
    assert Counter(place for place, _, _ in rows) == Counter(trees.keys())
    assert all(covers.strip() for _, covers, _ in rows)


def test_the_trees_are_bracketed_as_the_penn_treebank_brackets() -> None:
    with table() as row:
        for path in sorted(BUNDLED.glob("*.mrg")):
            with row(path.name):
                text = path.read_text("ascii")
                assert text.endswith(")\n")
                assert "\t" not in text
                assert all(line == line.rstrip() for line in text.splitlines())
                assert all(line == "" or line.startswith(("( (", "    ")) for line in text.splitlines())
        for place, text in bundled().items():
            with row(place):
                tree = parse(text)
                has_the_labels(tree)
                refers_within_itself(tree)
                has_whole_clauses(tree)


def has_the_labels(tree: Tree) -> None:
    """Of words, phrases and empty elements."""
    for node in tree.nodes:
        if node.word is None:
            assert node.tag in PHRASES, node
            assert node.functions <= FUNCTIONS, node
        else:
            assert node.tag in WORDS, node
            assert node.tag != EMPTY or node.word in (INDEXED if node.index else BARE), node


def refers_within_itself(tree: Tree) -> None:
    """Every index is given once and used; what has it is visible or empty for another reason.

    ("X, she says, ..." holds a trace of itself.)
    """
    phrases = [node for node in tree.nodes if node.word is None]
    given = Counter(node.index for node in phrases if node.index)
    used = {leaf.index for leaf in tree.leaves if leaf.index} | {node.gap for node in phrases if node.gap}
    assert all(times == 1 for times in given.values())
    assert set(given) == used
    for node in phrases:
        assert node.text or not node.index or all(leaf.index != node.index for leaf in leaves(node)), node


def leaves(node: Node) -> list[Node]:
    return [below for below in node.walk() if below.word is not None]


def has_whole_clauses(tree: Tree) -> None:
    """A subject and a predicate, but for coordinated, gapped and empty clauses."""
    for node in tree.nodes:
        if node.word is None and node.tag == "S" and node.children[0].tag != EMPTY:
            below = node.children
            joined, gapped = sum(child.tag == "S" and bare(child) for child in below) >= 2, any(c.gap for c in below)
            subjects = sum("SBJ" in child.functions for child in below)
            predicates = sum((child.tag == "VP" and bare(child)) or "PRD" in child.functions for child in below)
            assert joined or gapped or (subjects == 1 and predicates == 1), node


def bare(node: Node) -> bool:
    return not (node.functions or node.index or node.gap)
