"""Problems of frictional contact as Siconos and FCLIB write them, and a figure of `python bench/reliability.py --fclib FOLDER`.

The files are in Siconos' repository (numerics/src/FrictionContact/test/data, Apache-2.0): local ones, min r'Wr/2 + r'q
over cones of dry friction with the coefficients mu, and global ones, of which W and q are made here:
W = H' M^-1 H, q = H' M^-1 f + b. Rows of a contact are n, t1 (, t2).
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any, NamedTuple

import numpy as np

import dualstep as ds

MOST = 400
"""contacts of a problem: matrices are dense here"""


class Problem(NamedTuple):
    name: str
    W: np.ndarray
    """(3 n, 3 n); a planar contact's third row is of zeros"""
    q: np.ndarray
    mu: np.ndarray


class _Words:
    def __init__(self, text: str) -> None:
        self.words, self.at = text.split(), 0

    def take(self, count: int) -> list[str]:
        self.at += count
        if self.at > len(self.words):
            raise ValueError(f"{self.at} numbers are wanted, and there are {len(self.words)}")
        return self.words[self.at - count : self.at]

    def whole(self) -> int:
        return int(self.take(1)[0])

    def wholes(self, count: int) -> list[int]:
        return [int(word) for word in self.take(count)]

    def reals(self, count: int) -> np.ndarray:
        return np.array(self.take(count), float)

    def matrix(self) -> np.ndarray:
        """Dense, of blocks by compressed rows, or sparse by compressed columns or triplets."""
        storage, rows, columns = self.wholes(3)
        if storage == 0:
            if self.wholes(2) != [rows, columns]:
                raise ValueError("a dense matrix has another size than its header says")
            return self.reals(rows * columns).reshape(rows, columns)
        if storage == 1:
            return self._blocks(rows, columns)
        if storage == 2:
            return self._sparse(rows, columns)
        raise ValueError(f"matrices of storage {storage} are not read")

    def _until(self, part: str) -> str:
        while part not in self.words[self.at]:
            self.at += 1
        return self.take(1)[0]

    def _sparse(self, rows: int, columns: int) -> np.ndarray:
        """As CSparse prints them: by columns, or as triplets."""
        by_columns = self.whole() == 2
        self._until("-by-")
        self._until("nnz:")
        entries = int(self.take(1)[0].rstrip(","))
        whole = np.zeros((rows, columns))
        if not by_columns:
            for _ in range(entries):
                row, column, _, value = self.take(4)
                whole[int(row), int(column)] += float(value)
            return whole
        while entries:
            self._until("col")
            column, _, _, first, _, last = self.take(6)
            for _ in range(int(last) - int(first) + 1):
                row, _, value = self.take(3)
                whole[int(row), int(column)] += float(value)
                entries -= 1
        return whole

    def _blocks(self, rows: int, columns: int) -> np.ndarray:
        count, block_rows, block_columns = self.wholes(3)
        ends = [0, *self.wholes(block_rows)], [0, *self.wholes(block_columns)]
        filled = self.wholes(2)
        starts, places = self.wholes(filled[0]), self.wholes(filled[1])
        whole = np.zeros((rows, columns))
        blocks = [(row, places[k]) for row in range(filled[0] - 1) for k in range(starts[row], starts[row + 1])]
        for number, (row, column) in enumerate(blocks[:count]):
            if self.whole() != number:
                raise ValueError("blocks do not stand in their order")
            (top, bottom), (left, right) = ends[0][row : row + 2], ends[1][column : column + 2]
            values = self.reals((bottom - top) * (right - left))
            whole[top:bottom, left:right] = values.reshape(right - left, bottom - top).T
        return whole


def read(path: pathlib.Path) -> Problem:
    """A file; ValueError where it is of a kind that is not read."""
    if path.suffix == ".hdf5":
        return _embedded(path.name, *_hdf5(path))
    words = _Words(path.read_text())
    dimension, contacts = words.wholes(2)
    _check(contacts)
    first = words.matrix()
    size = dimension * contacts
    if "gfc" in path.name.lower() and "condensed" not in path.name:
        H = words.matrix()
        W, q = _local(first, H, words.reals(len(first)), words.reals(size))
    else:
        W, q = first, words.reals(size)
    return _embedded(path.name, dimension, W, q, words.reals(contacts))


def _check(contacts: int) -> None:
    if not 0 < contacts <= MOST:
        raise ValueError(f"{contacts} contacts, and 1 to {MOST} are read")


def _local(M: np.ndarray, H: np.ndarray, f: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W and q of a global problem."""
    inverse = np.linalg.solve(M, np.column_stack([H, f]))
    return H.T @ inverse[:, :-1], H.T @ inverse[:, -1] + b


def _hdf5(path: pathlib.Path) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    import h5py

    with h5py.File(path) as file:
        is_local = "fclib_local" in file
        held: Any = file["fclib_local" if is_local else "fclib_global"]

        def array(*names: str) -> np.ndarray:
            return np.ravel(held["/".join(names)][()])

        def matrix(name: str) -> np.ndarray:
            kind, p, i, x = (array(name, part) for part in ("nz", "p", "i", "x"))
            whole = np.zeros((int(array(name, "m")[0]), int(array(name, "n")[0])))
            # triplets (columns, rows), or compressed by columns (-1) or by rows (-2)
            count = int(kind[0]) if kind[0] >= 0 else int(p[-1])
            counted = p[:count] if kind[0] >= 0 else np.repeat(np.arange(len(p) - 1), np.diff(p))
            at = (counted, i[:count]) if kind[0] == -2 else (i[:count], counted)
            np.add.at(whole, at, x[:count])
            return whole

        mu = array("vectors", "mu")
        _check(len(mu))
        if is_local:
            W, q = matrix("W"), array("vectors", "q")
        else:
            W, q = _local(matrix("M"), matrix("H"), array("vectors", "f"), array("vectors", "w"))
        return int(array("spacedim")[0]), W, q, mu


def _embedded(name: str, dimension: int, W: np.ndarray, q: np.ndarray, mu: np.ndarray) -> Problem:
    contacts, size = len(mu), dimension * len(mu)
    if W.shape != (size, size):
        raise ValueError(f"W has shape {W.shape}, and {size} rows are wanted")
    if dimension == 2:
        rows = (3 * np.arange(contacts)[:, None] + np.arange(2)).ravel()
        planar, plane = np.zeros((3 * contacts,) * 2), np.zeros(3 * contacts)
        planar[np.ix_(rows, rows)], plane[rows] = W, q
        W, q = planar, plane
    elif dimension != 3:
        raise ValueError(f"contacts have {dimension} rows")
    return Problem(name, W, q, mu)


PROBLEMS: list[pathlib.Path] = []
"""files of FCLIB's and Siconos' problems, where a folder of them is given"""


def problems() -> tuple[float, str]:
    """15: Siconos' problems of contact with dry friction through `ds.formulations.contact_dual`, as a convex dual, and up to
    60 contacts with exact Coulomb friction too. A matrix is its symmetric part without eigenvalues below zero; the residual
    is |f - P(f - y/a)| over |f|, the largest."""
    worst, moved = 0.0, 0.0
    coulomb: list[float] = []
    left_out: list[str] = []
    contacts: list[int] = []
    for path in PROBLEMS:
        try:
            given = read(path)
        except ValueError as error:
            left_out.append(f"{path.name} ({error})")
            continue
        values, vectors = np.linalg.eigh((given.W + given.W.T) / 2)
        W = vectors * np.maximum(values, 0) @ vectors.T
        W = (W + W.T) / 2
        moved = max(moved, float(abs(W - given.W).max() / abs(given.W).max()))
        contacts.append(len(given.mu))
        for desaxce in (False, True)[: 1 + (len(given.mu) <= 60)]:
            found = ds.formulations.contact_dual(W, given.q, given.mu, desaxce=desaxce)
            # of a contact that opens both are nothing: then the size is what would hold it against b
            size = max(np.linalg.norm(found.force), 1e-9 * np.linalg.norm(given.q) / max(np.mean(np.diag(W)), 1e-300))
            residual = float(found.residual / size) if found.residual else 0.0
            if desaxce:
                coulomb.append(residual)
            else:
                worst = max(worst, residual)
    for line in left_out:
        print("not read:", line, file=sys.stderr)
    fine = sum(residual <= 1e-6 for residual in coulomb)
    return worst, (
        f"{len(contacts)} problems of 1 to {max(contacts)} contacts ({len(left_out)} of {len(PROBLEMS)} files are not read): "
        f"largest residual {worst:.0e}; with exact Coulomb friction {fine} of {len(coulomb)} below 1e-6, largest "
        f"{max(coulomb):.0e}; the matrices differ from the files' by {moved:.0e} at most"
    )
