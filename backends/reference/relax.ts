import type { Boundary, RelaxCommand } from '../../primitives/contract/backend.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import type { PlainValue } from './emit-javascript.ts';
import { combinerOf, leavesOf, stateOf } from './loop.ts';
import type { HostMemory } from './memory.ts';
import { bind } from './programs.ts';

/** Relaxes one grid after the other. {@link RelaxCommand} documents what relaxing computes. */
export function relax(memory: HostMemory, command: RelaxCommand): void {
  const { extent, grids, own, step, until, state, outside, change, maxRounds, rounds } = command;
  const [gridAt, ownAt, next, isLast] = [
    bind(memory, grids),
    bind(memory, own),
    bind(memory, step),
    bind(memory, until),
  ];
  const combine = combinerOf(memory, change);
  const leaves = state.map(({ type, buffer, offset }) => {
    const stored = memory.reader(
      { buffer, storage: type === 'bool' ? 'u32' : type, offset, length: buffer.words },
      type,
    );
    return { type, at: stored.at, offset, words: memory.resolve(buffer).views.u32 };
  });
  const counts = memory.resolve(rounds.buffer).views.u32;
  const length = memory.lengthOf(extent);
  for (let g = 0; g < length; g++) {
    const [first, width, height] = gridAt(g) as [number, number, number];
    const cells = width * height;
    const places = neighbourPlaces(command, width, height);
    const perCell = command.neighbours.length;
    const owns = Array.from({ length: cells }, (_, place) => ownAt(first + place));
    let states = Array.from({ length: cells }, (_, place) => leaves.map(({ at }) => at(first + place)));
    let done = 0;
    for (let isOver = cells === 0; !isOver && done < maxRounds; done++) {
      const results = states.map((before, place) => {
        const values: PlainValue[] = [first + place, ...before, ...owns[place]!];
        for (let k = place * perCell; k < (place + 1) * perCell; k++) {
          values.push(...(places[k] === OUTSIDE ? outside : states[places[k]!]!));
        }
        return next(...values);
      });
      states = results.map((leaves) => leaves.slice(0, state.length));
      const changes = results.map((leaves) => stateOf(leaves.slice(state.length)));
      const folded = changes.reduce(combine, stateOf(change.identity));
      isOver = isLast(g, cells, ...leavesOf(folded))[0] === true;
    }
    for (const [place, values] of states.entries()) {
      for (const [k, { type, offset, words }] of leaves.entries()) {
        words[offset + first + place] = wordOfValue(type, values[k]!);
      }
    }
    if (g < rounds.capacity) counts[rounds.offset + g] = done;
  }
}

/** Stands for the index of a neighbour outside the grid. The state of such a neighbour is `outside`. */
const OUTSIDE = -1;

/** Indices of the neighbours of every cell of a grid, cell by cell. These indices are the same in every round. */
function neighbourPlaces({ neighbours, boundary }: RelaxCommand, width: number, height: number): Int32Array {
  const places = new Int32Array(width * height * neighbours.length);
  let count = 0;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      for (const { dx, dy } of neighbours) {
        const x = placeAlong(column + dx, width, boundary.x);
        const y = placeAlong(row + dy, height, boundary.y);
        places[count++] = x === undefined || y === undefined ? OUTSIDE : y * width + x;
      }
    }
  }
  return places;
}

/**
 * Applies the boundary rule to a coordinate: returns a coordinate in 0 … `size` − 1, or undefined if the rule supplies
 * a constant.
 */
function placeAlong(at: number, size: number, boundary: Boundary): number | undefined {
  const inside = at >= 0 && at < size;
  const modulo = (value: number, by: number): number => ((value % by) + by) % by;
  switch (boundary) {
    case 'constant':
      return inside ? at : undefined;
    case 'clamp':
      return Math.min(size - 1, Math.max(0, at));
    case 'wrap':
      return modulo(at, size);
    case 'reflect': {
      if (size === 1) return 0;
      const folded = modulo(at, 2 * (size - 1));
      return folded < size ? folded : 2 * (size - 1) - folded;
    }
  }
}
