#!/usr/bin/env bash
# proj4 2.22.0: a text for PROJ that leaves out an origin of 0, as PROJ allows, gives NaN for some projections, and a number for
# others. Seen: NaN for laea, aea, sterea, cea, poly and eqdc; numbers for tmerc, merc, utm and stere.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent proj4@2.22.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import proj4 from 'proj4';

const at = (text) => proj4('+proj=longlat +datum=WGS84', `+proj=${text} +datum=WGS84`, [12, 49]);
for (const text of ['tmerc +lon_0=9', 'merc', 'utm +zone=32', 'stere +lat_0=90']) {
  console.log(text, at(text));
  assert.ok(at(text).every(Number.isFinite));
}
for (const text of ['laea +lat_0=48 +lon_0=11', 'sterea +lat_0=48 +lon_0=11', 'aea +lat_1=40 +lat_2=50', 'cea', 'eqdc +lat_1=40 +lat_2=50']) {
  console.log(text, at(text), at(`${text} +x_0=0 +y_0=0 +lat_0=0 +lon_0=0`));
  assert.ok(at(text).some(Number.isNaN));
  assert.ok(at(`${text} +x_0=0 +y_0=0 +lat_0=0 +lon_0=0`).every(Number.isFinite));
}
SCRIPT
node run.mjs
