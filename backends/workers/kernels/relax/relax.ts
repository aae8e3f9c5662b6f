import { capacityOf, type RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { argumentWords, lengthWords, shapeKey, shapeOf, takeOwnMemory } from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { monoidKey } from '../shared/monoid-code.ts';
import { emitChunkOfGrids, relaxWords } from './relax-chunk.ts';
import { formOf, ownBytes } from './relax-grid.ts';
import { emitRound } from './relax-round.ts';

/**
 * Approximate number of cells per chunk, if all grids have the maximum size. A grid with more cells than this forms a
 * chunk alone.
 */
const CHUNK_CELLS = 1024;
/** Maximum number of grids per chunk. */
const LARGEST_CHUNK = 64;

/** Relaxes many grids in one parallel phase. A single thread runs all rounds of a grid. */
export function launchRelax(launcher: Launcher, command: RelaxCommand): Launch {
  const { extent, grids, own, step, until, state, rounds, cells, maxRounds, maxWidth, maxHeight } = command;
  const shape = shapeOf([grids, own, until, step], relaxWords.state + state.length);
  const form = formOf(command);
  const kernel = launcher.compile(`relax ${keyOf(command)} ${shapeKey(shape)}`, () => [
    emitChunkOfGrids(shape, form, command),
    emitRound(shape, form, command),
  ]);
  const { addresses } = launcher;
  const length = lengthWords(extent, addresses);
  const chunkSize = Math.max(1, Math.min(LARGEST_CHUNK, Math.floor(CHUNK_CELLS / (maxWidth * maxHeight))));
  const chunks = Math.ceil(length[2] / chunkSize);
  const bytes = 16 * Math.ceil(ownBytes(form, command) / 16);
  const words = takeOwnMemory(launcher, bytes, chunks);
  words[relaxWords.maxRounds] = maxRounds;
  words[relaxWords.rounds] = addresses.of({ buffer: rounds.buffer, word: rounds.offset }, rounds.capacity);
  words[relaxWords.roundsCapacity] = rounds.capacity;
  for (const [k, { buffer, offset }] of state.entries()) {
    words[relaxWords.state + k] = addresses.of({ buffer, word: offset }, capacityOf(cells));
  }
  return {
    words: argumentWords(shape, addresses, length, chunkSize, words),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

/** The part of the kernel's cache key that describes the command without its programs. */
function keyOf({ state, neighbours, boundary, outside, change }: RelaxCommand): string {
  const around = neighbours.map(({ dx, dy }) => `${dx},${dy}`).join(' ');
  const constants = outside.map((value) => (Object.is(value, -0) ? '-0' : `${value}`));
  const types = state.map(({ type }) => type);
  return [types, around, boundary.x, boundary.y, constants, monoidKey(change)].join('/');
}
