#!/usr/bin/env bash
# lerc 4.2.0 (Esri's decoder for JavaScript): where several bands are stored as one blob each, and the first band has no valid
# cell, decode() gives zeros for all bands and marks all of their cells as invalid, without an error.
# Seen: a blob that is 5 everywhere comes back as 5, valid; behind a blob without valid cells, as 0, invalid.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent lerc@4.2.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import * as Lerc from 'lerc';

/** A blob of LERC 2.4 of 2 × 2 floats that are all equal, or all without a value. */
function blob(value) {
  const bytes = Buffer.alloc(70);
  bytes.write('Lerc2 ', 'latin1');
  bytes.writeInt32LE(4, 6);
  const integers = [2, 2, 1, value === undefined ? 0 : 4, 8, bytes.length, 6];
  for (const [i, integer] of integers.entries()) bytes.writeInt32LE(integer, 14 + 4 * i);
  for (const [i, double] of [0, value ?? 0, value ?? 0].entries()) bytes.writeDoubleLE(double, 42 + 8 * i);
  let [first, second] = [0xffff, 0xffff];
  for (let at = 14; at < bytes.length; at += 2) {
    first += bytes.readUInt16BE(at);
    second += first;
    first = (first & 0xffff) + (first >>> 16);
    second = (second & 0xffff) + (second >>> 16);
  }
  bytes.writeUInt32LE(((second << 16) | first) >>> 0, 10);
  return bytes;
}

await Lerc.load();
const read = (...bands) => {
  const { pixels, mask, bandMasks } = Lerc.decode(new Uint8Array(Buffer.concat(bands.map(blob))));
  const last = pixels.length - 1;
  return { value: pixels[last][0], valid: (bandMasks?.[last] ?? mask)?.[0] !== 0 };
};
console.log('alone:', read(5), 'as the second band:', read(undefined, 5), 'as the first band:', read(5, undefined));
assert.deepEqual(read(5), { value: 5, valid: true });
assert.deepEqual(read(3, 5), { value: 5, valid: true });
assert.deepEqual(read(undefined, 5), { value: 0, valid: false });
SCRIPT
node run.mjs
