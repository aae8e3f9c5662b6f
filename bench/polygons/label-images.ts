import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { machine, median } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { congruential } from '../shared/random.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

/**
 * Times `compare --regions labels` on label images in which every label consists of `--parts` discs at arbitrary
 * places. With several discs per label, nearly all bounding boxes intersect. The times are compared with those of two
 * methods in numpy (`bench/polygons/label-peer.py`). All times include reading the images.
 *
 * node --import tsx bench/polygons/label-images.ts [--labels 1500] [--parts 1,4,9] [--size 4000] [--radius 12] [--rounds 3]
 *   [--python python3]
 */
const options = programOptions({
  ...{ labels: 1500, parts: [1, 4, 9], size: 4000, radius: 12 },
  ...{ rounds: 3, python: 'python3' },
});
const run = promisify(execFile);
const { size } = options;
await using scratch = await temporaryFolder('quadrille-labels-');
const folder = scratch.path;
console.log(`machine  ${machine()}`);
for (const parts of options.parts) await measure(parts);

async function measure(parts: number): Promise<void> {
  const files = [join(folder, 'a.png'), join(folder, 'b.png')] as const;
  const centres = randomCentres(parts);
  for (const [i, file] of files.entries()) await writeFile(file, png16(drawDiscs(centres, 2 * i)));
  const seconds: number[] = [];
  let printed = '';
  for (let round = 0; round < options.rounds; round++) {
    const started = performance.now();
    const words = ['cli/quadrille.mjs', 'compare', ...files, '--regions', 'labels', '--quiet'];
    printed = (await run(process.execPath, words)).stdout.trim();
    seconds.push((performance.now() - started) / 1000);
  }
  const peer = await run(options.python, ['bench/polygons/label-peer.py', ...files]);
  console.log(`${options.labels} labels in ${parts} parts, ${size} × ${size}`);
  console.log(`  quadrille  ${median(seconds).toFixed(2)} s, whole process; J′ ${printed}`);
  for (const line of peer.stdout.trim().split('\n')) console.log(`  numpy ${line}`);
}

interface Disc {
  readonly label: number;
  readonly x: number;
  readonly y: number;
}

/** Discs at pseudo-random positions, the same in every run. */
function randomCentres(parts: number): Disc[] {
  const random = congruential(1);
  const next = (max: number): number => Math.floor(random() * max);
  return Array.from({ length: options.labels * parts }, (_, disc) => {
    return { label: 1 + Math.floor(disc / parts), x: next(size), y: next(size) };
  });
}

function drawDiscs(discs: readonly Disc[], shift: number): Uint16Array {
  const labels = new Uint16Array(size * size);
  const { radius } = options;
  for (const { label, x, y } of discs) {
    for (let row = Math.max(0, y - radius); row <= Math.min(size - 1, y + radius); row++) {
      const half = Math.floor(Math.sqrt(radius ** 2 - (row - y) ** 2));
      const [from, to] = [Math.max(0, x + shift - half), Math.min(size, x + shift + half + 1)];
      labels.fill(label, row * size + Math.min(from, size), row * size + to);
    }
  }
  return labels;
}

/** Encodes labels as a 16-bit grey PNG, without PNG's row filters. */
function png16(labels: Uint16Array): Uint8Array {
  const rows = new Uint8Array(size * (1 + 2 * size));
  for (let row = 0, at = 0; row < size; row++) {
    at++;
    for (let x = 0; x < size; x++) {
      rows[at++] = labels[row * size + x]! >> 8;
      rows[at++] = labels[row * size + x]! & 255;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header[8] = 16;
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 6 })),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...chunks]);
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const [head, tail] = [Buffer.alloc(4), Buffer.alloc(4)];
  head.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  tail.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, tail]);
}
