"""Judges that follow their prompt: their verdict line has the prompt's nonce."""

import re

_TOLD = re.compile(r"VERDICT ([0-9a-f]{10})(?= ?[:：])")


def without_nonce(body: bytes) -> bytes:
    """Return a request without its nonce, so that repeated requests are equal."""
    return re.sub(rb"VERDICT [0-9a-f]{10}(?= ?:)", b"VERDICT", body)


def nonce_in(prompt: str) -> str:
    """Return the nonce at the end of a judge's prompt; "" if there is none."""
    found = _TOLD.findall(prompt.rpartition("========")[2])
    return str(found[-1]) if found else ""


def obedient(reply: str, prompt: str) -> str:
    """Add the prompt's nonce to a reply that ends in a bare verdict line."""
    before, end, line = reply.rpartition("\n")
    nonce = nonce_in(prompt)
    return f"{before}{end}VERDICT {nonce}{line[7:]}" if nonce and line.startswith("VERDICT") else reply
