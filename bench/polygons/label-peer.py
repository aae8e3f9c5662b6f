"""Compares two label images with numpy: shared pixels of pairs of labels, areas of labels, and the mean ratio.

python3 bench/polygons/label-peer.py A.png B.png

Two methods, each timed on images in memory, and also including reading the images by zlib:
- `unique`: one number per pixel for its pair of labels, sorted by np.unique.
- `loop`: for each label of A, np.bincount counts the labels of B within its bounding box.
"""

import struct
import sys
import time
import zlib

import numpy as np


def read_png(path):
    """A grey PNG of 16 bits whose rows have filter 0, 1 or 2."""
    data = open(path, "rb").read()
    at, packed = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            packed.append(body)
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(b"".join(packed)), np.uint8).reshape(height, 1 + 2 * width)
    assert not rows[:, 0].any(), "rows have filters"
    return np.ascontiguousarray(rows[:, 1:]).view(">u2").astype(np.int64)


def by_unique(a, b):
    size = int(b.max()) + 1
    keys, counts = np.unique((a * size + b).ravel(), return_counts=True)
    p, q = keys // size, keys % size
    both = (p > 0) & (q > 0)
    return p[both], q[both], counts[both]


def by_loop(a, b):
    size = int(b.max()) + 1
    rows = []
    order = np.argsort(a.ravel(), kind="stable")
    labels, starts = np.unique(a.ravel()[order], return_index=True)
    ends = np.append(starts[1:], a.size)
    flat = b.ravel()
    for label, start, end in zip(labels, starts, ends):
        if label == 0:
            continue
        counts = np.bincount(flat[order[start:end]], minlength=size)
        met = np.flatnonzero(counts[1:]) + 1
        rows.append((np.full(len(met), label), met, counts[met]))
    return tuple(np.concatenate(column) for column in zip(*rows))


def similarity(a, b, p, q, counts):
    area_a, area_b = np.bincount(a.ravel()), np.bincount(b.ravel())
    return np.mean(counts / (area_a[p] + area_b[q] - counts))


started = time.perf_counter()
first, second = read_png(sys.argv[1]), read_png(sys.argv[2])
print(f"read {time.perf_counter() - started:.3f}")
for name, way in [("unique", by_unique), ("loop", by_loop)]:
    started = time.perf_counter()
    found = way(first, second)
    mean = similarity(first, second, *found)
    print(f"{name} {time.perf_counter() - started:.3f} {len(found[0])} {mean:.12f}")
