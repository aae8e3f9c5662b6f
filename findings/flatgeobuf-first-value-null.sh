#!/usr/bin/env bash
# flatgeobuf 4.5.0, writing from GeoJSON: types of columns come from the first feature alone. If its value is null, the column is
# of strings, and the numbers of all other features come back as strings. If its value is a number, strings of later features
# are stored as NaN. Neither gives an error.
# Seen: null, 7 comes back as (absent), "7". 7, "abc" comes back as 7, NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent flatgeobuf@4.5.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import { geojson } from 'flatgeobuf';

const back = async (...values) => {
  const geometry = { type: 'Point', coordinates: [1, 2] };
  const features = values.map((value) => ({ type: 'Feature', properties: { value }, geometry }));
  const bytes = geojson.serialize({ type: 'FeatureCollection', features });
  const read = [];
  for await (const feature of geojson.deserialize(bytes)) read.push(feature.properties.value);
  return read;
};
const afterNull = await back(null, 7);
console.log('null, 7 comes back as', afterNull);
assert.deepEqual(afterNull, [undefined, '7']);
const afterNumber = await back(7, 'abc');
console.log('7, "abc" comes back as', afterNumber);
assert.deepEqual(afterNumber, [7, NaN]);
SCRIPT
node run.mjs
