"""Where the characters of a template lie in an answer: InfiBench's alignment, bit for bit and fast.

The published grader fills a table like that of the longest common subsequence, with two oddities that are kept: nothing
is carried along its first row and column, and equal characters always continue the diagonal. For a template of m and a
text of n characters (Unicode code points), cell (i, j) holds a length f and a pointer s, the column of the last match:

    equal characters            f = f[i-1][j-1] + 1 (1 in the first row and column), s = j
    else, in the interior       the larger of left and up by f, then by s
    else                        f = s = 0

Filling it cell by cell takes m·n steps. Here most of it is bits of whole numbers, a row in six operations. That
needs a *regular* frontier: a row r and a column c from which lengths step by 0 or 1, where in the row a pointer never
falls and a step points to its own column, and where down the column a pointer only changes with the length. These
properties then hold everywhere beyond (r, c), by induction over the cells. So beyond the frontier

- f is that of the ordinary bit-parallel algorithm (Crochemore et al., 2001; Hyyrö, 2004) with the column as carry-in,
- and s is: own column if equal; the last match of the row, or else the column c's pointer, where f is larger than
  above; the pointer above otherwise.

The irregularities come from the first row and column and die out after a few rows and columns; these are worked out
one by one as arrays, and tested for regularity. At worst that is the whole table: slower, and still exact.

Memory: at most one bit a cell and 100 bytes a character of the text, so 2.5 MB for a 20 KB answer to a 1 KB template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from viva.errors import VivaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Cells = NDArray[np.int64]
    """Cells of one row or column, each as f * 2**shift + s: the order of these numbers is by f, then by s."""

MAX_CELLS = 1 << 31
"""A quarter of a gigabyte of bits: a template of 2,000 characters and an answer of a million."""


class AlignmentError(VivaError):
    """Template and text are too long for each other."""


class Alignment(Struct, frozen=True):
    """`length` is the table's last f; `positions` has an index into the text for every character of the template.

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
    table = _Table(template, text)
    point = table.pointer(len(template) - 1, len(text) - 1)
    positions = [0] * len(template)
    for i in range(len(template) - 1, -1, -1):
        if template[i] == text[point]:
            positions[i] = point
            if i:  # before the first column comes, as published, the last
                point = table.pointer(i - 1, point - 1 if point else len(text) - 1)
        else:
            positions[i] = point + 1
    return Alignment(table.length, tuple(positions))


class _Table:
    """The filled table: what is needed to look up the pointer of any cell, and the last f."""

    def __init__(self, template: str, text: str) -> None:
        import numpy as np

        self.template = template
        self.text = text
        self.shift = len(text).bit_length()
        self.mask = (1 << self.shift) - 1
        self.codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        self.from_left: list[int] = []
        """Of the rows down to the frontier: bit j is set where a cell took its value from the left."""
        self.strip: list[Cells] = []
        """The columns up to the frontier, from its row downwards."""
        self.carries: list[int] = []
        """Of the rows below the frontier: bit j - c is set where f is larger than above."""
        top = self._top_rows()
        if len(self.from_left) == len(template):
            self.length = int(top[-1]) >> self.shift
        elif len(self.strip) == len(text):
            self.length = int(self.strip[-1][-1]) >> self.shift
        else:
            self.length = self._beyond(top)

    def _top_rows(self) -> Cells:
        """Work out row after row until one is regular beyond a few columns, which are then worked out too."""
        import numpy as np

        steps = _Steps(self.codes, self.shift, len(self.template))
        columns = np.arange(len(self.text))
        row = steps.start(self.template[0], columns)
        self.from_left.append(0)
        attempt = 0
        for i in range(len(self.template)):
            if i:
                above, row = row, steps.next(row, self.template[i], None)[0]
                left = row > above
                left[steps.matches(self.template[i])] = False
                left[0] = False
                self.from_left.append(_bits(left))
            if i == attempt and i + 1 < len(self.template):
                attempt += 1 + i // 4
                irregular = _last_irregular(row, columns, self.shift)
                if irregular <= 16 + 4 * i:
                    if self._left_strip(row, i, irregular):
                        break
                    attempt = len(self.template)
        return row

    def _left_strip(self, top: Cells, r: int, irregular: int) -> bool:
        """Work out columns below row r until one from `irregular` on is regular; whether there was one.

        Where the text repeats the template, the columns beside the copy may be irregular, so as many are tried.
        """
        import numpy as np

        rows = np.frombuffer(self.template[r:].encode("utf-32-le", "surrogatepass"), np.uint32)
        steps = _Steps(rows, self.shift, len(self.template))
        column = steps.start(self.text[0], 0)
        column[0] = top[0]
        self.strip = [column]
        tops: list[int] = top[: 2 * len(self.template) + 32].tolist()
        for j in range(1, len(tops)):
            column, falls = steps.next(column, self.text[j], j, tops[j])
            self.strip.append(column)
            if j >= irregular and not falls and _is_regular(column, self.shift):
                return True
        if len(tops) == len(self.text):
            return True
        self.strip = []
        return False

    def _beyond(self, top: Cells) -> int:
        """Fill the rows beyond the frontier; the last f of the last."""
        start = len(self.strip)
        edge = self.strip[-1] >> self.shift
        enters: list[int] = (edge[1:] - edge[:-1]).tolist()
        lengths = top[start - 1 :] >> self.shift
        flat = _bits(lengths[1:] == lengths[:-1])  # the bits where f does not step: what the literature calls V
        r = len(self.from_left)
        match = {char: _bits(self.codes[start:] == ord(char)) for char in set(self.template[r:])}
        for char, carry in zip(self.template[r:], enters, strict=True):
            hit = flat & match[char]
            total = flat + hit + carry
            rest = flat ^ hit
            self.carries.append(total ^ rest)
            flat = total | rest  # the carry out of the last column becomes one more column, which nothing reads
        beyond = len(self.text) - start
        return int(edge[-1]) + beyond - (flat & ((1 << beyond) - 1)).bit_count()

    def pointer(self, i: int, j: int) -> int:
        """The pointer s of cell (i, j)."""
        r = len(self.from_left) - 1
        c = len(self.strip) - 1
        if i > r and j <= c:
            return int(self.strip[j][i - r]) & self.mask
        char = self.text[j]
        while i > r:
            if self.template[i] == char:
                return j
            if self.carries[i - r - 1] >> (j - c) & 1:
                match = self.text.rfind(self.template[i], c + 1, j)
                return match if match >= 0 else int(self.strip[c][i - r]) & self.mask
            i -= 1
        while i and j and self.template[i] != self.text[j]:
            if self.from_left[i] >> j & 1:
                j = (~self.from_left[i] & ((1 << j) - 1)).bit_length() - 1
            else:
                i -= 1
        return j if self.template[i] == self.text[j] else 0


class _Steps:
    """The next row from the row above it, or the next column from the one to its left: the same rule."""

    def __init__(self, codes: NDArray[np.uint32], shift: int, longest: int) -> None:
        self.codes = codes
        self.shift = shift
        self.mask = (1 << shift) - 1
        self.apart = 1 << shift + (longest + 1).bit_length()
        if self.apart * (len(codes) + 1) >= 1 << 63:
            raise AlignmentError("both template and answer are over a million characters long; shorten the template")
        self._matches: dict[str, NDArray[np.intp]] = {}

    def matches(self, char: str) -> NDArray[np.intp]:
        """Where the character is, in order."""
        found = self._matches.get(char)
        if found is None:
            found = self._matches[char] = (self.codes == ord(char)).nonzero()[0]
        return found

    def start(self, char: str, pointers: Cells | int) -> Cells:
        """The first row or column: 1 and the pointer at a match, nothing elsewhere."""
        import numpy as np

        return np.where(self.codes == ord(char), (1 << self.shift) + pointers, 0)

    def next(self, before: Cells, char: str, pointer: int | None, first: int | None = None) -> tuple[Cells, bool]:
        """Each match continues the diagonal; what follows it, up to the next match, takes the maximum so far.

        Matches point to their own index, or all to `pointer`. The first cell is `first`, or a match or not like those
        of `start`. Also tells whether a match has less than the cell before it: then one running maximum will not do,
        and the stretches between matches get offsets that keep them apart.
        """
        import numpy as np

        matches = self.matches(char)
        if first is None:
            first = 1 << self.shift if len(matches) and matches[0] == 0 else 0
        inner = matches[1:] if len(matches) and matches[0] == 0 else matches
        cells = before.copy()
        cells[0] = first
        cells[inner] = (before[inner - 1] | self.mask) + ((inner if pointer is None else pointer) + 1)
        values = cells[inner]
        running = np.maximum.accumulate(cells)
        if (running[inner] == values).all():
            return running, False
        running.fill(0)
        running[inner] = self.apart
        np.cumsum(running, out=running)
        cells += running
        np.maximum.accumulate(cells, out=cells)
        cells -= running
        return cells, True


def _last_irregular(row: Cells, columns: Cells, shift: int) -> int:
    """The last column whose cell is irregular beside its left neighbour; 0 if there is none."""
    stepped = (row[:-1] | ((1 << shift) - 1)) + 1
    regular = (row[1:] == stepped + columns[1:]) | ((row[1:] >= row[:-1]) & (row[1:] < stepped))
    irregular = (~regular).nonzero()[0]
    return int(irregular[-1]) + 1 if len(irregular) else 0


def _is_regular(column: Cells, shift: int) -> bool:
    """Whether down the column f stays, and s with it, or steps by one."""
    lengths = column >> shift
    return bool(((column[1:] == column[:-1]) | (lengths[1:] == lengths[:-1] + 1)).all())


def _bits(flags: NDArray[np.bool_]) -> int:
    """Flags as a whole number, the first its lowest bit."""
    import numpy as np

    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
