"""Circles that scikit-image and OpenCV find in grey frames. Used by bench/leukocyte/cell-detection-peers.ts:

    circles.py FRAMES WIDTH HEIGHT [--rounds 5] [--tune]

FRAMES holds 8-bit frames one after the other, each row after row. Prints a line of JSON for each method: name, version, x, y
(a list for each frame) and ms (for each frame, the median of the rounds, from the array in memory to the centres); or name
and missing, if Python lacks the module. `--tune` tries all settings of the grids once, and each line includes its settings.
Each library uses its default number of threads.
"""

import argparse
import itertools
import json
import statistics
import time

import numpy as np

MIN_RADIUS, MAX_RADIUS = 8, 12


def open_skimage():
    import skimage
    from skimage.feature import canny
    from skimage.transform import hough_circle, hough_circle_peaks

    radii = np.arange(MIN_RADIUS, MAX_RADIUS + 1)

    def find(frame, sigma, high, low, threshold, distance):
        edges = canny(frame.astype(float), sigma=sigma, low_threshold=low * high, high_threshold=high)
        votes = hough_circle(edges, radii)
        _, x, y, _ = hough_circle_peaks(
            votes, radii, min_xdistance=distance, min_ydistance=distance, threshold=threshold, normalize=False
        )
        return x, y

    return skimage.__version__, find


def open_opencv(method):
    import cv2

    def find(frame, sigma, distance, **parameters):
        smooth = cv2.GaussianBlur(frame, (0, 0), sigma) if sigma > 0 else frame
        found = cv2.HoughCircles(
            smooth, getattr(cv2, method), minDist=distance, minRadius=MIN_RADIUS, maxRadius=MAX_RADIUS, **parameters
        )
        return (found[0, :, 0], found[0, :, 1]) if found is not None else ([], [])

    return cv2.__version__, find


# `settings` have the highest F1 over the seeds 101 to 103 with amplitudes 10, 15 and 30. `grid` has the values that
# `--tune` tries; they refine coarser grids that were tried before.
METHODS = {
    "hough_circle of scikit-image": {
        "open": open_skimage,
        "settings": {"sigma": 3, "high": 34, "low": 0.5, "threshold": 0.5, "distance": 12},
        "grid": {
            "sigma": [3],
            "high": [17, 20, 24, 28, 34, 40, 48],
            "low": [0.5],
            "threshold": [0.5],
            "distance": [12],
        },
    },
    "HOUGH_GRADIENT of OpenCV": {
        "open": lambda: open_opencv("HOUGH_GRADIENT"),
        "settings": {"sigma": 0.7, "distance": 14, "dp": 1, "param1": 80, "param2": 13},
        "grid": {
            "sigma": [0, 0.7, 1, 1.3, 1.6],
            "distance": [14],
            "dp": [1, 1.5],
            "param1": [80, 100, 120, 150],
            "param2": [8, 10, 11, 12, 13, 14],
        },
    },
    "HOUGH_GRADIENT_ALT of OpenCV": {
        "open": lambda: open_opencv("HOUGH_GRADIENT_ALT"),
        "settings": {"sigma": 1, "distance": 14, "dp": 1.5, "param1": 250, "param2": 0.2},
        "grid": {
            "sigma": [0, 1, 1.5, 2],
            "distance": [14],
            "dp": [1.5, 2],
            "param1": [150, 200, 250, 300],
            "param2": [0.2, 0.4, 0.6],
        },
    },
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("frames")
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    frames = np.fromfile(options.frames, np.uint8).reshape(-1, options.height, options.width)
    for name, method in METHODS.items():
        try:
            version, find = method["open"]()
        except ImportError as error:
            print(json.dumps({"name": name, "missing": str(error)}), flush=True)
            continue
        for settings in each_of(method["grid"]) if options.tune else [method["settings"]]:
            found = measured(lambda frame: find(frame, **settings), frames, 1 if options.tune else options.rounds)
            print(json.dumps({"name": name, "version": version, "settings": settings, **found}), flush=True)


def each_of(grid):
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def measured(find, frames, rounds):
    xs, ys, ms = [], [], []
    find(frames[0])
    for frame in frames:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            x, y = find(frame)
            times.append(1000 * (time.perf_counter() - start))
        xs.append([float(value) for value in x])
        ys.append([float(value) for value in y])
        ms.append(statistics.median(times))
    return {"x": xs, "y": ys, "ms": ms}


if __name__ == "__main__":
    main()
