import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { QueueEvents } from 'bullmq';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { machine, median, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { startRedis } from './redis-server.ts';

/**
 * Two GPUs beside one: `quadrille zonal --merge --queue` on packed rasters, with a worker for each GPU, in rounds that take
 * turns. A run is timed from the first partition that a worker takes to the last result, by the clock of the Redis server.
 * All runs must write the same bytes.
 *
 * node --import tsx bench/queues/cards.ts --files 'FOLDER/*.qbp' [--gpus 0,1] [--lanes 1] [--rounds 5]
 */
const options = programOptions({
  ...{ files: undefined, gpus: [0, 1], lanes: 1, rounds: 5, backend: 'webgpu', bins: '0:5000:1' },
});
if (options.files === undefined) throw new Error('Give --files of packed rasters.');

const project = fileURLToPath(new URL('../..', import.meta.url));
const program = join(project, 'cli/quadrille.mjs');
const zones = join(project, 'node_modules/us-atlas/counties-10m.json');
await using scratch = await temporaryFolder('quadrille-cards-');
const folder = scratch.path;
const { server, port, url } = await startRedis(folder);
const workers: ChildProcess[] = [];
const hashes = new Set<string>();
const seconds = new Map(options.gpus.map((_, more): [number, number[]] => [more + 1, []]));
try {
  // Each number of GPUs has a queue with workers of its own, which stay: warm, and idle while the others work.
  for (const count of seconds.keys()) {
    for (const gpu of options.gpus.slice(0, count)) workers.push(await startWorker(gpu, queueOf(count)));
  }
  for (let round = -1; round < options.rounds; round++) {
    for (const [count, took] of seconds) {
      const times: number[] = [];
      // The ids of a stream begin with milliseconds.
      const note = (_: unknown, id: string): unknown => times.push(Number(id.split('-')[0]));
      const events = new QueueEvents(queueOf(count), { connection: { host: '127.0.0.1', port } });
      await events.waitUntilReady();
      events.on('active', note).on('completed', note);
      const from = performance.now();
      await countFiles(queueOf(count));
      const whole = (performance.now() - from) / 1000;
      await events.close();
      const span = (largestOf(times) - smallestOf(times)) / 1000;
      if (round >= 0) took.push(span);
      console.log(`${count} GPUs: ${span.toFixed(2)} s of ${whole.toFixed(2)} s for the whole command`);
    }
  }
  for (const worker of workers) worker.kill('SIGTERM');
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
} finally {
  for (const worker of workers) worker.kill('SIGKILL');
  server.kill();
}
if (hashes.size !== 1) throw new Error('The runs wrote different bytes.');
const one = median(seconds.get(1)!);
console.log(machine());
for (const [count, took] of seconds) {
  console.log(`${count} GPUs: ${spread(took)} s, ${(one / median(took)).toFixed(2)} times one`);
}

/** The name of the queue that so many GPUs serve. */
function queueOf(count: number): string {
  return `cards-${count}`;
}

function placeOf(queue: string): string[] {
  return ['--queue', url, '--queue-folder', folder, '--queue-name', queue];
}

/** Counts all files on a queue, and notes what was written. */
async function countFiles(queue: string): Promise<void> {
  const out = join(folder, 'out.csv');
  const args = ['zonal', '--zones', zones, '--layer', 'counties', '--raster', options.files!, '--merge'];
  const command = spawn(
    process.execPath,
    [program, ...args, '--bins', options.bins, '--out', out, '--quiet', ...placeOf(queue)],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const [code] = await once(command, 'exit');
  if (code !== 0) throw new Error(`The command ended with ${code}.`);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(out)) hash.update(chunk);
  hashes.add(hash.digest('hex'));
}

/** Starts a worker on a GPU, and waits until it takes jobs. */
async function startWorker(gpu: number, queue: string): Promise<ChildProcess> {
  const own = options.backend === 'webgpu' ? ['--gpu', String(gpu)] : [];
  const args = ['worker', ...placeOf(queue), '--backend', options.backend, ...own, '--lanes', String(options.lanes)];
  const worker = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface(worker.stderr!);
  const ready = new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      console.log(`GPU ${gpu}: ${line}`);
      if (line.includes('the queue')) resolve();
    });
    worker.once('exit', (code) => reject(new Error(`The worker of GPU ${gpu} ended with ${code}.`)));
  });
  await ready;
  return worker;
}
