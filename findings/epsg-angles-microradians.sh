#!/usr/bin/env bash
# epsg-index 2.0.0: of seven parameters of a datum (+towgs84), the three angles of some systems are in another unit or have the
# other sign than PROJ and proj4 expect. Nothing tells; places are up to 177 m off in the Netherlands and 67 m in Belgium.
# Seen: the tower in Amersfoort, which is at 155000 463000 by definition and at 52.15517 N 5.38720 E, comes to 52.15579 N 5.38950 E, 171 m away.
# The parameters of the Netherlands in the EPSG registry: -0.398957, 0.343988 and -1.8774 arc seconds, which are 1.9342, -1.6677
# and 9.1019 microradians but for the sign.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent proj4@2.22.0 epsg-index@2.0.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import proj4 from 'proj4';

const { proj4: stated } = createRequire(import.meta.url)('epsg-index/s/28992.json');
const right = stated.replace(/1\.9342,-1\.6677,9\.1019/, '-0.398957,0.343988,-1.8774');
assert.notEqual(right, stated);
const tower = [5.3872, 52.15517];
const metres = ([x, y]) => Math.hypot((x - tower[0]) * 68_300, (y - tower[1]) * 111_250);
const [byIndex, byRegistry] = [stated, right].map((text) => proj4(text, proj4.WGS84, [155_000, 463_000]));
console.log({ stated, byIndex, byRegistry }, metres(byIndex), metres(byRegistry));
assert.ok(metres(byRegistry) < 3);
assert.ok(metres(byIndex) > 100);
SCRIPT
node run.mjs
