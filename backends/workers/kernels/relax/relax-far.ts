import type { Boundary, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { emitLoadScalar } from '../../commands/kernel-arguments.ts';
import { pushLiteral } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op } from '../../wasm/wasm-encoder.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitStandIn, type GridLocals, pushPeriod } from './relax-grid.ts';

/** Code that loads the states around a cell. */
export interface FarNeighbours {
  beginRow(row: number): void;
  /** Loads those around the cell in a column, so many bytes behind the beginning of its row. */
  load(column: number, place: number): void;
  release(): void;
}

/** More cells than any line has. */
const BEYOND = 2 ** 29;

/** One distance of neighbours along an axis. */
interface Distance {
  /** Local of the distance, less whole turns around the line. */
  readonly step: number;
  /** Locals of the cell that stands for the neighbour, and of whether it is one of the grid. */
  readonly place: number;
  readonly isInside: number;
}

/** Neighbours that are too far away for cells around the grid: each is looked up by the rule of the boundary. */
export function emitFarNeighbours(
  code: Code,
  { state, neighbours, boundary, outside }: RelaxCommand,
  { width, height, rowBytes, leafBytes, from }: GridLocals,
  into: readonly number[],
): FarNeighbours {
  const [columns, rows] = [
    distances(
      code,
      boundary.x,
      width,
      neighbours.map(({ dx }) => dx),
    ),
    distances(
      code,
      boundary.y,
      height,
      neighbours.map(({ dy }) => dy),
    ),
  ];
  const look = (found: ReadonlyMap<number, Distance>, rule: Boundary, size: number, at: number): void => {
    for (const { step, place, isInside } of found.values()) {
      const push = (): void => {
        code.get(at);
        code.get(step);
        code.op(op.i32Add);
      };
      emitStandIn(code, rule, size, push, place);
      code.get(place);
      code.get(size);
      code.op(op.i32LtU);
      code.set(isInside);
      // Outside, any cell of the grid may be loaded.
      code.get(place);
      code.i32(0);
      code.get(isInside);
      code.op(op.select);
      code.set(place);
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
          code.get(from);
          code.get(leafBytes);
          code.i32(leaf);
          code.op(op.i32Mul, op.i32Add);
          code.get(rowBytes);
          code.get(y.place);
          code.op(op.i32Mul, op.i32Add);
          code.get(x.place);
          code.i32(2);
          code.op(op.i32Shl, op.i32Add);
          emitLoadScalar(code, type, value);
          code.get(value);
          pushLiteral(code, type, outside[leaf]!);
          code.get(x.isInside);
          code.get(y.isInside);
          code.op(op.i32And, op.select);
          code.set(value);
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

/** The different distances along an axis. */
function distances(code: Code, rule: Boundary, size: number, all: readonly number[]): Map<number, Distance> {
  return new Map(
    [...new Set(all)].map((distance) => {
      const [step, place, isInside] = [code.local(I32), code.local(I32), code.local(I32)];
      if (rule === 'wrap' || rule === 'reflect') {
        code.i32(distance);
        if (rule === 'wrap') code.get(size);
        else pushPeriod(code, size);
        code.op(op.i32RemS);
      } else {
        code.i32(Math.max(-BEYOND, Math.min(BEYOND, distance)));
      }
      code.set(step);
      return [distance, { step, place, isInside }];
    }),
  );
}
