#!/usr/bin/env bash
# geoblaze 2.8.0 (with georaster 1.6.0): the mode of a zone whose most frequent values are several is their mean, a value that no
# cell may have. GDAL and exactextract take the greatest of them, rasterstats and terra the smallest.
# Seen: cells 10, 10, 40, 40, 50 (classes of land use, say) have the mode 25.
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

const place = { noDataValue: 0, projection: 32632, xmin: 0, ymax: 1, pixelWidth: 1, pixelHeight: 1 };
const raster = await parse([[[10, 10, 40, 40, 50]]], place);
const zone = { type: 'Polygon', coordinates: [[[0, 0], [5, 0], [5, 1], [0, 1], [0, 0]]] };
const [mode] = await geoblaze.mode(raster, zone);
console.log('cells 10, 10, 40, 40, 50 have the mode', mode);
assert.equal(mode, 25);
SCRIPT
node run.mjs
