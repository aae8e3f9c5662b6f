import { type Boundary, capacityOf, type RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op } from '../../wasm/wasm-encoder.ts';

/**
 * How a grid lies in the memory of the thread that relaxes it: twice, as rounds go from one copy to the other. Around it are as
 * many cells as its neighbours reach, which are filled before every round, so that a step reads all of them at fixed distances
 * from its own cell. Where neighbours are far away, there are none around it, and each is looked up by the boundary's rule.
 */
export interface GridForm {
  readonly states: readonly ScalarType[];
  readonly owns: readonly ScalarType[];
  /** Cells around the grid, on each side. */
  readonly left: number;
  readonly right: number;
  readonly above: number;
  readonly below: number;
  readonly isFar: boolean;
}

/** Beyond so many cells, those around a grid are more trouble than looking neighbours up. */
const MAX_AROUND = 8;

export function formOf({ state, own, neighbours }: RelaxCommand): GridForm {
  const reach = (of: (at: { readonly dx: number; readonly dy: number }) => number): number =>
    Math.max(0, ...neighbours.map(of));
  const sides = {
    left: reach(({ dx }) => -dx),
    right: reach(({ dx }) => dx),
    above: reach(({ dy }) => -dy),
    below: reach(({ dy }) => dy),
  };
  const isFar = Math.max(...Object.values(sides)) > MAX_AROUND;
  const around = isFar ? { left: 0, right: 0, above: 0, below: 0 } : sides;
  return { states: state.map(({ type }) => type), owns: entryOf(own.module).results, ...around, isFar };
}

const VECTOR_BYTES = 16;
/** Bytes that vectors may reach beyond the last row, and those by which rows begin later so that cells do on a vector. */
const SLACK = 2 * VECTOR_BYTES;

/** Bytes of a thread's own for grids of that form: folded changes, two copies of the states, and what else belongs to cells. */
export function ownBytes(
  { states, owns, left, right, above, below }: GridForm,
  { cells, change, maxWidth, maxHeight }: RelaxCommand,
): number {
  const max = capacityOf(cells);
  const [width, height] = [Math.min(maxWidth, max), Math.min(maxHeight, max)];
  const [besides, over] = [left + right + 3, above + below];
  const padded = Math.min(width * height, max) + besides * height + over * (width + besides);
  return VECTOR_BYTES + totalsBytes(change.types.length) + (2 * states.length + owns.length) * (4 * padded + SLACK);
}

function totalsBytes(leaves: number): number {
  return VECTOR_BYTES * Math.ceil(leaves / 4);
}

/** Locals of a grid under way. Leaves lie one behind the other, `leafBytes` apart; rows `rowBytes`. */
export interface GridLocals {
  /** Number of its first cell. */
  readonly first: number;
  readonly width: number;
  readonly height: number;
  readonly rowBytes: number;
  readonly leafBytes: number;
  /** Address of the folded changes of a round. */
  readonly totals: number;
  /** Addresses of its first cell: the states before a round, those after it, and what else belongs to cells. */
  readonly from: number;
  readonly to: number;
  readonly own: number;
}

/** Places a grid, whose first three locals are set, in the memory at the address that is a multiple of 16. */
export function emitPlaceGrid(code: Code, form: GridForm, leaves: number, grid: GridLocals, address: number): void {
  const { left, right, above, below } = form;
  code.get(grid.width);
  code.i32(left + right + 3);
  code.op(op.i32Add);
  code.i32(-4);
  code.op(op.i32And);
  code.i32(2);
  code.op(op.i32Shl);
  code.set(grid.rowBytes);
  code.get(grid.height);
  code.i32(above + below);
  code.op(op.i32Add);
  code.get(grid.rowBytes);
  code.op(op.i32Mul);
  code.i32(SLACK);
  code.op(op.i32Add);
  code.set(grid.leafBytes);
  code.get(address);
  code.tee(grid.totals);
  code.i32(totalsBytes(leaves) + VECTOR_BYTES * Math.ceil((4 * left) / VECTOR_BYTES));
  code.op(op.i32Add);
  code.get(grid.rowBytes);
  code.i32(above);
  code.op(op.i32Mul, op.i32Add);
  code.set(grid.from);
  const states = form.states.length;
  emitLeaf(code, grid.from, grid.leafBytes, states, grid.to);
  emitLeaf(code, grid.to, grid.leafBytes, states, grid.own);
}

/** `into = of + leaf · leafBytes`. */
export function emitLeaf(code: Code, of: number, leafBytes: number, leaf: number, into: number): void {
  code.get(of);
  code.get(leafBytes);
  code.i32(leaf);
  code.op(op.i32Mul, op.i32Add);
  code.set(into);
}

/** Goes through the rows of a grid; the body is told the number of the row. */
export function emitRows(code: Code, height: number, body: (row: number) => void): void {
  const row = code.local(I32);
  code.i32(0);
  code.set(row);
  const again = code.loop();
  body(row);
  code.get(row);
  code.i32(1);
  code.op(op.i32Add);
  code.tee(row);
  code.get(height);
  code.op(op.i32LtU);
  code.brIf(again);
  code.end();
  code.release(row);
}

/** Adds bytes to addresses. */
export function emitAdvance(code: Code, addresses: readonly number[], pushBytes: () => void): void {
  for (const address of addresses) {
    code.get(address);
    pushBytes();
    code.op(op.i32Add);
    code.set(address);
  }
}

/**
 * Sets a local to the place on a line that stands for the one that is pushed, a signed number; where the boundary is constant,
 * to the place itself.
 */
export function emitStandIn(code: Code, boundary: Boundary, size: number, place: () => void, into: number): void {
  place();
  code.set(into);
  const period = code.local(I32);
  switch (boundary) {
    case 'constant':
      break;
    case 'clamp':
      emitSelected(code, into, () => code.i32(0), op.i32GtS);
      emitSelected(code, into, () => pushLast(code, size), op.i32LtS);
      break;
    case 'wrap':
      code.get(into);
      code.get(size);
      code.op(op.i32RemS);
      code.get(size);
      code.op(op.i32Add);
      code.get(size);
      code.op(op.i32RemU);
      code.set(into);
      break;
    case 'reflect':
      pushPeriod(code, size);
      code.set(period);
      code.get(into);
      code.i32(0);
      code.get(into);
      code.op(op.i32Sub);
      code.get(into);
      code.i32(0);
      code.op(op.i32GtS, op.select);
      code.get(period);
      code.op(op.i32RemU);
      code.set(into);
      emitSelected(
        code,
        into,
        () => {
          code.get(period);
          code.get(into);
          code.op(op.i32Sub);
        },
        op.i32LtS,
      );
  }
  code.release(period);
}

/** After how many cells a line and its mirror image repeat. */
export function pushPeriod(code: Code, size: number): void {
  const period = code.local(I32);
  pushLast(code, size);
  code.i32(1);
  code.op(op.i32Shl);
  code.tee(period);
  code.i32(1);
  code.get(period);
  code.op(op.select);
  code.release(period);
}

function pushLast(code: Code, size: number): void {
  code.get(size);
  code.i32(1);
  code.op(op.i32Sub);
}

/** Keeps a local where it compares so with another value; else it becomes that. */
function emitSelected(code: Code, local: number, other: () => void, isKept: number): void {
  const value = code.local(I32);
  other();
  code.set(value);
  code.get(local);
  code.get(value);
  code.get(local);
  code.get(value);
  code.op(isKept, op.select);
  code.set(local);
  code.release(value);
}
