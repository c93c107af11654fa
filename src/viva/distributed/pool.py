"""Workers on a cluster that are kept at work: hired where there is room, replaced when they are lost.

A thread of its own decides; everybody else puts pieces in and gets futures back. Workers are bound to a node each, so
that it is known what a node can do, how much it has, and which ones it took along when it died.
"""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from viva.distributed.cluster import Cluster, ClusterError, Node, edition
from viva.distributed.hands import LONGEST, Event, Hand, Needs, Piece, Skills, Unfit, how_lost, not_started, settle
from viva.distributed.lost import LOSSES, LostWorkerError
from viva.distributed.station import Hello, Station
from viva.distributed.worker import outcome
from viva.errors import VivaError
from viva.visible import one_line

REFRESH = 2.0
"""Seconds between two looks at the cluster."""
PATIENCE = 15.0
"""Seconds without a worker after which that is told."""


class Pool:
    """Workers of one recipe. `recipe(place)` is what the worker at a node's n-th place is told, pickled."""

    def __init__(
        self, cluster: Cluster, recipe: Callable[[int], bytes], needs: Needs, skills: Skills | None = None
    ) -> None:
        self._cluster = cluster
        self._recipe = recipe
        self._needs = needs
        self._skills = skills
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._nodes: list[Node] = cluster.nodes()
        self._hands: list[Hand] = []
        self._waiting: deque[Piece] = deque()
        self._going: dict[int, Piece] = {}
        self._reports: dict[str, Any] = {}
        """What a node's workers said of themselves."""
        self._failures: Counter[str] = Counter()
        self._barred: dict[str, BaseException] = {}
        """Nodes where nobody can work, and why."""
        self._broken: BaseException | None = None
        self._began = self._idle_since = time.monotonic()
        self._told = False
        self._eager = False
        """Whether somebody waits for a worker without a piece."""
        self._first: Future[bytes] = Future()
        """Settled when somebody can work, or nobody ever will."""
        self._thread = threading.Thread(target=self._run, name="viva-pool", daemon=True)
        self._thread.start()

    @property
    def capacity(self) -> int:
        """How many workers there is room for, in use by others or not; at least one."""
        room = sum(self._needs.fit(node) for node in self._nodes if node.id not in self._barred)
        return max(1, min(room, self._needs.most or room))

    def submit(self, piece: object, need: str = "") -> Future[bytes]:
        """What will become of a piece: see worker.attempt. Fails with LostWorkerError, Unfit, ClusterError, or what
        kept every worker from starting."""
        found: Future[bytes] = Future()
        content = pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)
        self._events.put(Event("new", piece=Piece(content, need, found)))
        return found

    def begin(self) -> Any:
        """Wait for the first worker, and return what it reports. Raises what keeps all of them from starting."""
        self._events.put(Event("begin"))
        return pickle.loads(self._first.result())  # noqa: S301 - our own worker's

    def hurry(self) -> None:
        """Ask the workers to give back what they have not begun."""
        self._events.put(Event("hurry"))

    def close(self) -> None:
        """End all workers, whatever they do."""
        self._events.put(Event("stop"))
        self._thread.join(30)

    def _run(self) -> None:
        looked = 0.0
        while True:
            try:
                event = self._events.get(timeout=REFRESH / 4)
            except queue.Empty:
                event = Event("look")
            try:
                if event.kind == "stop":
                    break
                self._see_to(event)
                if time.monotonic() - looked > REFRESH or event.kind == "lost":
                    self._look()
                    looked = time.monotonic()
                self._staff()
                self._hand_out()
            except VivaError as problem:
                self._fail(problem)
            except Exception as problem:  # a connection that broke: nothing of this pool will come any more
                why = one_line(f"{type(problem).__name__}: {problem}", LONGEST)
                self._fail(ClusterError(f"the Ray cluster does not answer any more ({why})"))
        self._fail(ClusterError("the workers were sent home"))
        self._dismiss(self._hands)

    def _see_to(self, event: Event) -> None:
        hand, piece, future = event.hand, event.piece, event.future
        if event.kind == "new" and piece is not None:
            if self._broken is not None:
                settle(piece.future, self._broken)
            else:
                self._waiting.append(piece)
        elif event.kind == "begin":
            self._eager = True
        elif event.kind == "hurry":
            for one in self._hands:
                one.actor.hurry.remote()
        elif event.kind == "hello" and hand is not None and future is not None:
            self._welcome(hand, future)
        elif event.kind == "done" and hand is not None and future is not None and piece is not None:
            self._book(hand, piece, future)

    def _welcome(self, hand: Hand, future: Future[bytes]) -> None:
        """A worker that started, or could not."""
        problem = future.exception()
        if hand not in self._hands:
            return
        if problem is not None:
            self._lose(hand)
            if hand.began:
                return
            self._failures[hand.node.id] += 1
            if self._failures[hand.node.id] >= LOSSES or "No module named 'viva" in str(problem):
                self._bar(hand.node, ClusterError(not_started(problem)))
            return
        hello: Hello = pickle.loads(future.result())  # noqa: S301 - our own worker's
        if hello.edition != edition():
            self._bar(hand.node, ClusterError(f"Viva is {hello.edition} there, and {edition()} here"))
        elif hello.failure:
            try:
                outcome(hello.failure)
            except Exception as failure:
                self._bar(hand.node, failure)
        else:
            hand.hello, hand.began = hello, True
            self._failures[hand.node.id] = 0
            settle(self._first, pickle.dumps(hello.report))
            self._reports[hand.node.id] = hello.report
            if self._skills is not None:
                self._skills.met(hand.node.host, hello.report)

    def _bar(self, node: Node, why: BaseException) -> None:
        """Nobody of ours can work on this node."""
        if node.id not in self._barred:
            self._barred[node.id] = why
            others = any(self._needs.fit(one) for one in self._nodes if one.id not in self._barred)
            if others:
                print(one_line(f"viva: nobody works on {node.host}: {why}", 2 * LONGEST), file=sys.stderr)
        self._dismiss([hand for hand in self._hands if hand.node.id == node.id])

    def _book(self, hand: Hand, piece: Piece, future: Future[bytes]) -> None:
        """A piece that is done, or whose worker was lost."""
        hand.going.discard(id(piece))
        self._going.pop(id(piece), None)
        problem = future.exception()
        if problem is None:
            settle(piece.future, future.result())
            return
        if isinstance(problem, self._cluster.ray.exceptions.RayTaskError):
            settle(piece.future, problem)
            return
        self._lose(hand)
        piece.lost += 1
        if piece.lost < self._needs.losses:
            self._waiting.appendleft(piece)
        else:
            settle(piece.future, LostWorkerError(how_lost(problem)))

    def _lose(self, hand: Hand) -> None:
        """One is gone. Its neighbours may be, too: they are asked before they get another piece."""
        if hand not in self._hands:
            return
        self._dismiss([hand])
        self._events.put(Event("lost"))
        for other in self._hands:
            if other.node.id == hand.node.id and other.hello is not None and not other.going:
                other.hello = None
                self._tell(other.actor.hello.remote(), Event("hello", other))

    def _dismiss(self, hands: Iterable[Hand]) -> None:
        for hand in list(hands):
            self._hands.remove(hand)
            with suppress(Exception):  # gone already
                self._cluster.ray.kill(hand.actor)

    def _look(self) -> None:
        """What the cluster is made of now."""
        self._nodes = self._cluster.nodes()
        there = {node.id for node in self._nodes}
        self._dismiss([hand for hand in self._hands if hand.node.id not in there and not hand.going])

    def _staff(self) -> None:
        """Hire where there is room, as many as there is work for; on every node one at least, where nodes differ."""
        work = len(self._waiting) + len(self._going) or int(self._eager and not self._first.done())
        if not work:
            self._idle_since = time.monotonic()
            return
        open_nodes = [node for node in self._nodes if node.id not in self._barred]
        used = Counter(hand.node.id for hand in self._hands)
        room = {node.id: self._needs.fit(node) for node in open_nodes}
        differ = self._skills is not None
        most = min(self._needs.most or sum(room.values()), -(-work // self._needs.depth))
        if differ:
            most = max(most, len(open_nodes))
        while len(self._hands) < most:
            free = [node for node in open_nodes if used[node.id] < room[node.id]]
            if not free:
                break
            node = min(free, key=lambda node: (used[node.id] / room[node.id], node.id))
            self._hire(node)
            used[node.id] += 1
        for need in {piece.need for piece in self._waiting} if differ else ():
            self._hire_for(need, [node for node in open_nodes if used[node.id] < room[node.id]])
        self._give_up(open_nodes, room)

    def _hire_for(self, need: str, free: list[Node]) -> None:
        """Somebody who can do it, if only nodes that have nobody of ours could."""
        if any(hand.hello is None or not self._lacking(hand.hello.report, need) for hand in self._hands):
            return
        for node in free:
            if node.id not in self._reports or not self._lacking(self._reports[node.id], need):
                self._hire(node)
                return

    def _give_up(self, nodes: list[Node], room: dict[str, int]) -> None:
        """Say why nothing happens; fail what nobody can do."""
        if not self._hands and self._barred and not any(room.values()):
            why = next(iter(self._barred.values()))
            if isinstance(why, ClusterError):
                hosts = ", ".join(sorted({node.host for node in self._nodes if node.id in self._barred}))
                why = ClusterError(f"nobody can work on the Ray cluster ({one_line(hosts, 100)}): {why}")
            self._fail(why)
            return
        if any(hand.hello is not None for hand in self._hands):
            self._idle_since, self._told = time.monotonic(), False
        elif time.monotonic() - self._idle_since > PATIENCE and not self._told:
            self._told = True
            what = f"{self._needs.gpus} GPU" if self._needs.gpus else "all processors" if self._needs.whole else "1 CPU"
            print(
                f"viva: no worker has started on the Ray cluster yet ({len(nodes)} nodes): each takes {what} of a "
                "node; `ray status` shows what is in use",
                file=sys.stderr,
            )

    def _hire(self, node: Node) -> None:
        ray = self._cluster.ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        taken = {hand.place for hand in self._hands if hand.node.id == node.id}
        place = next(number for number in range(len(taken) + 1) if number not in taken)
        cpus = float(int(node.cpus)) if self._needs.whole and not self._needs.gpus else min(1.0, node.cpus)
        actor = (
            ray.remote(Station)
            .options(
                num_cpus=cpus,
                num_gpus=self._needs.gpus,
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=self._needs.depth + 1,  # and one that asks it to hurry
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(self._recipe(place))
        )
        hand = Hand(node, actor, place)
        self._hands.append(hand)
        self._tell(actor.hello.remote(), Event("hello", hand))

    def _tell(self, ref: Any, event: Event) -> None:
        """Put the event into the queue when it came to something."""
        ref.future().add_done_callback(partial(_remember, self._events, event))

    def _hand_out(self) -> None:
        if not self._surveyed():
            return
        free = [hand for hand in self._hands if hand.hello is not None and len(hand.going) < self._needs.depth]
        left: deque[Piece] = deque()
        refused: dict[str, str] = {}
        while self._waiting and (free or self._skills is not None):
            piece = self._waiting.popleft()
            if piece.future.cancelled():
                continue
            able = [hand for hand in free if hand.hello and not self._lacking(hand.hello.report, piece.need)]
            if able:
                hand = min(able, key=lambda hand: (len(hand.going), self._talents(hand)))
                self._give(hand, piece)
                if len(hand.going) >= self._needs.depth:
                    free.remove(hand)
                continue
            if piece.need not in refused:
                refused[piece.need] = self._nobody(piece.need)
            if refused[piece.need]:
                settle(piece.future, Unfit(refused[piece.need]))
            else:
                left.append(piece)
        self._waiting.extendleft(reversed(left))

    def _talents(self, hand: Hand) -> int:
        """How much a worker can do of what differs: who can do most is kept for what few can."""
        return len(hand.hello.report) if hand.hello and isinstance(hand.hello.report, dict) else 0

    def _lacking(self, report: Any, need: str) -> str:
        return self._skills.lacking(report, need) if self._skills else ""

    def _surveyed(self) -> bool:
        """Whether it is known what every node can do, or one keeps us waiting for too long."""
        if self._skills is None or time.monotonic() - self._began > PATIENCE:
            return True
        return all(
            node.id in self._reports or node.id in self._barred or not self._needs.fit(node) for node in self._nodes
        )

    def _nobody(self, need: str) -> str:
        """Why no node of the cluster can ever do it; empty while one may."""
        if self._skills is None or not self._reports:
            return ""
        reasons = []
        for node in self._nodes:
            if node.id in self._barred or not self._needs.fit(node):
                continue
            if node.id not in self._reports:
                return ""
            why = self._lacking(self._reports[node.id], need)
            if not why:
                return ""
            reasons.append(why)
        return reasons[0] if reasons else ""

    def _give(self, hand: Hand, piece: Piece) -> None:
        hand.going.add(id(piece))
        self._going[id(piece)] = piece
        self._tell(hand.actor.do.remote(piece.content), Event("done", hand, piece))

    def _fail(self, why: BaseException) -> None:
        self._broken = why
        settle(self._first, why)
        for piece in (*self._waiting, *self._going.values()):
            settle(piece.future, why)
        self._waiting.clear()
        self._going.clear()


def _remember(events: queue.SimpleQueue[Event], event: Event, future: Future[bytes]) -> None:
    events.put(event._replace(future=future))
