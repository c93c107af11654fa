"""Proof that a test ran to its end: the words that Viva and its harness exchange.

    shell inside  →  Viva      run            compiled; from here on the program may run
    Viva          →  harness   KEY p t        a random key, and where the harness runs the sources itself, their lengths
                               program test   and the sources
    harness       →  Viva      KEY            the last statement of the test is behind us
    Viva          →  harness   SECRET
    harness       →  Viva      SECRET         and then the process must still end with status 0

A test in a process of its own says "KEY asked" where code of the program's decided a comparison with one of its values,
and "shared" before all else where it runs the program itself after all (harness/form.js decides by the test alone).

Key and secret are new for every run, and neither is on disk, in an argument or in the environment. The harness takes
the key out of the pipe before the first line of the program; a sender that does not know the key gets no secret, and
has one attempt: after any other byte in this pipe the run counts as not proved.
"""

from __future__ import annotations

import secrets

RUNNING = b"run\n"
SHARED = b"shared\n"


class Conversation:
    """Viva's side, given what comes out of the pipe. `to_send` waits to go in; once `finished`, no more will come."""

    def __init__(self, *, proved: bool, program: bytes = b"", test: bytes = b"") -> None:
        self.to_send = b"go\n"
        self.said = b""
        self.compiled = False
        self.proved = False
        self.asked = False
        self.finished = False
        self.failure = ""
        self._sources = program, test
        self._key, self._secret = (secrets.token_hex(32).encode() for _ in range(2))
        lines = [(shared, self._key, asked, b"\n") for shared in (b"", SHARED) for asked in (b"", b" asked")]
        self._ending = self._secret + b"\n" if proved else b""
        self._scripts = [RUNNING + b"".join(line) + self._ending for line in lines] if proved else [RUNNING]

    def heard(self, chunk: bytes) -> None:
        """Receive bytes; answer a word that is right and complete."""
        self.said = (self.said + chunk)[:2000]
        self._scripts = [script for script in self._scripts if script.startswith(self.said)]
        begun = bool(self._scripts) and self.said.startswith(RUNNING)
        if begun and self._ending and not self.compiled:
            program, test = self._sources
            self.to_send += b"%s %d %d\n%s%s" % (self._key, len(program), len(test), program, test)
        self.compiled = self.compiled or begun
        self.asked = self.asked or self.said.startswith((RUNNING + SHARED, RUNNING + self._key + b" "))
        if self.said + self._ending in self._scripts:
            self.to_send += self._ending
        self.proved = bool(self._ending) and self.said in self._scripts
