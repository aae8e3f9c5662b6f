import { ARGUMENTS, CHUNK, kernelParameters, WORKER } from './kernel-arguments.ts';
import type { Launch, Launcher, Phase, Tiles, Use } from './launch.ts';
import { Code } from './wasm-code.ts';
import { type FunctionBody, op } from './wasm-encoder.ts';

/**
 * Commands that follow each other over the same rows run tile by tile: a worker takes a tile through all of them before it
 * takes the next one, so that what one command writes is still in the cache when the next one reads it.
 *
 * That is the same as one after the other where no command uses memory that an earlier one writes, or writes memory that
 * an earlier one uses, but in place: index i of both uses the same word and no other. A scan waits for the tile before, which
 * is at work or done, as tiles are taken in order.
 */
export type TiledLaunch = Launch & { readonly tiles: Tiles };

/** More columns than this would not fit the cache beside each other. */
const MOST_FUSED = 8;

/** A command that waits for others to run with. */
export interface Fusable {
  readonly launch: TiledLaunch;
  readonly uses: readonly Use[];
}

/** Whether a command may run tile by tile with earlier ones, after them. */
export function followsInTiles(earlier: readonly Fusable[], next: Fusable): boolean {
  if (earlier.length >= MOST_FUSED) return false;
  return earlier.every(
    (one) =>
      sameTiles(one.launch, next.launch) && one.uses.every((use) => next.uses.every((other) => agree(use, other))),
  );
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
  if (a.to <= b.from || b.to <= a.from) return true;
  return a.inPlace && b.inPlace && a.from === b.from;
}

/** The word of a block of arguments that says how many rows a tile has. */
const TILE_WORD = 3;

/** One launch of several: what each does before its last phase, then the last phases as one. */
export function fuseTiles(launches: readonly TiledLaunch[], compile: Launcher['compile']): Launch {
  const last = launches.map(({ phases }) => phases.at(-1)!);
  const chunkSize = Math.min(...last.map((phase) => phase.chunkSize));
  const offsets = launches.map((_, k) => launches.slice(0, k).reduce((sum, { words }) => sum + words.length, 0));
  const key = launches.map(({ tiles }, k) => `${offsets[k]} ${tiles.key}`).join(' then ');
  const kernel = compile(`tiles ${key}`, () => fusedBodies(launches, offsets));
  const counts = launches.map(({ phases }) => phases.length);
  const parts = counts.reduce((sum, count) => sum + count, 0);
  const first = launches.flatMap(({ phases }) => phases.slice(0, -1));
  const wrappers = kernel.functions.slice(parts);
  const minimum = Math.max(...last.map((phase) => phase.minimum));
  const phases: Phase[] = [...first, { ...last[0]!, chunkSize, minimum }].map((phase, k) => ({
    ...phase,
    run: wrappers[k]!,
  }));
  return { words: launches.flatMap(({ words }) => words.with(TILE_WORD, chunkSize)), phases };
}

/** The functions of all launches; then, for every phase, one that calls them, each with its own block of arguments. */
function fusedBodies(launches: readonly TiledLaunch[], offsets: readonly number[]): readonly FunctionBody[] {
  const bodies = launches.map(({ tiles }) => tiles.build());
  const starts = bodies.map((_, k) => bodies.slice(0, k).flat().length);
  const calls = bodies.map((own, k) => own.map((_, i): Call => ({ callee: starts[k]! + i, offset: offsets[k]! })));
  const before = calls.flatMap((own) => own.slice(0, -1));
  return [...bodies.flat(), ...before.map((call) => emitCalls([call])), emitCalls(calls.map((own) => own.at(-1)!))];
}

interface Call {
  readonly callee: number;
  /** Words before its arguments. */
  readonly offset: number;
}

function emitCalls(calls: readonly Call[]): FunctionBody {
  const code = new Code(kernelParameters);
  for (const { callee, offset } of calls) {
    code.get(ARGUMENTS);
    code.i32(4 * offset);
    code.op(op.i32Add);
    code.get(CHUNK);
    code.get(WORKER);
    code.call(callee);
  }
  return code.finish();
}
