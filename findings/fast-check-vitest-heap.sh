#!/usr/bin/env bash
# @fast-check/vitest 0.5.0 with vitest 4.1.12: importing it makes a variant of `test` for each order of its modifiers
# (`skip.only.fails…`), tens of thousands. They stay in the heap of every process that runs tests, where each full garbage
# collection visits them. Seen: the heap has 9 MB with fast-check alone, and 238 MB after the import.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent vitest@4.1.12 fast-check@4.10.2 @fast-check/vitest@0.5.0 >/dev/null
cat >heap.test.mjs <<'SCRIPT'
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const megabytes = () => {
  collect();
  return Math.round(process.memoryUsage().heapUsed / 2 ** 20);
};
test('the heap', async () => {
  await import('fast-check');
  const before = megabytes();
  await import('@fast-check/vitest');
  const after = megabytes();
  console.log(`heap after fast-check: ${before} MB; after @fast-check/vitest: ${after} MB`);
  expect(before).toBeLessThan(60);
  expect(after).toBeGreaterThan(150);
});
SCRIPT
npx vitest run --reporter=default heap.test.mjs
echo 'seen: as stated above'
