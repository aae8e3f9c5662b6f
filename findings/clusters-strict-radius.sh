#!/usr/bin/env bash
# density-clustering 1.3.0: DBSCAN takes points for neighbours only if they are nearer than the radius, where Ester, Kriegel,
# Sander and Xu (1996) take those at the radius too. A point at the border of a cluster that is visited before its core is a
# member of the cluster and stays in the list of noise.
# Seen: 0, 1, 2 with radius 1 and 2 points: no cluster. 0, 1, 2, 10 with radius 1.5 and 3 points: cluster 1, 0, 2; noise 0, 3.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent density-clustering@1.3.0 >/dev/null
cat >run.mjs <<'SCRIPT'
import assert from 'node:assert/strict';
import clustering from 'density-clustering';

const dbscan = new clustering.DBSCAN();
const atTheRadius = dbscan.run([[0], [1], [2]], 1, 2);
console.log('points 0, 1, 2, radius 1, at least 2 points:', JSON.stringify(atTheRadius), 'noise', JSON.stringify(dbscan.noise));
assert.deepEqual(atTheRadius, []);
assert.deepEqual(dbscan.noise, [0, 1, 2]);
const clusters = dbscan.run([[0], [1], [2], [10]], 1.5, 3);
console.log('points 0, 1, 2, 10, radius 1.5, at least 3 points:', JSON.stringify(clusters), 'noise', JSON.stringify(dbscan.noise));
assert.deepEqual(clusters, [[1, 0, 2]]);
assert.deepEqual(dbscan.noise, [0, 3]);
SCRIPT
node run.mjs
