"""Writes JPEGs, or times how GDAL decodes them, on one thread.

    jpeg.py write FOLDER FRAMES WIDTH HEIGHT    frames N.jpg of colours, chroma of half the size; four.tif of four bands
    jpeg.py time FOLDER ROUNDS                  prints, as JSON, the seconds of each round for the frames and for four.tif
"""

import json
import os
import pathlib
import sys
import time

import numpy as np

os.environ['GDAL_NUM_THREADS'] = '1'
from osgeo import gdal

gdal.UseExceptions()
what, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def picture(width, height, bands, shift):
    """Waves with noise, about as hard to compress as a photograph."""
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(shift).normal(0, 6, (bands, height, width))
    waves = [128 + 60 * np.sin((x + 3 * shift) / (9 + 4 * band)) * np.cos(y / (13 + 3 * band)) for band in range(bands)]
    return np.clip(np.array(waves) + noise, 0, 255).astype(np.uint8)


def in_memory(values):
    bands, height, width = values.shape
    raster = gdal.GetDriverByName('MEM').Create('', width, height, bands, gdal.GDT_Byte)
    raster.SetGeoTransform((0, 1, 0, height, 0, -1))
    for band in range(bands):
        raster.GetRasterBand(band + 1).WriteArray(values[band])
    return raster


def seconds(work, rounds):
    took = []
    for _ in range(rounds + 1):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return took[1:]


if what == 'write':
    frames, width, height = map(int, sys.argv[3:6])
    for frame in range(frames):
        raster = in_memory(picture(width, height, 3, frame))
        gdal.GetDriverByName('JPEG').CreateCopy(str(folder / f'{frame}.jpg'), raster, options=['QUALITY=75'])
    tiled = ['COMPRESS=JPEG', 'TILED=YES', 'BLOCKXSIZE=512', 'BLOCKYSIZE=512', 'INTERLEAVE=PIXEL', 'PHOTOMETRIC=MINISBLACK']
    gdal.GetDriverByName('GTiff').CreateCopy(str(folder / 'four.tif'), in_memory(picture(4096, 4096, 4, 0)), options=tiled)
else:
    rounds = int(sys.argv[3])
    names = []
    for path in sorted(folder.glob('*.jpg')):
        names.append(f'/vsimem/{path.name}')
        gdal.FileFromMemBuffer(names[-1], path.read_bytes())
    frames = seconds(lambda: [gdal.Open(name).ReadAsArray() for name in names], rounds)
    four = seconds(lambda: gdal.Open(str(folder / 'four.tif')).ReadAsArray(), rounds)
    print(json.dumps({'version': gdal.__version__, 'frames': frames, 'four': four}))
