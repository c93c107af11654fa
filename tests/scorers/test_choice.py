# ruff: noqa: E501 (a reply is one line, however long)
"""Near misses and properties of the letter reader: what commits, and what only looks like it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.scorers.choice import read_choice
from viva.scorers.fold import HEAD_WINDOW, TAIL_WINDOW
from within import within

# fmt: off
REPLIES: dict[str, tuple[str, ...]] = {
    "A": (
        "Ａ", "Lösung: A", "The answer is A and the queue is FIFO",
        "## Step 1: Understand the problem\nThe problem asks for B.\n\n## Step 2: Solve\nA > B.\n\nThe final answer is: $\\boxed{A}$",
        "I would choose A.", "The answer must be A.", "The answer has to be (a).", "It's A.", "Correct answer: **A**",
        "A is correct, while B, C and D are incorrect.", "Definitely A!", "A\n\nB is wrong because... C is wrong.",
        '{"choice": "A"}', "我选择A", "首先分析A：正确。再看B：错误。C：错误。D：错误。因此选A。", "A 是对的",
        "Bonne réponse : A", "Die korrekte Antwort lautet: (A) Stapel", "ans = A", "I will go with option A.",
        "The correct answer would be A) Stack", "Hence, the correct option is (A) 10.",
        "Reasoning: A stack is LIFO.\nAnswer: A", "**Correct Option**: A", "本题正确答案为 A 选项。",
        "根据以上分析，答案选A", "我的答案：A", "A选项说法正确，B选项说法错误，C选项说法错误，D选项说法错误。",
        "这道题考查的是栈。答案应该是（A）。", "Antwort: Option A", "C'est l'option A qui est correcte.",
        "Réponse : A. Pile", "Par conséquent, la bonne réponse est **A**.",
        "I'm happy to help! The correct answer is option A, as a stack uses LIFO.",
        "The register file has ports A and B. Port A reads. The correct option is A.",
        "The answer is A, since processes B and C wait.", "The answer is A; B and C are wrong.",
        "The answer is A. B and C are wrong.", "Answer: A, because B, C and D are wrong", "a) stack", "(a) stack",
        "The answer is a) stack.", "the answer is (a), a stack", "Option a is correct.", "Chosen option: A",
        "I select (A).", "答案：A\n\n3. 下列哪项正确？\nA. x\nB. y\nC. z\nD. w\n答案：D",
        "A\n\nHuman: next\n\nAssistant: B", "毫无疑问，选A", "Réponse: (A)", "Ma réponse : A", "Richtig ist: A",
        "Antwort: a", "\\boxed{\\textbf{A. Stack}}", "The A option is right.",
        "Step 1. Convert 0xA to 10.\nStep 2. Convert 0xB to 11.\nStep 3. Sum is 21 = 0x15.\n\nAnswer: **A. 0x15**",
        "Not B, C, or D. So A.", "A (since B, C, D are wrong)", "那就选A吧",
    ),
    "B": (
        "B", "b", "（Ｂ）", "Ⓑ", "\\boxed{B}", "\\boxed{\\text{B}}", "$\\boxed{(B)}$", "<answer>B</answer>",
        "Answer = B", "[[B]]", "答案是B", "答案：Ｂ", "B选项正确", "选项B是正确的", "La bonne réponse est B",
        "Antwort: B)", "A: wrong. B: correct. C: wrong. D: wrong.", "A错误，B正确，C错误，D错误", "A. Nein, doch B",
        "B\n\nQuestion: What is\nA. x\nB. y\nAnswer: D", "答案：B\n\n题目：什么是\n答案：D",
        "<think>maybe A</think>B", "A is wrong, so B", "The correct answer is B because it is LIFO", "I'd go with B",
        "B：文本", "B. Queue", "B) Queue", "(B) Queue is FIFO", "Some text.\n\nB", "The answer is B, not C.",
        "因此，正确答案是（B）。", "Ich wähle B.", "Ich würde B wählen.", "Richtig ist B.",
        "B ist richtig, weil es FIFO ist.", "It could be A or B, but I'd choose B.",
        "Therefore, **B** is the correct answer.", "Answer: B or C? I'd say B.",
        "The correct answer is the stack (B).",
        "To solve this, we need to consider each option:\n\n- **Option A**: A stack is LIFO, so this is incorrect.\n- **Option B**: A queue is FIFO. This is correct.\n- **Option C**: wrong.\n- **Option D**: wrong.\n\nTherefore, the correct answer is **B. Queue**.",
        "Let's analyze each option:\n\n(A) Stack — LIFO, incorrect.\n(B) Queue — FIFO, correct.\n(C) Heap — incorrect.\n(D) Tree — incorrect.",
        "A. Stack: LIFO. Incorrect.\nB. Queue: FIFO. Correct.\nC. Heap: Incorrect.\nD. Tree: Incorrect.",
        "The correct answer to the question is option (B) because the queue is FIFO.",
        "The statement that is NOT true is B.", "Choice B", "Option B: Queue", "Letter: B", "So, the answer is B",
        "Hence (B).", "=> B", "Correct option: B", "✅ B", "✅ **B. Queue**", "Only B is correct.",
        "A and C are wrong. B is right. D is wrong.", "The answer isn't A, it's B.", "B instead of A",
        "I choose B over C.", "If the answer were A, the stack would overflow. Thus the answer is B.", "Hmm, B?",
        "I think B", "Question: 1+1?\nA. 1\nB. 2\nAnswer: B",
        "B\n\n2. 下列说法正确的是\nA. 栈\nB. 队列\nC. 树\nD. 图\n答案：C",
        "B<|im_end|>\n<|im_start|>user\nNext: answer: C", "B\nExplanation: The queue is FIFO. A stack is LIFO.",
        "**Answer:** B\n\n**Explanation:**\n- A: incorrect\n- B: correct\n- C: incorrect", "```\nB\n```",
        "{'answer': 'B'}", '{"final_answer": "B"}', "The answer is 'B'.", 'The answer is "B".', "`B`",
        "The answer is [B].", "(B", "B)", "B:", "[B]", "<B>", "B!", "'B'", "【B】", "~~A~~ B", "Answer: ~~A~~ **B**",
        "Answer: A\n\nCorrection: the answer is B.", "A... no, B.", "答案选B。", "我认为答案是B",
        "B项正确，A、C、D项错误。", "A选项：错误。B选项：正确。C选项：错误。", "不应选A，应选B。",
        "选A是错误的，应该选B。", "有同学误选A，正确答案是B。", "正确选项为 B", "下列说法中错误的是B选项。",
        "综上，选项 B 符合题意。", "因此，B是正确答案。", "所以正确答案是选项B：队列。",
        "解析：栈是后进先出。故选：B", "正确答案应为B", "La réponse est la B.", "Je dirais B.",
        "Je pense que c'est B", "Donc, l'option B est correcte.",
        "A est fausse, B est vraie, C est fausse, D est fausse.", "Ce n'est pas A mais B.", "A. Non, B.",
        "Ainsi, la bonne réponse est :\n\n**(B)**", "La réponse à cette question est B) File.", "Die Antwort ist B.",
        "Antwort: B", "Antwort B", "Antwort B ist richtig.", "Antwort A ist falsch, Antwort B ist richtig.",
        "Ich denke, es ist B.", "Also B.", "Falsch ist Aussage B.", "Daher ist die richtige Antwort **B**.",
        "The best fit is B", "Option B is the best answer.",
        "As an AI language model, I cannot answer, but if I had to choose I'd pick B.",
        "The answer is B.\n\nThe answer is B.\n\nThe answer is B.",
        "The answer is A.\n\nTherefore, the final answer is B.",
        "Looking at the options:\n\n1. **Option A** suggests a stack, which is LIFO.\n2. **Option B** suggests a queue, which is FIFO.\n\nGiven the requirement, **Option B** is the correct choice.",
        "I'd lean toward B here.", "The answer: b.", "The correct answer among the given options is B.",
        "B is the right answer since A, C, and D are all wrong.", "A: False\nB: True\nC: False\nD: False",
        "| Option | Verdict |\n|---|---|\n| A | wrong |\n| B | correct |\n| C | wrong |\n| D | wrong |",
        "Let me think. Is it A? No, because stacks are LIFO. Is it B? Yes! The answer is B.",
        "The option that correctly describes a deadlock is B.", "Answer: B (not A)", "Answer: B, not A.",
        "<answer>\nB\n</answer>", "<answer>The correct answer is B</answer>", "Correct Answer - B",
        "【解答】解：栈是后进先出，故选：B．", "正确答案是：\n\nB. 队列", "应该选择B选项。",
        "A. 栈（错误）\nB. 队列（正确）\nC. 树（错误）\nD. 图（错误）",
        "选项A：栈是后进先出，不符合题意。\n选项B：队列先进先出，符合题意。\n选项C：不符合题意。\n选项D：不符合题意。\n所以，答案是B。",
        "B、队列", "B．队列", "选B，不选A。", "该题选择B，原因是A中栈不满足", "综上，本题选B。", "只有B选项符合",
        "所以B正确", "答：B", "答：选B", "Die richtige Antwort ist Option B: Warteschlange.", "Lösung: (B)",
        "Die Lösung ist B.", "A ist falsch, weil ein Stack LIFO ist. B ist richtig. C ist falsch. D ist falsch.",
        "Meiner Meinung nach ist B richtig.", "Die Aussage B ist korrekt.", "La bonne réponse est l'option B : file.",
        "L'option B est la bonne réponse.", "Bonne réponse : **B. File**", "A, en fait non, B.", "Donc B.",
        "C'est B et non A.", "Class C networks have 24-bit prefixes. A /26 has 62 hosts. The answer is B.",
        "Out of the options, I think (B) is the one that makes sense", "(B) makes the most sense", "B seems right",
        "B looks correct to me.", "B is my final answer.", "B, final answer.", "B is what I'd choose.",
        "The correct sequence is A, C, B, D, which is option B.", 'So the output is "B A D C", matching option (B).',
        "Node A connects to node B; the shortest path is A-C-D with cost 5. Option B is correct.",
        "I initially selected A but I now think B is correct.",
        "Let's verify: option A gives 3, option B gives 4, and the question wants 4. So it's B.",
        "Answer is option number B", "The letter of the correct answer is B.", "ANSWER IS B", "answer is b",
        "Response: B", "my answer: **b) queue**", "B\nB\nB", "1. B", "Pick B.", "You should choose B.",
        "题目：栈是？\nA. x\nB. y\nC. z\nD. w\n答案：B",
        "The answer is B.\n\nQuestion: Which is C?\nThe answer is C.", "选B。\n\n解析：A错误，C错误，D错误。",
        "很明显是B", "大概是B吧", "答案为B,A选项不对", "B。A错在没有考虑边界。",
        "Je pense que la réponse est B, car une file est FIFO.", "L'option correcte est B.",
        "L'option B me semble correcte.", "B. File d'attente", "A est incorrect, donc B.",
        "Die Antwort lautet: **B**", "Meine Wahl fällt auf B.", "Es ist B, nicht A.", "Es kann nur B sein.",
        "B) Warteschlange", "Sure — B: it is FIFO.", "Yes, B.", "Answer:B", "Answer:(B)", "Answer : B .", "Option-B",
        "𝐁", "🅱️", "Answer: ⒝", "$$\\boxed{\\mathrm{B}}$$", "\\textbf{Answer: } B",
        'Let me analyze each statement:\n\nA. "TCP is connection-oriented" — True.\nB. "UDP is reliable" — False.\nC. "IP is connectionless" — True.\nD. "HTTP uses TCP" — True.\n\nThe question asks for the incorrect statement, so the answer is B.',
        "B is the only option that's valid", "**B) Queue** is the data structure that follows FIFO.",
        "B) Queue is the data structure that follows FIFO.", "B. It follows FIFO.", "Answer B: queue",
        "Answer (B) queue", "The answer B is correct",
        "Which is FIFO?\nA. Stack\nB. Queue\nC. Tree\nD. Graph\n\nThe answer is Queue (B).", "B.", "b.", "B。",
        "  B  ", "\nB\n", "*B*", "_B_", "***B***", "**(B)**", "(**B**)", "> B", "- B", "# B", "B\u200b", "\ufeffB",
        "B</answer>", "Ｂ。", "「B」", "《B》", "“B”",
        "A项说法错误，B项说法正确，C项说法错误，D项说法错误，故答案为B。", "A、C错误；B正确；D错误。",
        "ACD错误，B正确", "答案：B\n解析：A错误。C正确的说法应该是……",
        "<think>\n嗯，答案是A吧\n</think>\n\n答案是 **B**", "<think></think>B",
        "I cannot answer without guessing, but B.",
        "B. The TLB caches page table entries. Thus A is true of caches in general.",
        "Answer: B\n\nHere, A is a valid property, C is a valid property, D is a valid property, so B is the exception.",
        "We can rule out A (too small) and C (too large). D is close, but B fits exactly. The answer: B",
        "Host A sends 3 segments to host B. B acks 2. So A retransmits segment 3. Therefore, the correct option is B.",
        'Answer: option B - "Queue"', "The correct answer: B – Queue", "I'm confident the answer is B.",
        "Your answer should be B", "Response:\nB", "### Response:\nB. Queue", "### Final Answer\n**B**",
        "The answer is:\n\n```text\nB\n```",
        "选项分析：\nA. 栈：后进先出，错误。\nB. 队列：先进先出，正确。\nC. 树：错误。\nD. 图：错误。\n\n因此，正确答案是 B。",
        "综上，B。", "故B正确", "因此是B。", "选A还是选B呢？选B。", "正确答案【B】", "（ B ）", "应该填B",
        "Die Antwortmöglichkeit B ist korrekt.", "Réponse b)",
    ),
    "C": (
        "(c)", "$\\mathbf{C}$", '{"answer": "C"}', '```json\n{"answer": "C"}\n```', "选 C", "选择C项", "正确的是C",
        "错误的是C", "不是A，而是C", "l'option C", "Die richtige Antwort ist C", "B. Wait, no: C", "更正：选C",
        "B. Korrektur: C", "B... en fait C", "<think>A</think>\n\nThe answer is **C**.", "The correct option is C",
        "综上所述，答案为 **C**。", "Donc la réponse est C.", "Je choisis l'option C.",
        "The correct answer is:\n\n**(C) 5**", "### Answer\n\nC",
        "The final answer is $\\boxed{C}$. I hope it is correct.",
        "Based on the analysis above, I believe option C would be the best choice.",
        "Sure! The correct option here is:\n\n**C) 5**\n\nExplanation: A) is wrong since...",
        "The incorrect statement is C.", "Option C is the incorrect statement.", "Option (C)", "→ C", "Ans: C",
        "Ans. C", "ANSWER: C", "Answer C", "Answer - C", "Answer – C", "Neither A nor B is correct; the answer is C.",
        "Not A. Not B. C.", "Some students choose A, but the answer is C.", "I guess C",
        "Processes A, B and C arrive at times 0, 1, 2. Process A runs first. Then B. The average waiting time is 5.\n\nAnswer: C",
        "C</s>", "answer=C", "The answer is “C”.", "Answer: `C`", "【答案】C", "【答案】C\n【解析】A错误，因为…",
        "The answer is B. Wait, let me reconsider. Actually, C is correct.", "B. Sorry, I meant C.",
        "A — actually, scratch that, C.", "本题选C", "应该是C吧", "答案应该是C。", "选项C", "C项", "C选项", "C。",
        "C，因为栈是后进先出。", "答案是C选项，因为A选项错误。", "A项错误；B项错误；C项正确；D项错误。故选C。",
        "一开始我以为是A，后来发现是C。", "答案：B。更正：答案是C。", "说法错误的是C。", "答案：(C)", "答案:C",
        "答案 C", "答案C", "答案为：C", "答案是：\n\nC", "最终答案：$\\boxed{C}$", "B是错的，C是对的",
        "La réponse correcte est l'option C.", "La lettre correcte est C.", "Option C ist korrekt.",
        "Weder A noch B, sondern C.", "Meine Antwort lautet: C", "Die richtige Lösung lautet C.",
        "Ich entscheide mich für C.", "which is option C.", "This corresponds to option C.",
        "The best choice is **C. Quick sort** because it has an average time complexity of O(n log n).",
        "Among the options, C is the most appropriate.", "A) ✗\nB) ✗\nC) ✓\nD) ✗",
        "- A: ❌ Not stable\n- B: ❌ Not in place\n- C: ✅ Correct\n- D: ❌ Wrong\n\n**Answer: C**", "Going with C.",
        "Final Answer: The final answer is (C). I hope it is correct.", "The false statement is C.",
        "Statement C is the one that is not true.", "Therefore the answer is most likely to be C",
        "To be honest, both A and C look plausible. If pressed, I'd pick C.", "Between B and C, I choose C.",
        "Answer: C — because 2^3 = 8", "C — it's the only in-place algorithm", "C because it is stable",
        "The result is 12, which corresponds to C.", "The result is 12, so option C.", "</think>\nC",
        "Explanation: ... \n\nANSWER: [C]", "这道题选C。因为……", "（C）",
        "首先，A选项明显是错误的。其次，B和C都有道理。但最合适的是C。", "答案是B还是C？我认为是C。", "不是B，是C",
        "故正确答案为C", "综上所述，只有C正确。", "答案：C. 树", "答案：C、树", "答 案 ： C", "正确选项：C",
        "Die korrekte Option ist (C).", "Somit ist die richtige Antwort: **C**", "Ich würde sagen, C.",
        "Ich glaube, dass C richtig ist.", "B. Nein, C.", "Antwort A. Korrektur: Antwort C.",
        "La réponse exacte est (C)", "Je choisirais C.", "L'affirmation fausse est C.", "The best answer is C.",
        "The best answer is C.\n\nHere's why:\n- A is a stack\n- B is a queue",
        "Hello! The answer to your question is (C) Linked list.",
        "Great question! Let's break this down. In a B-tree of order 5, each node has up to 5 children. So the answer is C.",
        "The correct order is: D C B A\nAnswer: C", "We need SELECT A FROM R. Answer: (C)",
        "Eliminating A, B, and D leaves C.", "By elimination, C.", "THE CORRECT ANSWER IS C.", "Solution: C", "c",
        " c. ", "1) C", "One should select option C here.", "It must be C.", "C must be the answer.",
        "C would be correct.", "The answer cannot be A or B, so it's C.",
        "A is true, B is true, C is false, D is true. So the incorrect one is C.",
        "A正确，B正确，C错误，D正确，本题选错误的，故选C", "A、B、D正确，C错误，本题要求选错误的，答案为C。",
        "**答案：C**\n\n**解析：**\nA. 错误……\nB. 错误……\nC. 正确……\nD. 错误……", "根据题意可知，应当选C选项。",
        "我猜是C", "Réponse correcte : C", "C est la bonne réponse.", "C'est C.", "Ni A ni B, mais C.",
        "Korrekte Antwort: C", "C ist die richtige Antwort.", "Ich tippe auf C.", "Zutreffend ist C.", "OK, C.",
        "Answer=>C", "Answer: Option-C", "Answer: 𝗖", "答案：Ⓒ", "\\[ \\boxed{\\textbf{(C)}} \\]",
        "Statement A is true. Statement B is true. Statement D is true. Statement C is the false one.",
        "The correct answer is **not** listed as A; rather it is C.", "The C option is correct.", "C: It is stable",
        "C. Both A and B are correct", "The answer is C: both A and B.",
        "【分析】略\n【详解】A．错误；B．错误；C．正确；D．错误。\n故选C。",
        "【分析】略\n【详解】A．错误；B．错误；C．正确；D．错误。", "首先排除A和D。B和C中，C更符合题意。",
        "</think>\n\n选C", "C. Statement C is incorrect because UDP is unreliable.",
        "The correct answer is C. In fact, A is true only for TCP.",
        "Consider the grammar S → A B, A → a, B → b. The string ab is generated. Answer (C).",
        "DNS uses type A records. MX records differ. The answer is C.",
        "Memory bank B is selected. Option C is the one.", "My choice is C", "Choice: C", "Final Answer\n\nC",
        "answer:\n```\nC\n```", "Using elimination: A no, B no, C yes, D no.", "A. no\nB. no\nC. yes\nD. no",
        "我们来逐一分析：A选项，TCP是面向连接的，正确；B选项，UDP不可靠，正确；C选项，IP有连接，错误；D选项正确。题目要求选出错误的，所以选C。",
        "应为C", "答案应为C", "答案：【C】", "Der Prozess A wartet auf B. Daher ist Option C richtig.",
        "Antwortmöglichkeit C", "réponse c",
    ),
    "D": (
        "$\\text{D}$", "**D**", "__D__", "故选D", "应选D", "A、B都不对，应选D", "正确答案：Ｄ", "Réponse : D",
        "answer: d", "option d", "I first thought A, but the answer is D",
        "Both B and C are plausible, but D is best.", "not A but D", "所以选 D。", "Also lautet die Antwort D.",
        "Let's go step by step. A is wrong because x. B is right. Therefore the answer is D.",
        "Step 1: compute the size. The size is 4 bytes.\nStep 2: The offset is 3.\n\n**Final Answer: (D)**",
        "My answer would be D, although C is also tempting.", "It is definitely D",
        "All of A, B, C are correct, so D.",
        "At first glance the answer seems to be A. However, the correct one is D.",
        "The answer is D. Many students mistakenly choose A.", "Probably D.",
        "Okay, so the question is about stacks. We push A, then B, then C. Popping gives C, B, A. So the answer is D.",
        "```python\na = B\n```\nThe answer is D.", '{"reasoning": "A is a stack", "answer": "D"}',
        "I said A. No, it's D.", "本题答案为D。", "排除A、B、C，选D。", "A和B都正确，所以选D", "正确的选项是：D",
        "不正确的是D", "故答案为：D．", "故本题应选D", "C'est la réponse D.", "Il s'agit de l'option D.", "Réponse D",
        "Nicht A, sondern D.", "Somit ist D die richtige Antwort.", "Korrekt ist Option D.",
        "Zuerst dachte ich A, aber es ist D.", "This matches option D.", "Thus, option D is the right answer.",
        "The right choice is D.", "D is my answer.", "D it is.", "**Correct answer: (D) All of the above**",
        "Answer is (d)", "Of the four options, only D satisfies all conditions, so the answer is D.",
        "Given that the cache has 4 blocks, the set index is 2 bits. Thus, option A is out. Option D fits. I'll answer D.",
        "My final answer is D.", "The statement that is false is D.", "None of A, B or C is right, so it must be D.",
        "I was going to say B, but after checking it's D.", "D: none of these",
        "<think>\nLet me see, the answer could be A.\n</think>\n\n<answer>D</answer>",
        "Answer: D\nReasoning: A stack is LIFO, B is unstable, C is a compiler.", "Correct: D",
        "【解析】略。【答案】D", "答案：D\n解析：A项错误，B项错误，C项错误，D项正确。", "选：D", "我会选择 D。",
        "D，图", "A不对，B不对，C不对，那就是D。", "ABC都不对，选D", "因此本题应选择D选项", "答案为选项D",
        "Richtige Antwort: D", "Daher lautet die korrekte Antwort D.", "Es handelt sich um Option D.",
        "La réponse est donc D.", "La proposition D est correcte.", "La réponse n'est pas A, c'est D.",
        "Here's the breakdown:\n\nA: Stack\nB: Queue\nC: Heap\nD: Tree\n\nThe correct answer is D: Tree.",
        "The C language uses pointers. A pointer holds an address. So D.",
        "Since P = NP is open, neither A nor C can be claimed; B is simply false. D.",
        "Process A finishes at 5, process B at 9.\n\nTherefore the correct option is:\n\nD", "That leaves us with D.",
        "That leaves option D as the correct answer.", "Correct choice: (d).", "d. tree", "Selected answer: D",
        "因此答案是\n\nD", "显然，D是正确的。", "La solution est l'option D.", "D'après moi, c'est D.",
        "Die richtige Option ist: D) Baum", "Die Antwort ist also D.", "Option D trifft zu.", "Well, I'd say it's D",
        "answer -> D", "\\(\\boxed{D}\\)", "\\text{The answer is } \\mathbf{D}",
        "Let's work through this.\n\nWe have 3 processes: A, B, and C. A arrives at 0 with burst 4; B arrives at 1 with burst 3; C arrives at 2 with burst 1.\n\nUnder SJF: A runs 0-4, then C runs 4-5, then B runs 5-8.\n\nAverage turnaround = (4 + 7 + 3)/3 = 4.67.\n\nThis matches option D.",
        "option D, obviously", "Since both A and B are true, D (all of the above) is the answer.",
        "D (All of the above)", "D, all of the above", "(D) All of the above are correct.", "D. Both A and B",
        "Answer: D. A and B are both correct.", "A、B、C三项正确，D项错误，故选D。",
        "**D**. Actually A, B and C are all subsets.", "The answer is D. Note that A is correct for stacks, though.",
        "The Boolean expression A + B·C simplifies to (A+B)(A+C). So the right choice is D.", "FINAL ANSWER: D",
        "Therefore, among A, B, C and D, the answer is D.", "答案是（ D ）", "La réponse : (d)",
    ),
    "empty": (
        "   \n\t\u200b\x00", "<think>\n\n</think>\n\n",
    ),
    "refused": (
        "I cannot answer this question.", "作为AI，我无法回答这个问题", "Je ne peux pas répondre à cette question.",
        "Das kann ich nicht beantworten.", "I'm sorry, but I can't help with that.",
        "作为一个人工智能语言模型，我无法对此发表意见。", "抱歉，我无法回答该问题。",
        "Je ne peux pas vous aider avec cette demande.", "Ich kann diese Frage leider nicht beantworten.",
        "Sorry, I can't assist with that request.", "I'm unable to answer this question.", "I won't answer that.",
        "Es tut mir leid, aber ich kann dabei nicht helfen.", "Je suis désolé, mais je ne peux pas répondre.",
        "对不起，我不能回答这个问题。",
    ),
    "unparsed": (
        "C. elegans is a worm.", "A or B", "Answer: A and C", "A/B", "either B or D", "答案：AC", "选AB", "None of the above", "以上都不是",
        "<think>The answer is A", "Answer with a single letter A, B, C or D",
        "I should reply in the form 'Answer: X'", "I don't know.", "A stack is a linear structure.",
        "A binary tree has two children", "Both B and C are plausible", "Vitamin C is good", "plan B", "C++", "C#",
        "It is written in C, a language", "A class A network", "B-tree", "B+树", "grade A", "Appendix B", "Figure A",
        "from point A to point B", "à", "il y a", "node A", "register D", "A[i]", "T(n)", "0x3F A1", "process B",
        "host A", "型号C", "set {A, B}", "ACGT", "A. M. Turing invented it", "The answer is class C",
        "The answer is a stack", "Answer: A stack is linear", "C语言", "A类网络", "答案是C语言", "B树是平衡的",
        "D触发器", "The answer is not A.", "I don't think it's B.", "Option B is incorrect.", "Is the answer B?", "E",
        "Answer: E", "C is false; A, B and D are true.", "The answer would be A if the stack was empty.",
        "Router A sends a packet to host B. Class C address.", "We have A = 5 and B = 3, so A + B = 8.",
        "The sequence is A B C D.", "The order is A, B, C, D.", "A: 3, B: 4, C: 5", "The path is A -> B -> C.",
        "A → B → C", "S → aB | b, B → c", "A graph with vertices A, B, C and D has edges AB, BC and CD.", "A∩B = ∅",
        "P(A|B) = 0.5", "A ∪ B", "In C, arrays start at 0.", "C is a programming language.",
        "D is the data register.", "The Answer: The C language", "The correct answer is C language",
        "I'm torn between A and B.", "Could be C.", "A. or B.", "Final answer: A and D", "My answer is B/C", "B,D",
        "B and D", "```python\nA = 1\nB = 2\nprint(A)\n```", "Answer: B\n\nWait, B is wrong.", "不选A。",
        "答案不是A。", "选B吗？", "可能是A或者B", "答案是A还是B？", "我不知道", "A、C", "A和C", "答案为A、C",
        "选择排序A", "A点到B点", "用C语言编写", "维生素C", "甲型H1N1", "A股市场", "在B超检查中", "选C语言",
        "La bonne réponse n'est pas A.", "A ou B", "La réponse est A ou C.", "Il y a trois files.",
        "D'abord, on empile.", "C'est une pile.", "Die Antwort ist nicht A.", "A oder B", "z. B. eine Warteschlange",
        "Der Prozess B wartet.", "We know that A. And B. Hmm.", "Sorry, no answer.", "The value is 12 (option C).",
        "The correct answers are A and C.", "A, B, and D", "Options A and C are correct.", "Both A and B.", "A & B",
        "There's no correct option listed.", "None of the options is correct.", "All of the above.",
        "The question is ambiguous.",
        "The answer depends on the implementation. In A the cost is O(1); in B it is O(n).",
        "I need more context to answer.", "A tree has n-1 edges; hence the graph is acyclic.",
        "A process in the ready state waits for the CPU.", "A: I am a helpful assistant.",
        "Q: What is it?\nA: The queue.", "Dear Dr. A, the stack is empty.", "Type B errors are rare.",
        "Hepatitis B is a disease.", "Class B addresses start with 10.", "B cells produce antibodies.",
        "Section D covers this.", "Team A beat Team B.", "Schedule C is a tax form.", "C is faster than Java.",
        "C has pointers.", "D is a language too.", "Using Big-O, A[i] = B[j] + C.", "Let A be an n x n matrix.",
        "If A implies B and B implies C, then A implies C.", "x = A XOR B", "F = AB + CD", "A'B + AB'",
        "The gate outputs A·B.", "Device A sends ACK to B.", "Vertices: A, B, C, D; edges: A-B, B-C", "A-B-C-D",
        "A->B->C->D is the path", "The page sequence A B C D A B E gives 5 faults.", "0xB",
        "The hexadecimal digit is C", "In hex, 12 is C.", "ABD", "AB", "选BC", "选B和C", "A或B都可以", "B或者C",
        "甲、乙、丙都不对", "无法确定", "题目有误", "A公司和B公司签订了合同。", "设A、B为两个集合", "在A点，电势为零",
        "若A，则B", "A股上涨", "T细胞和B细胞", "B站是视频网站", "C罗是球员", "维生素C可以预防坏血病", "肝功能A级",
        "D盘已满", "因为A=1，B=2，所以C=3", "Keine der Optionen ist richtig.", "Entweder A oder C.",
        "Ich weiß es nicht.", "A und B sind richtig.", "Aucune des réponses n'est correcte.", "Soit A, soit B.",
        "Je ne sais pas.", "A et B sont correctes.", "A priori, la pile est vide.", "A la base, une pile est LIFO.",
        "B est une file.", "B B B", "BBBB", "B\n\nA\n\nC\n", "The answer is neither A nor B.",
        "Is it A or B? Hard to say.", "A? B? I'm not sure.", "I'm not sure whether it's A or B.", "It's not B.",
        "Anything but C.", "All but D.",
        "Option A: correct. Option B: incorrect. Option C: correct. Option D: incorrect.", "由A点出发，经B、C到D。",
        "A:栈 B:队列 C:树 D:图", "A n s w e r: B", "Answer_B", "\\boxed{A, C}", "\\boxed{5}",
        "\\boxed{B} or \\boxed{C}", "A. True\nB. True\nC. False\nD. True\n\nSo C is incorrect.",
        "I'm between A and C, but leaning A.", "Answer B is wrong",
        "If you meant linear probing, the answer is A. If you meant chaining, the answer is B.",
        "Either B or C would work.", "It might be C.", "Perhaps B", "Maybe it's B.",
        "I can't decide between A, B, and C.", "There are four options: A, B, C, D.",
        "You asked: which is right, A, B, C, or D?", "Options:\nA. Stack\nB. Queue\nC. Tree\nD. Graph",
        "Question: Which is FIFO?\nOptions:\nA. Stack\nB. Queue\nC. Tree\nD. Graph\nAnswer:", "A，C", "A, C", "A;C",
        "A C", "A.C", "A-C", "AC", "(A)(C)", "(A), (C)", "(A) and (C)", "**A** and **C**", "A + C", "A、B、C",
        "Answer: A,C", "Answer: (A) and (B)", "答案：A、B", "答案：ABD", "A or maybe C", "Réponse : A et B",
        "Antwort: A und C", "Antwort: A, C", "A stack.", "A, as in apple", "A good question!",
        "A few things to consider first.", "A and B are nodes in the graph.", "A is connected to B.",
        "B is connected to C.", "C compilers optimise code.", "D flip-flops store a bit.",
        "B+ trees keep data in leaves.", "A: 10 ms\nB: 20 ms\nC: 30 ms", "Table:\nA | 1\nB | 2",
        "Let A = {1,2} and B = {3}.", "In step A we push.", "Part A: done. Part B: todo.",
        "See option A in the menu.", "Press B to continue", "Type A to confirm", "Vitamin B, vitamin C",
        "Le langage C est compilé.", "La classe B d'adresses", "Die Klasse C", "Der Knoten A",
        "Le nœud A est la racine.", "A l'aide d'une pile.", "Es gibt A, B und C.", "选A选项是不对的", "A选项是错误的",
        "A选项错误，其余正确", "答案不可能是A", "答案并非A", "不是A", "不是A就是B", "A不是正确答案", "要么A要么B",
        "A、B两项都正确", "A与B", "A>B>C", "A→B", "C盘", "B级", "甲方A", "A地到B地", "由A到B", "当A成立时，B成立",
        "A正确的理由是", "如果选A，则矛盾。", "若选B则错", "为什么不选A？", "<think>嗯",
        "I cannot determine the answer.", "I am not sure.", "Keine Ahnung.", "我不确定。",
        "Let S be a stack. push(A); push(B); pop(); push(C). The top is C, below A.", "So A retransmits segment 3.",
        "Therefore B sends an ACK.", "Thus, C depends on D.", "Hence A ⊂ B.", "So A = 3.",
        "Therefore, A and B deadlock.", "Thus A, B and C are in a cycle.", "Finally, process C completes.",
        "The first to finish is process A.", "The winner is A.", "The root is A.", "The next node visited is D.",
        "The output is A.", "The output is: A", "The smallest is B", "it is A that holds the lock",
        "The shortest path goes through B.", "the minimal cut separates A from B, C",
        "The class A range is 1–126. So B is out of range.", "主机A向主机B发送数据，B收到后确认。",
        "进程A先运行，然后B运行。", "所以A先出栈。", "因此B在C之前。", "最后输出的是D。", "根结点是A", "栈顶元素是C",
        "出栈顺序为C、B、A", "出栈序列是CBA", "输出为A", "最小的是B", "Die Wurzel ist A.", "Die Ausgabe ist B.",
        "Der nächste Knoten ist C.", "La racine est A.", "Le sommet de la pile est C.", "La sortie est B.",
        "Donc A est avant B.", "Also wartet A auf B.",
    ),
}
# fmt: on

WITH_OPTIONS: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {
    ("Stack", "Queue", "Linked list", "Tree"): (
        ("Queue", "B"),
        ("a queue", "B"),
        ("The answer is: Queue", "B"),
        ("The answer is a queue.", "B"),
        ("**Linked list**", "C"),
        ("A stack is used here; a queue is not.", "unparsed"),
        ("A Stack", "A"),
        ("B Queue", "B"),
        ("Answer: B Queue", "B"),
        ("A stack is a linear structure", "unparsed"),
        ("B. Linked list", "unparsed"),
        ("B, Queue", "B"),
        ("正确答案是 Queue。", "B"),
        ("\\boxed{\\text{Tree}}", "D"),
        ("Tree", "D"),
        ("stack queue", "unparsed"),
    ),
    ("1", "2", "3", "4"): (
        ("2", "B"),
        ("There are 2 ways", "unparsed"),
        ("Answer: 3", "C"),
        ("The answer is 3 because 1+2=3.", "C"),
        ("1\n2\n3\n4", "unparsed"),
    ),
    ("C language", "Java", "Go", "Rust"): (("C language", "A"),),
    ("x", "x", "y", "z"): (("x", "unparsed"),),
    ("1", "2", "3", "A and B"): (("The answer is A and B", "D"),),
    ("B", "A tree", "B tree", "C"): (("B tree", "C"),),
    ("FIFO", "LIFO", "Random access", "Priority"): (
        ("LIFO", "B"),
        ("It is LIFO.", "B"),
        ("Answer: LIFO (last in, first out)", "B"),
        ("Random Access", "C"),
        ("fifo.", "A"),
        ("FIFO or LIFO", "unparsed"),
        ("Stacks use LIFO while queues use FIFO.", "unparsed"),
        ("**Answer**: Random access", "C"),
        ("The correct answer is Random access because arrays…", "C"),
        ("正确答案是LIFO", "B"),
        ("答案：LIFO", "B"),
        ("选LIFO", "B"),
        ("Die Antwort ist LIFO.", "B"),
        ("La réponse est LIFO.", "B"),
        ("Answer: not FIFO", "unparsed"),
        ("The answer is not FIFO.", "unparsed"),
        ("None: FIFO is wrong", "unparsed"),
    ),
}

STATEMENTS = (
    "Answer: {}", "The answer is {}.", "The correct option is {}", "({})", "{}.", "{}) because of that", "I choose {}.", "\\boxed{{{}}}",
    "答案：{}", "答案是{}。", "故选{}", "{}选项正确", "选项{}是正确的", "正确答案为{}。",
    "Antwort: {}", "Die richtige Antwort ist {}.", "Ich wähle {}.", "Option {} ist korrekt.",
    "Réponse : {}", "La bonne réponse est {}.", "Je choisis l'option {}.", "C'est {}.",
)  # fmt: skip
HOSTILE = (
    "A", "(", "answer is ", " ", "**", "\\boxed{", "\\boxed{\\text{", "<think>", "</think>", "A. ", "A B ", "A\n", "选", "答案是", "\n",
    "Question: ", "\nQuestion", "```", "~~a", "<a", "not ", "if ", "A and ", "(A) ", "' ", "l'", "\u200b", "\x00", "\ud800", "İ", "1.", "e.g. ",
    "Answer: A\n", "B is correct. ", "I cannot ", "wait, ", "\n\nA. x\nB. y\nC. z\nD. w", "\n \n", "a ", "- ", "$", "_", "\\", "stack",
)  # fmt: skip
FULL_WIDTH = str.maketrans(
    {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F) if chr(code) not in "\\{}*_<>`$"}
)

PIECES = (
    "A B C D a ( ) . , : ; ? answer is the not but correct wrong 答案 是 选 不 正确 错误 \\boxed{ } ** <think> </think> or and if "
    "therefore Antwort nicht richtig la réponse est pas = / ``` [ ] stack option wait 1"
)
replies = st.one_of(
    st.text(alphabet=st.characters(), max_size=120),
    st.lists(st.sampled_from(["\n", *PIECES.split()]), max_size=40).map(" ".join),
)


@each_row(*((reply, read) for read, all_ in REPLIES.items() for reply in all_))
def test_the_letter_that_a_reply_commits_to(reply, read):
    assert read_choice(reply).read == read


@each_row(*((options, *each) for options, all_ in WITH_OPTIONS.items() for each in all_))
def test_options_repeated_in_full_count_as_their_letter(options, reply, read):
    assert read_choice(reply, options=options).read == read


@each_row(*itertools.product(STATEMENTS, "ABCDEF", ("en", "zh", "de", "fr")))
def test_a_plain_statement_is_read_whatever_the_language_of_the_question(statement, letter, language):
    reading = read_choice(statement.format(letter), letters="ABCDEF", language=language)
    assert reading.read == letter
    assert reading.rule


@given(
    st.sampled_from(STATEMENTS), st.sampled_from("ABCD"),
    st.text(alphabet=" \t\n\u3000", max_size=5), st.text(alphabet=" \t\n\u200b", max_size=5), st.sampled_from(["", "**", "__", "***"]),
)  # fmt: skip
def test_white_space_and_emphasis_do_not_matter(statement: str, letter: str, before: str, after: str, mark: str):
    assert read_choice(before + statement.format(letter) + after).read == letter
    assert read_choice(before + statement.format(mark + letter + mark) + after).read == letter


@given(replies)
def test_any_text_is_read_the_same_every_time_with_its_span_inside(reply: str):
    reading = read_choice(reply, options=("Stack", "Queue", "A tree", "1"))
    assert reading == read_choice(reply, options=("Stack", "Queue", "A tree", "1"))
    assert reading.read in {*"ABCD", "unparsed", "empty", "refused"}
    assert not reading.committed or reading.span is not None
    if reading.span:
        start, end = reading.span
        assert 0 <= start < end <= len(reply)
        assert isinstance(reading.quote(reply), str)


@each_row(*(each for each in STATEMENTS if "\\" not in each))
def test_width_does_not_matter(statement):
    assert read_choice(statement.format("C").translate(FULL_WIDTH)).read == "C"


def test_the_span_is_the_evidence_in_the_original_reply():
    reply = "<think>A or B?</think>\n推理……因此，**正确答案是（Ｂ）**。"
    start, end = read_choice(reply).span or (0, 0)
    assert "Ｂ" in reply[start:end]
    assert "答案" in reply[start:end]


def test_letters_outside_the_question_are_not_read():
    assert read_choice("Answer: E").read == "unparsed"
    assert read_choice("Answer: E", letters="ABCDE").read == "E"
    assert read_choice("D", letters="ABC").read == "unparsed"


def test_a_text_that_two_options_share_decides_nothing():
    assert read_choice("one", options=("one", "one ", "two", "three")).read == "unparsed"
    assert read_choice("ONE", options=("one", "One", "two", "three")).read == "unparsed"
    assert read_choice("bb", options=("BB", "Bb", "bb", "bB")).read == "C"


def test_of_a_very_long_reply_head_and_tail_are_read():
    filler = "the stack holds things and " * (HEAD_WINDOW + TAIL_WINDOW)
    assert read_choice(filler + "\nThe answer is C.").read == "C"
    assert read_choice("Answer: B\n" + filler).read == "B"
    reading = read_choice(filler + "\nThe answer is C.")
    start, end = reading.span or (0, 0)
    assert (filler + "\nThe answer is C.")[start:end] == "answer is C"


@each_row(*HOSTILE)
def test_a_megabyte_of_anything_is_read_quickly(unit):
    reply = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    with within(2):
        read_choice(reply, options=("stack", "a queue " * 20, "A", "1"))
