# ruff: noqa: E501 (a reply is one line, however long)
"""Replies as models write them, reasoning and all, labelled before they were read; and the early exits of short ones."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.scorers import choice
from viva.scorers.choice import read_choice
from viva.scorers.short import is_lone_letter, with_own_text
from viva.scorers.truth import read_truth

# fmt: off
CHOICES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("en", "unparsed", "The address 10.1.2.3 starts with 10, so it belongs to class A. Class B networks begin at 128. The question, however, asks which range is reserved for multicast, and that is 224 to 239. Only C lists this range.", ()),
    ("en", "B", "A B-tree of order 4 has at most 3 keys per node. Splitting node A pushes the median up to the root, and node D is left with one key. Counting the levels gives 3, so I would mark option B.", ()),
    ("en", "D", "Process A holds R1 and waits for R2, process B holds R2 and waits for R3, and process C holds R3 and waits for R1. This is a cycle. Breaking it requires preemption, which is what choice D describes.", ()),
    ("en", "A", "Let us push A, B, C and D in that order. Pop gives D, then C. Push E. The remaining content from the bottom is A, B, E. Comparing with the choices, the first one matches: (A).", ()),
    ("en", "C", "In the C language an array decays to a pointer. sizeof inside the function is therefore 8, not 40. Options A and D ignore the decay; B assumes 32-bit pointers. What remains is C.", ()),
    ("en", "B", "Step 1: load register A with 5.\nStep 2: load register B with 3.\nStep 3: A - B sets the zero flag to 0.\n\nOption A says Z=1, which contradicts step 3. Option C and D mention carry, which is irrelevant here. So we are left with option B.", ()),
    ("en", "D", "I was first drawn to B because it mentions caching, but B confuses write-back and write-through. A is about TLBs and C about DMA. D, on the other hand, describes exactly the situation, so D is what I'd go with.", ()),
    ("en", "A", "- Option A (FIFO): correct, the oldest page is replaced.\n- Option B (LRU): incorrect, it uses recency.\n- Option C (OPT): incorrect, it needs the future.\n- Option D (Clock): incorrect, it approximates LRU.", ("FIFO", "LRU", "OPT", "Clock",)),
    ("en", "C", "| Option | Correct? | Why |\n|---|---|---|\n| A | No | needs sorting |\n| B | No | quadratic |\n| C | Yes | linear |\n| D | No | exponential |", ()),
    ("en", "B", "Sorry, I misread the question. I meant B, not D.", ()),
    ("en", "D", "The answer is A. Hmm, let me double-check: the mask /27 leaves 5 host bits, so 30 hosts. That is D, not A.", ()),
    ("en", "A", "It's C... no, sorry, A.", ()),
    ("en", "unparsed", "Computer A sends a frame to computer B through switch C. Since the switch has no entry for B, it floods the frame to all ports except the one to A.", ()),
    ("en", "unparsed", "The stack order is A, C, B, D from bottom to top. Thus D is popped first and A last.", ()),
    ("en", "unparsed", "A. Turing showed in 1936 that the halting problem is undecidable.", ()),
    ("en", "unparsed", "C. Shannon introduced the bit as a unit of information.", ()),
    ("en", "unparsed", "E. Dijkstra and C. Hoare both worked on structured programming.", ()),
    ("en", "unparsed", "Both A and D satisfy the requirement, so the question seems to have two correct answers.", ()),
    ("en", "unparsed", "I would need to see the code listing before choosing between B and C.", ()),
    ("en", "B", "Answer: B. A. Turing proposed the test in 1950.", ()),
    ("en", "B", "The answer is the process (B).", ()),
    ("en", "C", "Your best bet here is C.", ()),
    ("en", "D", "With certainty: D", ()),
    ("en", "A", "My final pick would be A.", ()),
    ("en", "C", "Of these, C is the one I'd put my money on.", ()),
    ("en", "B", "> **B**", ()),
    ("en", "C", "Everything points to C.", ()),
    ("en", "D", "There is little doubt that D is what the question is after.", ()),
    ("en", "A", "The right one here? A, without a doubt.", ()),
    ("en", "refused", "I'd rather not pick an option for this question because it promotes harmful stereotypes.", ()),
    ("en", "refused", "I am not able to take part in ranking nations by intelligence, so I will not select an answer.", ()),
    ("en", "unparsed", "Neither of the given options seems to fit; I can't tell.", ()),
    ("en", "C", "A is too slow and B leaks memory. D would work only on Linux. C has none of these problems and is therefore correct.", ()),
    ("en", "B", "Statements A, C and D hold for every hash table. B does not hold when the load factor exceeds 1 under open addressing, so B is the incorrect statement we are looking for.", ()),
    ("en", "D", "First, A: the kernel runs in privileged mode, true. Next, B: user code cannot execute privileged instructions, true as well. C: interrupts switch to kernel mode, also true. All three statements are correct, which makes D (all of the above) the answer.", ()),
    ("en", "C", "The path A-B-D costs 7 and A-C-D costs 5. Dijkstra relaxes C before B. Hence the shortest distance to D is 5, as stated in option C.", ()),
    ("en", "A", "Using the table: f(A,B) = AB + A'B' is XNOR. That's listed under A.", ()),
    ("zh", "C", "主机A与主机B建立TCP连接，A发送的序号为100，B返回确认号101。随后A发送的数据段序号应为101，长度200，因此B的确认号为301。对照选项，C符合。", ()),
    ("zh", "B", "进栈顺序为A、B、C、D，若D最先出栈，则其余只能按C、B、A出栈。因此序列唯一，对应选项B。", ()),
    ("zh", "D", "首先看A，数组支持随机存取，说法没问题；再看B，链表插入不需要移动元素，也没问题；C说栈是后进先出，同样正确。D说队列是后进先出，这显然有误，本题要求选错误的一项，因此选D。", ()),
    ("zh", "A", "剩下的就只有A了。", ()),
    ("zh", "B", "可能是B吧，我不太确定。", ()),
    ("zh", "C", "与其说A更合理，不如说C更贴切。", ()),
    ("zh", "D", "我刚才说的是B，更准确地说应该是D。", ()),
    ("zh", "C", "不好意思，刚才写错了，我想说的是C。", ()),
    ("zh", "unparsed", "B、C、D三项都与虚拟内存无关，只有A提到了页表。", ()),
    ("zh", "B", "用排除法：A把段和页混淆了，C、D又都忽略了TLB，那就只剩下B。", ()),
    ("zh", "unparsed", "进程A和进程B互相等待对方占有的资源，于是形成死锁，系统必须剥夺其中一个的资源。", ()),
    ("zh", "unparsed", "链表A的长度为m，链表B的长度为n，合并后长度为m+n。", ()),
    ("zh", "unparsed", "C语言中数组下标从0开始，D语言也是如此。", ()),
    ("zh", "unparsed", "A和B都说得通，题目好像有两个答案。", ()),
    ("zh", "refused", "很抱歉，这个问题涉及敏感内容，我不方便作出选择。", ()),
    ("zh", "refused", "对不起，我不能替你选择任何一个选项。", ()),
    ("zh", "C", "寄存器A中的值为3，寄存器B中的值为5，执行ADD A,B后A为8，标志位Z=0。所以本题的正确选项应当是C。", ()),
    ("zh", "D", "B类地址的默认掩码是255.255.0.0，划分4个子网需要借2位，掩码变为255.255.192.0。这与D选项一致。", ()),
    ("zh", "A", "应选的是A项：时间复杂度为O(n log n)。", ()),
    ("zh", "B", "- A：栈，错误\n- B：队列，正确\n- C：树，错误\n- D：图，错误", ("栈", "队列", "树", "图",)),
    ("zh", "C", "因此本题答案应当在C与D之间，而D忽略了边界条件，故C为正确答案。", ()),
    ("zh", "D", "点A到点B的最短路径经过C，长度为12，正好是D选项给出的数值，所以D是对的。", ()),
    ("zh", "B", "这个题的答案我认为是B，理由：哈希表的平均查找时间为O(1)。", ()),
    ("zh", "A", "对的是A，其他三项都把进程和线程搞反了。", ()),
    ("zh", "unparsed", "这几个选项我都没有把握，请提供更多信息。", ()),
    ("de", "B", "Ein B-Baum der Ordnung 5 hat höchstens vier Schlüssel je Knoten. Wird Knoten A geteilt, wandert der mittlere Schlüssel nach oben. Die Höhe steigt damit auf drei, und genau das steht in Antwort B.", ()),
    ("de", "C", "Prozess A wartet auf Prozess B, B wartet auf C und C auf A: ein Zyklus, also eine Verklemmung. Von den vier Aussagen trifft nur C zu.", ()),
    ("de", "D", "A scheidet aus, weil ein Stapel nach LIFO arbeitet. Auch B und C passen nicht, denn beide setzen eine Sortierung voraus. Übrig bleibt D.", ()),
    ("de", "A", "Verzeihung, ich meinte natürlich A.", ()),
    ("de", "B", "Entschuldigung, das war falsch. B muss es heißen.", ()),
    ("de", "C", "Die Sprache C kennt keine Klassen, D dagegen schon. Gefragt ist nach der Sprache ohne Klassen, somit stimmt Antwort C.", ()),
    ("de", "A", "Am besten passt A.", ()),
    ("de", "D", "Hier kommt nur D infrage.", ()),
    ("de", "B", "Ich würde B ankreuzen.", ()),
    ("de", "C", "Ganz klar C!", ()),
    ("de", "unparsed", "Die Adresse 130.1.1.1 gehört zur Klasse B, während 10.0.0.1 in der Klasse A liegt.", ()),
    ("de", "unparsed", "Rechner A schickt ein Paket an Rechner B. Danach bestätigt B den Empfang.", ()),
    ("de", "unparsed", "Sowohl A als auch C sind plausibel.", ()),
    ("de", "refused", "Ich möchte zu dieser Frage keine Auswahl treffen.", ()),
    ("de", "refused", "Tut mir leid, zu solchen Themen gebe ich keine Antwort ab.", ()),
    ("de", "D", "Register D wird mit 7 geladen und anschließend um 1 erhöht. Der Inhalt ist 8, das Überlauf-Flag bleibt 0. Damit ist Antwortmöglichkeit D die einzig richtige.", ()),
    ("de", "A", "- A (Stapel): richtig, LIFO\n- B (Schlange): falsch, FIFO\n- C (Baum): falsch\n- D (Graph): falsch", ("Stapel", "Schlange", "Baum", "Graph",)),
    ("de", "unparsed", "Nicht B, wie man zunächst meinen könnte, sondern C beschreibt das Verhalten des Caches richtig.", ()),
    ("de", "B", "Der kürzeste Weg von A nach D führt über B und hat die Länge 5. Das entspricht der zweiten Möglichkeit, also Option B.", ()),
    ("fr", "unparsed", "Le processus A attend la ressource détenue par B, et B attend celle de A : c'est un interblocage. Seule la proposition C mentionne cette situation.", ()),
    ("fr", "B", "Un arbre B d'ordre 4 contient au plus trois clés par nœud. Après l'éclatement du nœud A, la hauteur passe à trois, ce qui correspond à la proposition B.", ()),
    ("fr", "D", "Les réponses A et C sont à écarter, car elles supposent un tri préalable. B ne tient pas compte du cas vide. Il ne reste donc que D.", ()),
    ("fr", "A", "Pardon, je voulais dire A.", ()),
    ("fr", "C", "C'est B. Excusez-moi, c'est plutôt C.", ()),
    ("fr", "B", "Il faut cocher la réponse B.", ()),
    ("fr", "D", "Je coche D.", ()),
    ("fr", "A", "Parmi les quatre propositions, seule A convient.", ()),
    ("fr", "C", "En langage C, le tableau est converti en pointeur. sizeof renvoie donc 8. La bonne case est la C.", ()),
    ("fr", "unparsed", "L'adresse 10.0.0.1 appartient à la classe A, alors que 192.168.0.1 appartient à la classe C.", ()),
    ("fr", "unparsed", "A. Turing a montré que le problème de l'arrêt est indécidable.", ()),
    ("fr", "unparsed", "Le point A est relié au point B par une arête de poids 3.", ()),
    ("fr", "unparsed", "On hésite entre B et D, les deux semblent justes.", ()),
    ("fr", "refused", "Je préfère ne pas choisir parmi ces options, elles sont discriminatoires.", ()),
    ("fr", "refused", "Je ne souhaite pas me prononcer sur cette question.", ()),
    ("fr", "B", "- A (pile) : faux\n- B (file) : vrai\n- C (arbre) : faux\n- D (graphe) : faux", ("pile", "file", "arbre", "graphe",)),
    ("fr", "D", "On empile A, puis B, puis C. On dépile C et B. Le sommet est alors A, ce qui est exactement l'option D.", ()),
    ("fr", "A", "La réponse qui convient est la A.", ()),
    ("fr", "C", "La bonne réponse se trouve en C.", ()),
    ("fr", "B", "L'affirmation A est vraie, la C aussi, et la D également ; la B est fausse. Comme on demande l'intrus, la réponse est B.", ()),
    ("en", "C", "La respuesta correcta es C.", ()),
    ("en", "B", "La risposta corretta è B.", ()),
    ("en", "D", "Respuesta: D", ()),
    ("en", "D", "Cache line A is evicted and replaced by line B. The next access to A misses again. Since only the fully associative design avoids this, I'd answer D here.", ()),
    ("en", "B", "Register D holds the divisor, register A the dividend. After DIV the quotient sits in A. The result 7 agrees with option B.", ()),
    ("en", "unparsed", "The sequence A, C, B, D cannot be produced because B would have to leave before C. So that rules out A and B. Between C and D, only C is reachable.", ()),
    ("en", "A", "My apologies: it should have been A.", ()),
    ("en", "C", "Answer: A\n\nWait, I made an error in step 2. The offset is 12 bits, not 10.\n\nAnswer: C", ()),
    ("en", "B", "Not A, since it ignores latency; not C, since it ignores jitter; and D is off topic. B, then.", ()),
    ("en", "D", "The only statement that holds is D.", ()),
    ("en", "B", "If I had to bet, B.", ()),
    ("en", "A", "So it has to be A then.", ()),
    ("en", "unparsed", "Let A and B be two processes. A sends a message to B and B replies to A.", ()),
    ("en", "unparsed", "Option A is about paging. Option B is about segmentation. Option C is about swapping. Option D is about caching.", ()),
    ("en", "unparsed", "Only C programmers worry about this.", ()),
    ("en", "unparsed", "I can see arguments for both A and C.", ()),
    ("en", "unparsed", "A. Church and A. Turing proved this independently.", ()),
    ("en", "C", "**Answer: C**\n\n- A: wrong, because TCP is connection-oriented\n- B: wrong\n- D: wrong", ()),
    ("en", "B", "1. A: false – needs O(n)\n2. B: true – needs O(log n)\n3. C: false\n4. D: false", ()),
    ("en", "D", "Among the given alternatives, D comes closest to the definition.", ()),
    ("en", "A", "This contradicts option C. The remaining candidates are A and D, and D fails for n = 0. So A.", ()),
    ("en", "refused", "I'm sorry, but I won't pick any of these.", ()),
    ("en", "refused", "I must decline to select an option here.", ()),
    ("en", "unparsed", "The vertex with the highest degree is C, followed by A.", ()),
    ("en", "unparsed", "It ends with D on top of the stack.", ()),
    ("en", "B", "Thus host A must retransmit, and B is the answer.", ()),
    ("zh", "C", "根据Amdahl定律计算可得加速比约为1.6，故答案选C。", ()),
    ("zh", "B", "A、D明显不对，C也不符合，那只能是B了。", ()),
    ("zh", "D", "题目问的是错误的说法。A、B、C都是对的，D错在把物理地址当成逻辑地址，因此答案为D。", ()),
    ("zh", "A", "抱歉，我算错了，正确的应该是A。", ()),
    ("zh", "C", "本题考查B树的性质。m阶B树的根结点至少有两棵子树，因此C选项的描述是准确的，选C。", ()),
    ("zh", "unparsed", "C类地址的范围是192到223，B类是128到191。", ()),
    ("zh", "unparsed", "设A、B为两个进程，A先申请资源，B后申请资源。", ()),
    ("zh", "unparsed", "这题A和C都对。", ()),
    ("zh", "B", "比较下来，B最合适。", ()),
    ("zh", "D", "我会把票投给D。", ()),
    ("zh", "refused", "对于这类涉及个人隐私的问题，我不便作答。", ()),
    ("zh", "refused", "我拒绝回答这样的问题。", ()),
    ("zh", "A", "表面上看B也有道理，但仔细分析后应选A。", ()),
    ("zh", "C", "选项A：×\n选项B：×\n选项C：√\n选项D：×", ()),
    ("zh", "B", "正确选项应是B，而不是C。", ()),
    ("de", "B", "Der Knoten A hat zwei Kinder, B und C. Die Tiefe beträgt somit zwei. Richtig ist daher Antwort B.", ()),
    ("de", "C", "A und B sind falsch, D ebenfalls. Damit bleibt nur C übrig.", ()),
    ("de", "D", "Ich korrigiere: nicht B, sondern D.", ()),
    ("de", "A", "Meines Erachtens ist A zutreffend, da die Sprache C keine Ausnahmen kennt.", ()),
    ("de", "B", "Ich lege mich auf B fest.", ()),
    ("de", "D", "Das spricht eindeutig für D.", ()),
    ("de", "C", "Antwort C dürfte richtig sein.", ()),
    ("de", "unparsed", "Punkt A liegt drei Meter von Punkt B entfernt.", ()),
    ("de", "unparsed", "Es könnte A oder D sein, ich bin mir nicht sicher.", ()),
    ("de", "unparsed", "Die Programmiersprache C wurde in den siebziger Jahren entwickelt.", ()),
    ("de", "refused", "Diese Frage möchte ich nicht beantworten.", ()),
    ("de", "A", "Option A (Stapel) ist richtig, Option B (Schlange) ist falsch.", ()),
    ("de", "unparsed", "Von den genannten Aussagen ist lediglich D korrekt.", ()),
    ("fr", "B", "La bonne réponse est donc la proposition B : la file.", ()),
    ("fr", "C", "Ni A, ni B, ni D ne conviennent. C'est donc C.", ()),
    ("fr", "D", "Après vérification, je change ma réponse : D.", ()),
    ("fr", "B", "Je pencherais pour la B.", ()),
    ("fr", "C", "Les propositions A et B sont fausses ; la proposition C est vraie ; la D est fausse.", ()),
    ("fr", "unparsed", "Le registre A contient 5 et le registre B contient 3.", ()),
    ("fr", "unparsed", "Je ne suis pas certain de la réponse.", ()),
    ("fr", "unparsed", "Les réponses A et D sont toutes deux possibles.", ()),
    ("fr", "D", "Le bon choix est le D.", ()),
    ("fr", "A", "D'après le cours, un arbre B est équilibré ; la réponse à retenir est donc A.", ()),
    ("fr", "refused", "Je ne peux malheureusement pas répondre à cette question.", ()),
)
TRUTHS = (
    ("en", "false", "It would be a mistake to call this true: UDP gives no guarantees."),
    ("en", "true", "There is nothing wrong with this statement."),
    ("en", "false", "This is simply not the case, so the statement is false."),
    ("en", "true", "The heap property holds at every node, and insertion restores it by sifting up. It costs O(log n), exactly as claimed. The statement is therefore accurate."),
    ("en", "false", "While TCP does number its bytes, UDP does not. The claim treats both alike, and that makes it incorrect."),
    ("en", "true", "✅ True"),
    ("en", "false", "❌ **False** — a stack is LIFO."),
    ("en", "false", "I have to disagree: the statement is wrong, since paging causes internal fragmentation."),
    ("en", "unparsed", "Whether this is true depends on the implementation of the allocator."),
    ("en", "unparsed", "If the flag is true, the loop ends; if it is false, it continues."),
    ("en", "refused", "I'd rather not judge this statement, as it concerns a living person."),
    ("zh", "false", "这种说法是站不住脚的，应判为错误。"),
    ("zh", "true", "经过分析，上述说法完全正确。"),
    ("zh", "false", "队列是先进先出，而题中说是后进先出，所以这句话是错的。"),
    ("zh", "unparsed", "要看具体实现，不能一概而论。"),
    ("zh", "true", "没有任何错误，正确。"),
    ("zh", "refused", "抱歉，我无法对这一说法作出判断。"),
    ("de", "false", "Diese Behauptung lässt sich nicht halten, sie ist falsch."),
    ("de", "true", "Ja, die Aussage trifft voll und ganz zu."),
    ("de", "false", "Die Aussage trifft in dieser Form nicht zu."),
    ("de", "true", "Eine Warteschlange arbeitet nach FIFO, ein Stapel nach LIFO. Genau das wird behauptet, daher: wahr."),
    ("de", "unparsed", "Das lässt sich ohne weitere Angaben nicht beurteilen."),
    ("de", "refused", "Dazu möchte ich mich nicht äußern."),
    ("fr", "false", "L'affirmation selon laquelle UDP garantit l'ordre est fausse."),
    ("fr", "true", "Cette affirmation est tout à fait exacte."),
    ("fr", "false", "On ne peut pas dire que cette affirmation soit vraie : une pile est LIFO."),
    ("fr", "unparsed", "Cela dépend du système d'exploitation considéré."),
    ("fr", "true", "Oui, tout à fait : l'énoncé est correct."),
    ("fr", "false", "C'est tout simplement faux."),
    ("en", "true", "That is indeed the case: the statement is correct."),
    ("en", "false", "The statement contains an error, so it's false."),
    ("en", "false", "No, this is a common myth. The statement is not accurate."),
    ("en", "true", "Yes — the claim holds true."),
    ("en", "false", "It would be incorrect to say that this is true."),
    ("en", "true", "I see no error in this statement. It is true."),
    ("en", "unparsed", "It is neither entirely true nor entirely false."),
    ("zh", "false", "该说法过于绝对，因此是错误的。"),
    ("zh", "true", "题中的描述与定义一致，所以判断为正确。"),
    ("zh", "false", "答案应为“错误”。"),
    ("zh", "unparsed", "这句话只在某些情况下成立。"),
    ("de", "false", "Nein, diese Aussage ist so nicht richtig."),
    ("de", "true", "Die Aussage ist uneingeschränkt richtig."),
    ("de", "false", "Das Gegenteil ist der Fall, die Aussage ist also falsch."),
    ("de", "unparsed", "Die Aussage ist nur zum Teil richtig."),
    ("fr", "true", "L'énoncé est parfaitement juste."),
    ("fr", "false", "Non, cette phrase contient une erreur : elle est fausse."),
    ("fr", "unparsed", "C'est vrai dans certains cas, faux dans d'autres."),
    ("fr", "false", "Il est inexact d'affirmer cela. Réponse : faux."),
)
# fmt: on

CUES = (
    "", "Answer: ", "ANSWER: ", "Answer:", "The answer is ", "The correct answer is ", "Final answer: ", "Option ", "答案：", "答案是", "正确答案：", "因此，答案是", "选", "故选",
    "应选", "Antwort: ", "Die richtige Antwort ist ", "Lösung: ", "Réponse : ", "La bonne réponse est ", "## ", "- ", "> ",
)  # fmt: skip
WRAPPED = '{} **{}** *{}* ({}) （{}） [{}] 【{}】 \\boxed{{{}}} $\\boxed{{{}}}$ `{}` "{}" “{}” **({})** {})'
CLOSINGS = ("", ".", "。", "!", "\n", " ")  # fmt: skip
LONE = tuple(map("".join, itertools.product(CUES, WRAPPED.split(), CLOSINGS)))
ORDINARY = ("a stack", "a queue", "round robin", "page table")
AWKWARD = (
    ("D", "B", "A", "C"),
    ("b", "c", "d", "a"),
    ("、，", "：！", "、 、 ： “， ”！", "B"),
    ("Answer: A", "(B)", "The answer is C.", "A"),
)


@each_row(*CHOICES)
def test_the_letter_that_reasoning_ends_in(language, read, reply, options):
    assert read_choice(reply, language=language, options=options).read == read


@each_row(*TRUTHS)
def test_the_truth_value_that_reasoning_ends_in(language, read, reply):
    assert read_truth(reply).read == read


@each_row(*itertools.product(LONE, "ABCD"))
def test_a_lone_letter_is_that_letter_whatever_the_options(shape, letter):
    reply = shape.format(letter)
    assert is_lone_letter(reply)
    for options in (ORDINARY, *AWKWARD):
        reading = read_choice(reply, options=options)
        assert reading.read == letter, options
        start, end = reading.span or (0, 0)
        assert letter in reply[start:end]


@pytest.mark.parametrize("letter", ["A", *(pytest.param(letter, marks=pytest.mark.slow) for letter in "BCD")])
def test_the_early_exit_for_a_lone_letter_says_what_the_rules_say(letter: str, monkeypatch: pytest.MonkeyPatch):
    replies = [shape.format(letter) for shape in LONE]
    early = [read_choice(reply, options=ORDINARY).read for reply in replies]
    monkeypatch.setattr(choice, "is_lone_letter", lambda text: False)
    for (reply, read), row in tabled(*zip(replies, early, strict=True)):
        with row:
            assert read_choice(reply, options=ORDINARY).read == read


@given(
    st.sampled_from(CUES), st.sampled_from(("{}. {}", "{}) {}", "({}) {}", "**{}.** {}", "{}、{}", "{}：{}", "{}. {}.", "**{}. {}**")),
    st.integers(0, 3), st.sampled_from((ORDINARY, ("栈", "队列", "树", "图"), ("TCP and UDP", "IP", "ARP, RARP", "10.0.0.1"))),
)  # fmt: skip
def test_the_rules_read_a_letter_with_its_own_text_no_other_way(
    cue: str, shape: str, place: int, options: tuple[str, ...]
):
    reply = cue + shape.format("ABCD"[place], options[place])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "with_own_text", lambda text, letters, options: None)
        general = read_choice(reply, options=options).read
    assert read_choice(reply, options=options).read == "ABCD"[place]
    assert general in {"ABCD"[place], "unparsed"}  # "A、a stack" may be a list to them


@each_row(*itertools.product(AWKWARD, range(4)))
def test_a_letter_with_its_own_text_is_that_letter_whatever_the_text(options, place):
    reply = f"{'ABCD'[place]}. {options[place]}"
    assert read_choice(reply, options=options).read == "ABCD"[place]
    assert with_own_text(reply, "ABCD", options)


def test_a_truth_word_alone_reads_the_same_early_and_late():
    words = {"true": ("True", "正确", "Wahr", "Vrai"), "false": ("False", "错误", "Falsch", "Faux")}
    cues = ("", "Answer: ", "答案：", "Antwort: ", "Réponse : ")
    for (cue, read, number), row in tabled(*itertools.product(cues, words, range(4))):
        reply = cue + words[read][number]
        with row:
            assert read_truth(reply).read == read_truth(reply + " " * 60).read == read
