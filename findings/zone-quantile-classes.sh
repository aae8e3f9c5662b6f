#!/usr/bin/env bash
# geoblaze 2.8.0 (with georaster 1.6.0): classes by quantiles of a histogram of a zone may hold more cells than the zone has, as a
# cell at the end of a class is counted in two classes. Classes of equal intervals are right.
# Seen: 16 cells of 1 to 16 in three classes: 6 + 6 + 5 = 17; by equal intervals: 6 + 5 + 5 = 16.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent geoblaze@2.8.0 georaster@1.6.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import geoblaze from 'geoblaze';
import parse from 'georaster';

const place = { noDataValue: -1, projection: 32632, xmin: 0, ymax: 4, pixelWidth: 1, pixelHeight: 1 };
const rows = [0, 1, 2, 3].map((row) => [1, 2, 3, 4].map((column) => 4 * row + column));
const raster = await parse([rows], place);
const zone = { type: 'Polygon', coordinates: [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]] };
const classes = async (classType) => {
  const [histogram] = await geoblaze.histogram(raster, zone, { scaleType: 'ratio', numClasses: 3, classType });
  console.log(classType, JSON.stringify(histogram));
  return Object.values(histogram).reduce((sum, cells) => sum + cells, 0);
};
assert.equal(await classes('equal-interval'), 16);
assert.equal(await classes('quantile'), 17);
SCRIPT
node run.mjs
