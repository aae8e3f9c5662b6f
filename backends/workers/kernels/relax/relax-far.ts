import type { Boundary, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { loadScalar } from '../../commands/kernel-arguments.ts';
import { literal } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32 } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitStandIn, type GridLocals, leafOf, periodOf } from './relax-grid.ts';

/** Emits code that loads the states of the neighbours of a cell. */
export interface FarNeighbours {
  beginRow(row: Int32): void;
  /**
   * Emits code that loads the neighbours of one cell of the current row: the cell in column `column`, at byte offset
   * `place` in the row.
   */
  load(column: Int32, place: Int32): void;
  release(): void;
}

/** An offset that is larger than any row or column, but so small that a position plus the offset does not overflow. */
const BEYOND = 2 ** 29;

/** Locals for one offset along an axis: the offset, and the row or column at this offset from the current cell. */
interface Distance {
  /**
   * The offset modulo the period of the boundary rule. If the rule has no period, the offset is clamped to ±`BEYOND`.
   */
  readonly step: Int32Local;
  /**
   * The row or column of the neighbour (`place`), and whether the neighbour is inside the grid. For a neighbour outside
   * the grid, `place` is 0.
   */
  readonly place: Int32Local;
  readonly isInside: Int32Local;
}

/**
 * Emits code for neighbours that are too far away for padding. The boundary rule gives the position of each neighbour.
 */
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
      // The value loaded for a neighbour outside the grid is not used, so any valid position will do.
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

/** Locals for each distinct offset of neighbours along an axis, keyed by the offset. */
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
