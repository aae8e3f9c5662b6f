#!/usr/bin/env bash
# proj4 2.22.0: Esri's well-known text of the polar stereographic projection (EPSG:3413, as in .prj files) is read without its
# standard parallel. A place is two thousand kilometres away, and come back to themselves by the inverse, so that
# nothing tells. The same system in words of PROJ is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent proj4@2.22.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import proj4 from 'proj4';

const esri =
  'PROJCS["WGS_1984_NSIDC_Sea_Ice_Polar_Stereographic_North",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",' +
  'SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],' +
  'PROJECTION["Stereographic_North_Pole"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],' +
  'PARAMETER["Central_Meridian",-45.0],PARAMETER["Standard_Parallel_1",70.0],UNIT["Meter",1.0]]';
const words = '+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +x_0=0 +y_0=0 +datum=WGS84 +units=m';
const place = [-45, 80];
const [byText, byWords] = [esri, words].map((system) => proj4(system, place));
console.log({ byText, byWords });
const back = proj4(esri, proj4.WGS84, byText);
assert.ok(Math.hypot(back[0] - place[0], back[1] - place[1]) < 1e-6);
assert.ok(Math.hypot(byText[0] - byWords[0], byText[1] - byWords[1]) > 1_000_000);
SCRIPT
node run.mjs
