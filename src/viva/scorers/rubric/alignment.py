"""Alignment by characters of a template with an answer: InfiBench's, bit for bit.

The published grader fills a table like that of the longest common subsequence, with two oddities that are kept: nothing
is carried along its first row and column, and equal characters always continue the diagonal. For a template of m and a
text of n characters (Unicode code points), cell (i, j) holds a length f and a pointer s, the column of the last match:

    equal characters            f = f[i-1][j-1] + 1 (1 in the first row and column), s = j
    else, in the interior       the larger of left and up by f, then by s
    else                        f = s = 0

A cell is kept as the number f * 2**shift + s, whose order is that by f, then by s, so that a row follows from the row
above as a running maximum. Of a finished row one bit a cell is kept: whether its value came from the left.

Memory: at most one bit a cell and 100 bytes a character of the text, so 2.5 MB for a 20 KB answer to a 1 KB template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from viva.errors import VivaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CELLS = 1 << 30
"""An eighth of a gigabyte of bits, and some ten seconds: a template of 1,000 characters and an answer of a million."""


class AlignmentError(VivaError):
    """Template and text are too long for each other."""


class Alignment(Struct, frozen=True):
    """An alignment: `length` is the table's last f, `positions` an index into the text for each template character.

    A character without a counterpart gets the index after the last match, which may be the length of the text.
    """

    length: int
    positions: tuple[int, ...]


def align(template: str, text: str) -> Alignment:
    """Align a template with a text, neither of them empty (InfiBench's grader; specification, 4.1 and 4.2).

    Raises AlignmentError where the table would have more than `MAX_CELLS` cells.
    """
    if len(template) * len(text) > MAX_CELLS:
        raise AlignmentError(
            f"an answer of {len(text):,} characters cannot be aligned with a template of {len(template):,}: "
            f"their product is over {MAX_CELLS:,}; shorten the template"
        )
    length, from_left = fill_table(template, text)
    point = pointer(template, text, from_left, len(template) - 1, len(text) - 1)
    positions = [0] * len(template)
    for i in range(len(template) - 1, -1, -1):
        if template[i] == text[point]:
            positions[i] = point
            if i:  # before the first column comes, as published, the last
                point = pointer(template, text, from_left, i - 1, point - 1 if point else len(text) - 1)
        else:
            positions[i] = point + 1
    return Alignment(length, tuple(positions))


def fill_table(template: str, text: str) -> tuple[int, list[int]]:
    """Return the table's last f, and for each row the bits of the cells that took their value from the left."""
    import numpy as np

    shift = len(text).bit_length()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    places = {char: (codes == ord(char)).nonzero()[0] for char in set(template)}
    row = np.zeros(len(text), np.int64)
    apart = 1 << shift + (len(template) + 1).bit_length()
    from_left: list[int] = []
    for i, char in enumerate(template):
        matches = places[char]
        inner = matches[matches > 0]
        cells = row.copy()
        cells[0] = (1 << shift) * (len(matches) - len(inner))
        cells[inner] = (row[inner - 1] | (1 << shift) - 1) + 1 + inner
        above, row = row, _running(cells, inner, apart) if i else cells
        left = row > above
        left[matches] = left[0] = False
        from_left.append(int.from_bytes(np.packbits(left, bitorder="little").tobytes(), "little"))
    return int(row[-1]) >> shift, from_left


def _running(cells: NDArray[np.int64], matches: NDArray[np.intp], apart: int) -> NDArray[np.int64]:
    """Return the running maximum, restarted at every match.

    Where a match has less than the cell before it, offsets by `apart` keep the stretches between matches in order.
    """
    import numpy as np

    running = np.maximum.accumulate(cells)
    if (running[matches] == cells[matches]).all():
        return running
    offsets = np.zeros_like(cells)
    offsets[matches] = apart
    np.cumsum(offsets, out=offsets)
    return np.maximum.accumulate(cells + offsets) - offsets


def pointer(template: str, text: str, from_left: list[int], i: int, j: int) -> int:
    """Return the pointer s of cell (i, j)."""
    while i and j and template[i] != text[j]:
        if from_left[i] >> j & 1:
            j = (~from_left[i] & ((1 << j) - 1)).bit_length() - 1
        else:
            i -= 1
    return j if template[i] == text[j] else 0
