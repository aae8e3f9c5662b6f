#!/usr/bin/env bash
# geotiff 3.0.5: writeArrayBuffer stores the samples of an Int16Array or Int32Array wrongly, without an error. The header says
# 16 or 32 bits; samples are written as if they had 8. Its own reader and GDAL 3.6.2 read the same wrong numbers. Arrays of
# Uint8, Uint16, Uint32, Float32 and Float64 are right.
# Seen: Int16 1, 2, 300, -4 comes back as 258, 11516, 0, 0; Int32 as 16919804, 0, 0, 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent geotiff@3.0.5 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import { fromArrayBuffer, writeArrayBuffer } from 'geotiff';

const back = async (samples) => {
  const size = { width: 2, height: 2 };
  const place = { GeographicTypeGeoKey: 4326, ModelPixelScale: [1, 1, 0], ModelTiepoint: [0, 0, 0, 0, 2, 0] };
  const image = await (await fromArrayBuffer(writeArrayBuffer(samples, { ...size, ...place }))).getImage();
  const [band] = await image.readRasters();
  return [...band];
};
for (const type of [Uint16Array, Uint32Array, Float32Array, Float64Array]) {
  assert.deepEqual(await back(new type([1, 2, 300, 4])), [1, 2, 300, 4]);
}
for (const type of [Int16Array, Int32Array]) {
  const read = await back(new type([1, 2, 300, -4]));
  console.log(type.name, '1, 2, 300, -4 comes back as', read.join(', '));
  assert.notDeepEqual(read, [1, 2, 300, -4]);
  assert.deepEqual(read.slice(2), [0, 0]);
}
SCRIPT
node run.mjs
