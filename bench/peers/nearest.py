"""The k nearest points of every query by libraries for Python: faiss's flat index, and torch's cdist and topk.

python3 bench/peers/nearest.py POINTS QUERIES DIMENSIONS K ROUNDS THREADS FOLDER

Points and queries are files of float32. Prints a line for each peer, as JSON: its name and version with the milliseconds of
building and searching, medians of the rounds (the first one is left out), or why it is missing. The indices of the points it
found are in FOLDER/NAME, as int32.
"""

import json
import sys
import time
from statistics import median

import numpy as np

points_file, queries_file, dimensions, k, rounds, threads, folder = sys.argv[1:]
dimensions, k, rounds, threads = map(int, (dimensions, k, rounds, threads))
points = np.fromfile(points_file, np.float32).reshape(-1, dimensions)
queries = np.fromfile(queries_file, np.float32).reshape(-1, dimensions)


def by_faiss():
    import faiss

    faiss.omp_set_num_threads(threads)

    def build():
        index = faiss.IndexFlatL2(dimensions)
        index.add(points)
        return index

    return faiss.__version__, build, lambda index: index.search(queries, k)[1]


def by_torch():
    import torch

    torch.set_num_threads(threads)
    asked = torch.from_numpy(queries)

    def search(index):
        return torch.cdist(asked, index).topk(k, largest=False).indices.numpy()

    return torch.__version__, lambda: torch.from_numpy(points), search


def timed(work):
    start, used = time.perf_counter(), time.process_time()
    result = work()
    return 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - used), result


for name, peer in (("faiss", by_faiss), ("torch", by_torch)):
    try:
        version, build, search = peer()
    except ImportError as error:
        print(json.dumps({"name": name, "missing": str(error)}), flush=True)
        continue
    times = []
    for _ in range(rounds + 1):
        built, _, index = timed(build)
        searched, processor, ids = timed(lambda: search(index))
        times.append((built, searched, processor))
    built, searched, processor = (median(column) for column in zip(*times[1:]))
    ids.astype(np.int32).tofile(f"{folder}/{name}")
    line = {"name": name, "version": version, "built": built, "searched": searched, "processor": processor}
    print(json.dumps(line), flush=True)
