"""Zonal histograms and statistics as a plain loop: a zone at a time, rasterised by GDAL and counted by numpy.

Needs python3-gdal and numpy. Used by the programs of bench/zonal:

    zonal-loop.py RASTER ZONES LAYER OUT.csv [LOW HIGH BINS] [--stats] [--stdev] [--median]

Writes a row for every zone that the raster meets: its cells with data, then min, max, mean and sum with `--stats`,
the standard deviation with `--stdev` and the median with `--median`. Histograms are counted if bins are given, but only their total is written. Zones
without an attribute `id` are named by their number.
"""

import csv
import math
import sys

import numpy as np
from osgeo import gdal, ogr

gdal.UseExceptions()


def main(raster, zones, layer, out, *rest):
    statistics, spread = "--stats" in rest, "--stdev" in rest
    numbers = [float(word) for word in rest if not word.startswith("--")]
    image = gdal.Open(raster)
    band = image.GetRasterBand(1)
    nodata = band.GetNoDataValue()
    source = ogr.Open(zones)
    with open(out, "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["zone", "cells", "counted", "min", "max", "mean", "sum"])
        features = source.GetLayerByName(layer)
        named = features.GetLayerDefn().GetFieldIndex("id") >= 0
        for feature in features:
            window = window_of(feature, image)
            if window is None:
                continue
            cells = band.ReadAsArray(*window)
            values = cells[rasterised(feature, image, window)]
            if nodata is not None:
                values = values[values != nodata]
            counted = histogram(values, numbers) if numbers else ""
            row = [feature.GetFieldAsString("id") if named else feature.GetFID(), len(values), counted]
            if statistics and len(values) > 0:
                row += [float(values.min()), float(values.max())]
                row += [values.mean(dtype=np.float64), values.sum(dtype=np.float64)]
            if spread and len(values) > 0:
                row.append(values.std(dtype=np.float64))
            if "--median" in rest and len(values) > 0:
                row.append(np.median(values))
            rows.writerow(row)


def window_of(feature, image):
    """The cells of the raster around a zone: first column and row, columns and rows."""
    x, dx, _, y, _, dy = image.GetGeoTransform()
    west, east, south, north = feature.GetGeometryRef().GetEnvelope()
    left = max(0, math.floor((west - x) / dx))
    right = min(image.RasterXSize, math.ceil((east - x) / dx))
    top = max(0, math.floor((north - y) / dy))
    bottom = min(image.RasterYSize, math.ceil((south - y) / dy))
    return (left, top, right - left, bottom - top) if left < right and top < bottom else None


def rasterised(feature, image, window):
    """A mask of the cells of a window whose centre lies in a zone."""
    left, top, columns, rows = window
    x, dx, _, y, _, dy = image.GetGeoTransform()
    mask = gdal.GetDriverByName("MEM").Create("", columns, rows, 1, gdal.GDT_Byte)
    mask.SetGeoTransform((x + left * dx, dx, 0, y + top * dy, 0, dy))
    mask.SetProjection(image.GetProjection())
    memory = ogr.GetDriverByName("Memory").CreateDataSource("")
    layer = memory.CreateLayer("zone", image.GetSpatialRef())
    layer.CreateFeature(feature)
    gdal.RasterizeLayer(mask, [1], layer, burn_values=[1])
    return mask.ReadAsArray() == 1


def histogram(values, numbers):
    low, high, bins = numbers
    counts, _ = np.histogram(values, bins=int(bins), range=(low, high))
    return counts.sum()


if __name__ == "__main__":
    main(*sys.argv[1:])
