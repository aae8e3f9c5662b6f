"""Writes GeoTIFFs with overviews, and prints what GDAL reads of these: specs come from stdin as JSON."""
import base64
import json
import os
import sys

import numpy as np
from osgeo import gdal

gdal.UseExceptions()
TYPES = {"u8": gdal.GDT_Byte, "i16": gdal.GDT_Int16, "u16": gdal.GDT_UInt16, "f32": gdal.GDT_Float32, "f64": gdal.GDT_Float64}


def write(spec, path):
    width, height, masked = spec["width"], spec["height"], spec["masked"]
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "NO" if masked == "beside" else "YES")
    random = np.random.default_rng(spec["seed"])
    kind = {"u8": "u1", "i16": "i2", "u16": "u2", "f32": "f4", "f64": "f8"}[spec["sample"]]
    cells = random.integers(0, 200, (height, width)).astype(kind)
    memory = gdal.GetDriverByName("MEM").Create("", width, height, spec["bands"], TYPES[spec["sample"]])
    memory.SetGeoTransform([10, 0.5, 0, 60, 0, -0.25])
    band = memory.GetRasterBand(1)
    if masked == "nodata":
        band.SetNoDataValue(7)
        cells[: height // 2, : width // 3] = 7
    for number in range(1, spec["bands"] + 1):
        memory.GetRasterBand(number).WriteArray(cells if number == 1 else cells[::-1])
    if masked in ("inside", "beside"):
        memory.CreateMaskBand(gdal.GMF_PER_DATASET)
        mask = np.full((height, width), 255, "u1")
        mask[height // 4 : height // 2, : width // 2] = 0
        band.GetMaskBand().WriteArray(mask)
    resampling = spec["resampling"]
    if spec["kind"] == "cog":
        options = ["BLOCKSIZE=128", "COMPRESS=" + spec["compress"], "OVERVIEW_RESAMPLING=" + resampling]
        gdal.Translate(path, memory, format="COG", creationOptions=options)
        return
    options = ["TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16", "COMPRESS=" + spec["compress"]]
    gdal.Translate(path, memory, creationOptions=options)
    dataset = gdal.Open(path, gdal.GA_Update if spec["kind"] == "inside" else gdal.GA_ReadOnly)
    dataset.BuildOverviews(resampling, [2, 3, 8])


def overviews(path):
    # Bands do not keep their dataset open.
    dataset = gdal.Open(path)
    band = dataset.GetRasterBand(1)
    for at in range(band.GetOverviewCount()):
        overview = band.GetOverview(at)
        mask = overview.GetMaskBand().ReadAsArray() if overview.GetMaskFlags() == gdal.GMF_PER_DATASET else None
        yield {
            "width": overview.XSize,
            "height": overview.YSize,
            "cells": base64.b64encode(overview.ReadAsArray().tobytes()).decode(),
            "mask": None if mask is None else base64.b64encode((mask > 0).astype("u1").tobytes()).decode(),
        }


found = []
for at, spec in enumerate(json.load(sys.stdin)):
    path = os.path.join(sys.argv[1], f"{at}.tif")
    write(spec, path)
    found.append({"path": path, "overviews": list(overviews(path))})
json.dump(found, sys.stdout)
