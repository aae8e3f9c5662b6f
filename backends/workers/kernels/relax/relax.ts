import { capacityOf, type RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { argumentWords, type KernelShape, layoutOf, lengthWords, shapeKey } from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { monoidKey } from '../shared/monoid-code.ts';
import { emitChunkOfGrids, relaxWords } from './relax-chunk.ts';
import { formOf, ownBytes } from './relax-grid.ts';
import { emitRound } from './relax-round.ts';

/** Cells of a chunk, roughly: grids that are larger have one of their own. */
const CHUNK_CELLS = 1024;
const LARGEST_CHUNK = 64;

/** Many grids relaxed: one parallel phase over them, each on one thread for all of its rounds. */
export function launchRelax(launcher: Launcher, command: RelaxCommand): Launch {
  const { extent, grids, own, step, until, state, rounds, cells, maxRounds, maxWidth, maxHeight } = command;
  const shape: KernelShape = {
    programs: [grids, own, until, step],
    stores: [],
    words: relaxWords.state + state.length,
  };
  const layout = layoutOf(shape.programs);
  const form = formOf(command);
  const kernel = launcher.compile(`relax ${keyOf(command)} ${shapeKey(shape, layout)}`, () => [
    emitChunkOfGrids(shape, layout, form, command),
    emitRound(shape, layout, form, command),
  ]);
  const { addresses, workers } = launcher;
  const length = lengthWords(extent, addresses);
  const chunkSize = Math.max(1, Math.min(LARGEST_CHUNK, Math.floor(CHUNK_CELLS / (maxWidth * maxHeight))));
  const chunks = Math.ceil(length[2] / chunkSize);
  const bytes = 16 * Math.ceil(ownBytes(form, command) / 16);
  const words: number[] = [];
  words[relaxWords.own] = launcher.scratch(bytes * Math.max(1, Math.min(workers, chunks)));
  words[relaxWords.ownBytes] = bytes;
  words[relaxWords.byChunk] = Number(chunks < workers);
  words[relaxWords.maxRounds] = maxRounds;
  words[relaxWords.rounds] = addresses.of({ buffer: rounds.buffer, word: rounds.offset }, rounds.capacity);
  words[relaxWords.roundsCapacity] = rounds.capacity;
  for (const [k, { buffer, offset }] of state.entries()) {
    words[relaxWords.state + k] = addresses.of({ buffer, word: offset }, capacityOf(cells));
  }
  return {
    words: argumentWords(shape, layout, addresses, length, chunkSize, words),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

/** Equal for commands that can share compiled code, but for their programs. */
function keyOf({ state, neighbours, boundary, outside, change }: RelaxCommand): string {
  const around = neighbours.map(({ dx, dy }) => `${dx},${dy}`).join(' ');
  const constants = outside.map((value) => (Object.is(value, -0) ? '-0' : `${value}`));
  const types = state.map(({ type }) => type);
  return [types, around, boundary.x, boundary.y, constants, monoidKey(change)].join('/');
}
