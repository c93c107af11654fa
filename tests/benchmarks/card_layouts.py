"""Rows in the layouts in which well-known sets are published; every text in them is our own."""

from __future__ import annotations

from typing import Any

ABCD = {"text": ["mercury", "iron", "gold", "tin"], "label": ["A", "B", "C", "D"]}
METAL = "Which metal is liquid at room temperature?"

LAYOUTS: dict[str, tuple[list[dict[str, Any]], list[str | None]]] = {
    "mmlu": (
        [
            {"question": METAL, "subject": "chemistry", "choices": ABCD["text"], "answer": 0},
            {"question": "2 + 2 = ?", "subject": "arithmetic", "choices": ["1", "2", "3", "4"], "answer": 3},
        ],
        ["A", "D"],
    ),
    "mmlu-pro": (
        [
            {
                "question_id": 7, "question": METAL, "options": [*ABCD["text"], "zinc", "lead"], "answer": "A",
                "answer_index": 0, "cot_content": "", "category": "chemistry", "src": "ours",
            },
            {
                "question_id": 9, "question": "Which is a matrix?", "options": ["Y^l", "Y^L"], "answer": "B",
                "answer_index": 1, "cot_content": "", "category": "math", "src": "ours",
            },
        ],
        ["A", "B"],
    ),
    "arc": (
        [
            {"id": "T_1", "question": METAL, "choices": ABCD, "answerKey": "A"},
            {
                "id": "T_2", "question": "What melts ice?",
                "choices": {"text": ["cold", "heat", "dark"], "label": ["1", "2", "3"]}, "answerKey": "2",
            },
        ],
        ["A", "B"],
    ),
    "arc-jsonl": (
        [
            {
                "id": "T_1",
                "question": {
                    "stem": METAL,
                    "choices": [{"text": "mercury", "label": "A"}, {"text": "iron", "label": "B"}],
                },
                "answerKey": "A",
            },
        ],
        ["A"],
    ),
    "hellaswag": (
        [
            {
                "ind": 4, "activity_label": "Cooking", "ctx_a": "A man boils water.", "ctx_b": "He",
                "ctx": "A man boils water. He", "endings": ["flies off.", "adds rice.", "sings a car.", "is water."],
                "source_id": "ours~1", "split": "val", "split_type": "indomain", "label": "1",
            },
        ],
        ["B"],
    ),
    "piqa": ([{"goal": "Dry a shirt", "sol1": "Hang it in the sun.", "sol2": "Put it in a bath.", "label": 0}], ["A"]),
    "winogrande": (
        [
            {"sentence": "The cup did not fit the box because the _ was too big.", "option1": "cup", "option2": "box",
             "answer": "1"},
            {"sentence": "The cup did not fit the box because the _ was too small.", "option1": "cup",
             "option2": "box", "answer": "2"},
        ],
        ["A", "B"],
    ),
    "boolq": (
        [
            {"question": "is tin a metal", "passage": "Tin is a chemical element, and a metal.", "answer": True},
            {"question": "is tin a gas", "passage": "Tin is a chemical element, and a metal.", "answer": False},
        ],
        ["true", "false"],
    ),
    "gpqa": (
        [
            {
                "Record ID": "rec1", "Question": METAL, "Correct Answer": "mercury", "Incorrect Answer 1": "iron",
                "Incorrect Answer 2": "gold", "Incorrect Answer 3": "tin", "Explanation": "It melts at -39 degrees.",
                "High-level domain": "Chemistry", "Subdomain": "Inorganic",
            },
        ],
        ["mercury"],
    ),
    "truthfulqa-mc1": (
        [
            {
                "question": "What happens if you crack your knuckles?",
                "mc1_targets": {"choices": ["Nothing much", "You break them"], "labels": [1, 0]},
                "mc2_targets": {"choices": ["Nothing much", "You break them"], "labels": [1, 0]},
            },
        ],
        ["Nothing much"],
    ),
    "commonsenseqa": (
        [{"id": "c1", "question": METAL, "question_concept": "metal", "choices": ABCD, "answerKey": "A"}],
        ["A"],
    ),
    "openbookqa": ([{"id": "7-1", "question_stem": METAL, "choices": ABCD, "answerKey": "A"}], ["A"]),
    "medqa": (
        [
            {
                "id": "m-1", "sent1": "A man has a fever. What is measured?", "sent2": "", "ending0": "weight",
                "ending1": "temperature", "ending2": "height", "ending3": "age", "label": 1,
            },
        ],
        ["B"],
    ),
    "medqa-jsonl": (
        [
            {
                "question": "A man has a fever. What is measured?", "answer": "temperature",
                "options": {"A": "weight", "B": "temperature", "C": "height", "D": "age"}, "meta_info": "step1",
                "answer_idx": "B",
            },
        ],
        ["B"],
    ),
    "medmcqa": (
        [
            {
                "id": "m1", "question": "Which bone is in the leg?", "opa": "ulna", "opb": "radius", "opc": "tibia",
                "opd": "skull", "cop": 2, "choice_type": "single", "exp": "The tibia is.", "subject_name": "Anatomy",
                "topic_name": None,
            },
        ],
        ["C"],
    ),
    "ceval": (
        [
            {"id": 0, "question": "水的沸点是____摄氏度。", "A": "50", "B": "100", "C": "150", "D": "200",
             "answer": "B", "explanation": "标准大气压下。"},
        ],
        ["B"],
    ),
    "cmmlu": (
        [{"": 0, "Question": "一年有几个月？", "A": "10", "B": "11", "C": "12", "D": "13", "Answer": "C"}],
        ["C"],
    ),
    "agieval": (
        [
            {
                "passage": None, "question": "What is 3 + 4?", "options": ["(A)5", "(B)6", "(C)7", "(D)8"],
                "label": "C", "answer": None, "other": {"solution": "It is 7."},
            },
        ],
        ["C"],
    ),
    "gsm8k": (
        [{"question": "Ann has 3 boxes of 6 eggs. How many eggs?", "answer": "3 * 6 = <<3*6=18>>18\n#### 18"}],
        ["18"],
    ),
    "math": (
        [
            {"problem": "Find $x$ if $2x = 1$.", "level": "Level 1", "type": "Algebra",
             "solution": "Divide: $x = \\boxed{\\frac{1}{2}}$."},
        ],
        ["\\frac{1}{2}"],
    ),
    "math-500": (
        [
            {"problem": "Find $x$ if $2x = 1$.", "solution": "$x = \\boxed{\\frac{1}{2}}$", "answer": "\\frac{1}{2}",
             "subject": "Algebra", "level": 1, "unique_id": "test/algebra/1.json"},
        ],
        ["\\frac{1}{2}"],
    ),
    "triviaqa": (
        [
            {
                "question": "Which city has the Eiffel Tower?", "question_id": "t_1", "question_source": "ours",
                "answer": {"aliases": ["Paris, France", "Paris"], "normalized_aliases": ["paris france", "paris"],
                           "value": "Paris", "type": "WikipediaEntity"},
            },
        ],
        ["Paris"],
    ),
    "squad": (
        [
            {
                "id": "56a", "title": "Tin", "context": "Tin is a metal. Its symbol is Sn.", "question": "What is tin?",
                "answers": {"text": ["a metal", "metal"], "answer_start": [7, 9]},
            },
        ],
        ["a metal"],
    ),
    "humaneval": (
        [
            {
                "task_id": "HumanEval/900", "prompt": 'def double(x):\n    """Twice x."""\n',
                "canonical_solution": "    return 2 * x\n", "entry_point": "double",
                "test": "def check(candidate):\n    assert candidate(2) == 4\n",
            },
        ],
        [""],
    ),
    "mbpp": (
        [
            {
                "task_id": 900, "text": "Write a function to double a number.",
                "code": "def double(x):\n  return 2 * x",
                "test_list": ["assert double(2) == 4", "assert double(0) == 0"], "test_setup_code": "",
                "challenge_test_list": [],
            },
        ],
        [""],
    ),
    "mbpp-sanitized": (
        [
            {
                "source_file": "ours", "task_id": 901, "prompt": "Write a function to double a number.",
                "code": "def double(x):\n  return 2 * x", "test_imports": ["import math"],
                "test_list": ["assert double(2) == 4"],
            },
        ],
        [""],
    ),
    "mmlu-redux": (
        [
            {"question": METAL, "choices": str(ABCD["text"]), "answer": "0", "error_type": "wrong_groundtruth"},
            {"question": "2 + 2 = ?", "choices": "['1', '2', '3', '4']", "answer": "3", "error_type": "OK"},
        ],
        ["A", "D"],
    ),
    "aime-2024": (
        [{"ID": "2024-I-90", "Problem": "What is 2 + 2?", "Solution": "It is 4.", "Answer": 4}],
        ["4"],
    ),
    "aime-2025": ([{"id": "0", "problem": "What is 2 + 3?", "answer": "5"}], ["5"]),
    "ifeval": (
        [
            {
                "key": 900, "prompt": "Name a metal. Use no comma.", "kwargs": [{"num_words": None}],
                "instruction_id_list": ["punctuation:no_comma"],
            },
        ],
        ['[["punctuation:no_comma",{}]]'],
    ),
    "drop": (
        [
            {
                "section_id": "s", "query_id": "q1", "passage": "Ann has 3 dogs; Bob has 1 cat.",
                "question": "How many more?",
                "answer": {"number": "2", "date": {"day": "", "month": "", "year": ""}, "spans": []},
                "validated_answers": {
                    "number": ["", "2"], "date": [{"day": "", "month": "", "year": ""}] * 2, "spans": [["two"], []],
                },
            },
            {
                "section_id": "s", "query_id": "q2", "passage": "Ann has 3 dogs; Bob has 1 cat.",
                "question": "Who has animals?",
                "answer": {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Ann", "Bob"]},
                "validated_answers": {"number": [], "date": [], "spans": []},
            },
        ],
        ["2", "Ann & Bob"],
    ),
}  # fmt: skip
"""Card → rows in its layout, and their gold answers; of shuffled options the right one's text."""
FILES: dict[str, tuple[str, list[dict[str, Any]], list[str | None]]] = {
    "mmlu-redux-ok": (
        "mmlu_metals.jsonl",
        [{"question": METAL, "choices": ABCD["text"], "answer": 0, "error_type": "Ok"}],
        ["A"],
    ),
    "agieval-en": (
        "aqua-rat.jsonl",
        [{"passage": None, "question": METAL, "options": ["(A)tin", "(B)mercury"], "label": "B", "answer": None}],
        ["B"],
    ),
    "agieval-zh": (
        "gaokao-history.jsonl",
        [{"passage": None, "question": "哪一种是液体？", "options": ["(A)锡", "(B)汞"], "label": "B", "answer": None}],
        ["B"],
    ),
    "agieval-several": (
        "jec-qa-kd.jsonl",
        [{"passage": None, "question": "哪些是金属？", "options": ["(A)锡", "(B)汞", "(C)水"], "label": ["A", "B"]}],
        ["AB"],
    ),
    "agieval-math": ("math.jsonl", [{"passage": None, "question": "What is 2 + 2?", "answer": "4"}], ["4"]),
    "agieval-cloze": ("gaokao-mathcloze.jsonl", [{"passage": None, "question": "2 + 2 = ", "answer": "4"}], ["4"]),
    "simpleqa": (
        "simple.jsonl",
        [{"metadata": "{'topic': 'Metals', 'answer_type': 'Other'}", "problem": METAL, "answer": "mercury"}],
        ["mercury"],
    ),
    "gaokao-bench": (
        "2010-2022_Metals.jsonl",
        [
            {"year": "2010", "question": "A. 锡 B. 汞 ...", "answer": ["B"], "score": 4, "analysis": ""},
            {"year": "2011", "question": "（1）…（2）…", "answer": ["A", "BD"], "score": 3, "analysis": ""},
        ],
        ["B", "A BD"],
    ),
    "bbh": ("metals.jsonl", [{"input": "Close: ( [", "target": "] )"}, {"input": "Is it?", "target": "(A)"}],
            ["] )", "(A)"]),
}  # fmt: skip
"""Cards that go by the names of their files, or whose columns say too little for a guess: file, rows and golds."""
