#!/usr/bin/env bash
# @mapbox/tile-cover 3.0.2: Web Mercator tiles end at 85.0511 degrees. A polygon that reaches beyond that has tiles above the
# first row, and they are handed out with a zoom that nobody asked for, as their negative rows run through bit operations.
# Seen: longitudes 0 to 10, latitudes 80 to 89, zoom 3: [4,0,3] [-11,0,-29] [-11,-1,-29] [-11,-2,-29]. To 85 degrees: [4,0,3].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @mapbox/tile-cover@3.0.2 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import * as cover from '@mapbox/tile-cover';

const tiles = (north) => {
  const coordinates = [[[0, 80], [10, 80], [10, north], [0, north], [0, 80]]];
  return cover.tiles({ type: 'Polygon', coordinates }, { min_zoom: 3, max_zoom: 3 });
};
console.log('to 85 degrees north:', JSON.stringify(tiles(85)));
console.log('to 89 degrees north:', JSON.stringify(tiles(89)));
assert.deepEqual(tiles(85), [[4, 0, 3]]);
assert.deepEqual([...new Set(tiles(89).map(([, , zoom]) => zoom))], [3, -29]);
SCRIPT
node run.mjs
