"""Reads {"from", "to", "points"} as JSON, and prints the points in the other system as GDAL computes them, or null."""

import json
import math
import sys

from osgeo import osr

osr.UseExceptions()


def system(name):
    found = osr.SpatialReference()
    found.SetFromUserInput(name)
    found.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    return found


def main():
    asked = json.load(sys.stdin)
    options = osr.CoordinateTransformationOptions()
    options.SetBallparkAllowed(False)
    change = osr.CoordinateTransformation(system(asked["from"]), system(asked["to"]), options)
    found = [place[:2] for place in change.TransformPoints(asked["points"])]
    json.dump([place if all(map(math.isfinite, place)) else None for place in found], sys.stdout)


main()
