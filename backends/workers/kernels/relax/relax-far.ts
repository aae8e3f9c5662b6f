import type { Boundary, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { loadScalar } from '../../commands/kernel-arguments.ts';
import { literal } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32 } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitStandIn, type GridLocals, leafOf, periodOf } from './relax-grid.ts';

/** Emits the code that loads the states of a cell's neighbours. */
export interface FarNeighbours {
  beginRow(row: Int32): void;
  /** Loads the neighbours of the cell in a column. `place` is the byte offset of the cell from the first in its row. */
  load(column: Int32, place: Int32): void;
  release(): void;
}

/** Exceeds the length of any row or column, and is small enough that adding it to a position does not overflow. */
const BEYOND = 2 ** 29;

/** A distance of neighbours along one axis, with the lookup at the current row or column. */
interface Distance {
  /** The distance modulo the period of the boundary, or clamped to ±`BEYOND` if the boundary has no period. */
  readonly step: Int32Local;
  /** The row or column to load from, and whether it is inside the grid. If it is outside, `place` is 0. */
  readonly place: Int32Local;
  readonly isInside: Int32Local;
}

/** Loads neighbours that are too far away for padding: each is looked up by the rule of the boundary. */
export function emitFarNeighbours(
  code: Code,
  { state, neighbours, boundary, outside }: RelaxCommand,
  { width, height, rowBytes, leafBytes, from }: GridLocals,
  into: readonly ScalarLocal[],
): FarNeighbours {
  const [dxs, dys] = [neighbours.map(({ dx }) => dx), neighbours.map(({ dy }) => dy)];
  const columns = distances(code, boundary.x, width, dxs);
  const rows = distances(code, boundary.y, height, dys);
  const look = (found: ReadonlyMap<number, Distance>, rule: Boundary, size: Int32, at: Int32): void => {
    for (const { step, place, isInside } of found.values()) {
      emitStandIn(code, rule, size, at.add(step), place);
      isInside.set(place.ltU(size));
      // The value loaded for a neighbour outside is discarded, so any valid place will do.
      place.set(isInside.select(place, 0));
    }
  };
  return {
    beginRow: (row) => look(rows, boundary.y, height, row),
    load(column) {
      look(columns, boundary.x, width, column);
      for (const [k, { dx, dy }] of neighbours.entries()) {
        const [x, y] = [columns.get(dx)!, rows.get(dy)!];
        for (const [leaf, { type }] of state.entries()) {
          const value = into[k * state.length + leaf]!;
          const address = leafOf(from, leafBytes, leaf).add(rowBytes.mul(y.place)).add(x.place.shl(2));
          assign(value, loadScalar(type, address));
          assign(value, x.isInside.and(y.isInside).select(value, literal(type, outside[leaf]!)));
        }
      }
    },
    release() {
      for (const { step, place, isInside } of [...columns.values(), ...rows.values()]) {
        releaseAll(code, [step, place, isInside]);
      }
    },
  };
}

/** The distinct distances along an axis. */
function distances(code: Code, rule: Boundary, size: Int32, all: readonly number[]): Map<number, Distance> {
  return new Map(
    [...new Set(all)].map((distance) => {
      const [step, place, isInside] = [code.local(I32), code.local(I32), code.local(I32)];
      if (rule === 'wrap') step.set(i32(distance).remS(size));
      else if (rule === 'reflect') step.set(i32(distance).remS(periodOf(code, size)));
      else step.set(Math.max(-BEYOND, Math.min(BEYOND, distance)));
      return [distance, { step, place, isInside }];
    }),
  );
}
