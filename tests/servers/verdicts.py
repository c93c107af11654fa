"""Judges that do as their prompt says: their verdict line carries the nonce that they were told."""

import re

_TOLD = re.compile(r"VERDICT ([0-9a-f]{10})(?= ?[:：])")


def without_nonce(body: bytes) -> bytes:
    """A request as it would be without a nonce: what is asked several times is told by it."""
    return re.sub(rb"VERDICT [0-9a-f]{10}(?= ?:)", b"VERDICT", body)


def nonce_in(prompt: str) -> str:
    """The nonce that a judge is told, at the end of its prompt; "" where there is none."""
    found = _TOLD.findall(prompt.rpartition("========")[2])
    return str(found[-1]) if found else ""


def obedient(reply: str, prompt: str) -> str:
    """A reply that ends in a bare verdict line, as a judge writes it that was shown this prompt."""
    before, end, line = reply.rpartition("\n")
    nonce = nonce_in(prompt)
    return f"{before}{end}VERDICT {nonce}{line[7:]}" if nonce and line.startswith("VERDICT") else reply
