import { largestOf, smallestOf } from '../../../primitives/host/extremes.ts';
import type { Code } from '../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../wasm/wasm-encoder.ts';
import { type Int32, i32, load } from '../wasm/wasm-expressions.ts';
import { call, copyMemory, store } from '../wasm/wasm-statements.ts';
import { ARGUMENTS, CHUNK, CHUNK_SIZE, kernelCode, WORKER } from './kernel-arguments.ts';
import type { Launch, Launcher, Phase, Tiles, Use } from './launch.ts';

/**
 * A launch that can be fused with others over the same rows. Fused commands run tile by tile: a worker runs all
 * commands on one tile before it starts the next tile. Data that one command writes is therefore still in the cache
 * when the next command reads it.
 *
 * Fusion must not change the results. A command therefore must not write memory that another fused command reads or
 * writes. Memory that both commands use in place is an exception: at each index, both commands access only the same
 * single word. A fused scan waits for the preceding tile. Tiles are taken in order, so the preceding tile is already
 * done or in progress.
 *
 * A column that only passes data from one command to a later one is not written to memory as a whole. Instead, each
 * worker has scratch memory for one tile of the column, and a private copy of the arguments that refers to this scratch
 * memory.
 */
export type TiledLaunch = Launch & { readonly tiles: Tiles };

/** Maximum number of fused commands. The tiles of more columns would not fit in the cache together. */
const MAX_FUSED = 8;

/** A launch that can be fused, and the memory that it uses. */
export interface Fusable {
  readonly launch: TiledLaunch;
  readonly uses: readonly Use[];
}

/**
 * Whether a command can be fused with earlier commands. It must read data that the earlier commands write, and running
 * all of them tile by tile must be safe.
 */
export function followsInTiles(earlier: readonly Fusable[], next: Fusable): boolean {
  if (earlier.length >= MAX_FUSED || !earlier.some((one) => feeds(one, next))) return false;
  return earlier.every(
    (one) =>
      sameTiles(one.launch, next.launch) && one.uses.every((use) => next.uses.every((other) => agree(use, other))),
  );
}

function feeds(one: Fusable, next: Fusable): boolean {
  const written = one.uses.filter(({ writes }) => writes);
  return next.uses.some((use) => !use.writes && written.some((other) => overlap(use, other)));
}

function overlap(a: Unused, b: Unused): boolean {
  return a.from < b.to && b.from < a.to;
}

function sameTiles(a: TiledLaunch, b: TiledLaunch): boolean {
  const [first, second] = [a.phases.at(-1)!, b.phases.at(-1)!];
  if (!first.length.every((word, k) => word === second.length[k])) return false;
  if (first.chunkSize === second.chunkSize) return true;
  const larger = first.chunkSize > second.chunkSize ? a : b;
  return larger.tiles.anySize;
}

function agree(a: Use, b: Use): boolean {
  if (!a.writes && !b.writes) return true;
  if (!overlap(a, b)) return true;
  return a.inPlace && b.inPlace && a.from === b.from;
}

/** A range of memory, `to` exclusive, whose contents are not needed after the fused commands. */
export interface Unused {
  readonly from: number;
  readonly to: number;
}

/** The services that fusion needs. */
export type FusionHost = Pick<Launcher, 'workers' | 'compile' | 'scratch'>;

/** Index of the argument word that contains the number of rows per tile. */
const TILE_WORD = 3;

/**
 * Fuses several launches into one. All phases except the last phase of each launch come first. The last phases of all
 * launches then become a single phase.
 */
export function fuseTiles(commands: readonly Fusable[], unused: readonly Unused[], host: FusionHost): Launch {
  const launches = commands.map(({ launch }) => launch);
  const last = launches.map(({ phases }) => phases.at(-1)!);
  const chunkSize = smallestOf(last.map((phase) => phase.chunkSize));
  const offsets = launches.map((_, k) => launches.slice(0, k).reduce((sum, { words }) => sum + words.length, 0));
  const words = launches.flatMap((launch) => launch.words.with(TILE_WORD, chunkSize));
  const passing = unused.map((memory) => passingWords(commands, offsets, memory)).filter((found) => found.length > 0);
  // Addresses that are appended to the arguments: first the address of the workers' copies of the arguments, then the
  // address of the scratch memory of each passed column.
  const room = passing.length === 0 ? [] : [host.scratch(4 * words.length * host.workers)];
  for (const _ of passing) room.push(host.scratch(4 * chunkSize * host.workers));

  const key = launches.map(({ tiles }, k) => `${offsets[k]} ${tiles.key}`).join(' then ');
  const kernel = host.compile(`tiles ${key} passing ${passing.join(' and ')}`, () =>
    fusedBodies(launches, offsets, words.length, passing),
  );
  const parts = launches.reduce((sum, { phases }) => sum + phases.length, 0);
  const wrappers = kernel.functions.slice(parts);
  const first = launches.flatMap(({ phases }) => phases.slice(0, -1));
  const minimum = largestOf(last.map((phase) => phase.minimum));
  const phases: Phase[] = [...first, { ...last[0]!, chunkSize, minimum }].map((phase, k) => ({
    ...phase,
    run: wrappers[k]!,
  }));
  return { words: [...words, ...room], phases };
}

/**
 * Indices of the argument words that contain the address of `memory`. Empty unless the memory is only used to pass data
 * from one command to later ones.
 */
function passingWords(commands: readonly Fusable[], offsets: readonly number[], memory: Unused): number[] {
  const uses = commands.flatMap(({ uses }, k) =>
    uses.filter((use) => overlap(use, memory)).map((use) => ({ ...use, at: offsets[k]! + (use.word ?? 0) })),
  );
  const alike = uses.every((use) => use.inPlace && use.from === uses[0]!.from);
  const passes = uses[0]?.whole === true && alike && uses.some(({ writes }) => !writes);
  return passes ? uses.map(({ at }) => at) : [];
}

/**
 * Emits the functions of all launches, then a wrapper function for each phase of the fused launch. A wrapper calls all
 * functions of its phase. Each function gets the address of its launch's arguments in the argument block.
 */
function fusedBodies(
  launches: readonly TiledLaunch[],
  offsets: readonly number[],
  words: number,
  passing: readonly (readonly number[])[],
): readonly FunctionBody[] {
  const bodies = launches.map(({ tiles }) => tiles.build());
  const starts = bodies.map((_, k) => bodies.slice(0, k).flat().length);
  const calls = bodies.map((own, k) => own.map((_, i): Call => ({ callee: starts[k]! + i, offset: offsets[k]! })));
  const before = calls.flatMap((own) => own.slice(0, -1));
  const last = calls.map((own) => own.at(-1)!);
  return [...bodies.flat(), ...before.map((call) => emitCalls([call], words, [])), emitCalls(last, words, passing)];
}

interface Call {
  readonly callee: number;
  /** Number of words before the callee's arguments in the argument block. */
  readonly offset: number;
}

function emitCalls(calls: readonly Call[], words: number, passing: readonly (readonly number[])[]): FunctionBody {
  const code = kernelCode();
  const args = passing.length > 0 ? emitOwnArguments(code, words, passing) : ARGUMENTS;
  for (const { callee, offset } of calls) call(code, callee, [args.add(4 * offset), CHUNK, WORKER]);
  return code.finish();
}

/**
 * Copies the argument block into the worker's scratch memory, and returns a local with the copy's address. In the copy,
 * the address of each passed column is chosen so that the indices of the worker's tile fall into the scratch memory.
 */
function emitOwnArguments(code: Code, words: number, passing: readonly (readonly number[])[]): Int32 {
  const own = code.local(I32);
  const tile = code.local(I32);
  const block = load(ARGUMENTS, 4 * words).add(WORKER.mul(4 * words));
  copyMemory(code, own.tee(block), ARGUMENTS, i32(4 * words));
  for (const [k, places] of passing.entries()) {
    const room = load(ARGUMENTS, 4 * (words + 1 + k));
    tile.set(room.add(WORKER.sub(CHUNK).mul(CHUNK_SIZE.mul(4))));
    for (const place of places) store(code, own, tile, 4 * place);
  }
  return own;
}
