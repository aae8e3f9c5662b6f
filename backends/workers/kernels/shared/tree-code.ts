import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
import { emitOwnWord, WORKER } from '../../commands/kernel-arguments.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op } from '../../wasm/wasm-encoder.ts';
import {
  emitCombine,
  emitCopy,
  emitIdentity,
  emitLoadState,
  emitStoreState,
  releaseAll,
  stateLocals,
} from './monoid-code.ts';

/**
 * The canonical combination tree (`primitives/contract/combination-tree.ts`) over one block, as code: for monoids whose brackets
 * matter. States stand in memory one after another.
 */
export interface TreeBlock {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  /** Local with the address of the worker's room: local prefixes, then totals of groups, then prefixes of quads. */
  readonly room: number;
  /** Locals: the block's first element and its number of elements, at least one. */
  readonly first: number;
  readonly count: number;
  /** Computes element `index` into fresh locals. */
  readonly element: (index: number) => number[];
}

const QUADS = BLOCK / QUAD;
const GROUPS = BLOCK;
const PREFIXES = BLOCK + QUADS;

/** Bytes of the room that one worker needs. */
export function roomBytes({ types }: MonoidProgram): number {
  return 4 * types.length * (BLOCK + 2 * QUADS);
}

/** The address of the worker's room, among rooms that start at a word of the kernel's own. */
export function emitWorkerRoom(code: Code, monoid: MonoidProgram, word: number): number {
  const room = emitOwnWord(code, word);
  code.get(room);
  code.get(WORKER);
  code.i32(roomBytes(monoid));
  code.op(op.i32Mul, op.i32Add);
  code.set(room);
  return room;
}

/** Pushes the address of state `index` of an array of states. */
export function pushState(code: Code, { types }: MonoidProgram, base: number, index: number): void {
  code.get(base);
  code.get(index);
  code.i32(4 * types.length);
  code.op(op.i32Mul, op.i32Add);
}

/** Counts a local from 0 up to another one. */
export function emitCount(code: Code, to: number, body: (index: number) => void): void {
  const index = code.local(I32);
  code.i32(0);
  code.set(index);
  code.while(
    () => {
      code.get(index);
      code.get(to);
      code.op(op.i32LtU);
    },
    () => {
      body(index);
      code.get(index);
      code.i32(1);
      code.op(op.i32Add);
      code.set(index);
    },
  );
  code.release(index);
}

/** The total of a block, into `total`. */
export function emitBlockTotal(block: TreeBlock, total: readonly number[]): void {
  const { code, monoid, room } = block;
  const groups = emitQuads(block, false);
  code.while(
    () => {
      code.get(groups);
      code.i32(1);
      code.op(op.i32GtU);
    },
    () => emitHalve(block, groups),
  );
  emitLoadState(code, monoid, () => code.get(room), total, entry(monoid, GROUPS));
  code.release(groups);
}

/** Folds every quad from the left into the groups of the room; returns a local with their number. */
function emitQuads({ code, monoid, room, first, count, element }: TreeBlock, keepPrefixes: boolean): number {
  const quads = code.local(I32);
  const index = code.local(I32);
  const sum = stateLocals(code, monoid);
  code.i32(0);
  code.set(quads);
  emitCount(code, count, (i) => {
    code.get(first);
    code.get(i);
    code.op(op.i32Add);
    code.set(index);
    const value = element(index);
    pushPlaceInQuad(code, i);
    code.when(
      () => emitCombine(code, monoid, sum, sum, value),
      () => emitCopy(code, sum, value),
    );
    releaseAll(code, value);
    if (keepPrefixes) emitStoreState(code, monoid, () => pushState(code, monoid, room, i), sum);
    pushPlaceInQuad(code, i);
    code.i32(QUAD - 1);
    code.op(op.i32Eq);
    code.get(count);
    code.get(i);
    code.op(op.i32Sub);
    code.i32(1);
    code.op(op.i32Eq, op.i32Or);
    code.when(() => {
      emitStoreState(code, monoid, () => pushState(code, monoid, room, quads), sum, entry(monoid, GROUPS));
      code.get(quads);
      code.i32(1);
      code.op(op.i32Add);
      code.set(quads);
    });
  });
  code.release(index);
  releaseAll(code, sum);
  return quads;
}

function pushPlaceInQuad(code: Code, index: number): void {
  code.get(index);
  code.i32(QUAD - 1);
  code.op(op.i32And);
}

/** The offset of a part of the room. */
function entry({ types }: MonoidProgram, index: number): number {
  return 4 * types.length * index;
}

/** Combines neighbouring groups; one without a neighbour stays as it is. */
function emitHalve({ code, monoid, room }: TreeBlock, groups: number): void {
  const offset = entry(monoid, GROUPS);
  const half = code.local(I32);
  const source = code.local(I32);
  const left = stateLocals(code, monoid);
  const right = stateLocals(code, monoid);
  code.get(groups);
  code.i32(1);
  code.op(op.i32ShrU);
  code.set(half);
  emitCount(code, half, (group) => {
    code.get(group);
    code.i32(1);
    code.op(op.i32Shl);
    code.set(source);
    emitLoadState(code, monoid, () => pushState(code, monoid, room, source), left, offset);
    emitLoadState(code, monoid, () => pushState(code, monoid, room, source), right, entry(monoid, GROUPS + 1));
    emitCombine(code, monoid, left, left, right);
    emitStoreState(code, monoid, () => pushState(code, monoid, room, group), left, offset);
  });
  code.get(groups);
  code.i32(1);
  code.op(op.i32And);
  code.when(() => {
    code.get(groups);
    code.i32(1);
    code.op(op.i32Sub);
    code.set(source);
    emitLoadState(code, monoid, () => pushState(code, monoid, room, source), left, offset);
    emitStoreState(code, monoid, () => pushState(code, monoid, room, half), left, offset);
  });
  code.get(groups);
  code.get(half);
  code.op(op.i32Sub);
  code.set(groups);
  for (const local of [half, source, ...left, ...right]) code.release(local);
}

/** What stands before a block: whether there is anything, and what it comes to. */
export interface Before {
  readonly exists: number;
  readonly state: readonly number[];
}

/** What is done with an element once its prefixes are known; `exclusive` is the identity before the very first. */
export type Visit = (index: number, exclusive: readonly number[], inclusive: readonly number[]) => void;

/** The exclusive and inclusive prefixes of all elements of a block. */
export function emitBlockPrefixes(block: TreeBlock, before: Before, visit: Visit): void {
  const { code } = block;
  const quads = emitQuads(block, true);
  emitQuadPrefixes(block, quads);
  code.release(quads);
  emitVisits(block, before, visit);
}

/** Prefixes before every quad but the first, level by level (Sklansky 1960). */
function emitQuadPrefixes(block: TreeBlock, quads: number): void {
  const { code, monoid, room } = block;
  const level = code.local(I32);
  const groups = code.local(I32);
  const group = code.local(I32);
  const left = stateLocals(code, monoid);
  const right = stateLocals(code, monoid);
  const prefixes = entry(monoid, PREFIXES);
  code.i32(0);
  code.set(level);
  code.get(quads);
  code.set(groups);
  code.while(
    () => {
      code.get(groups);
      code.i32(1);
      code.op(op.i32GtU);
    },
    () => {
      emitCount(code, quads, (quad) => {
        code.get(quad);
        code.get(level);
        code.op(op.i32ShrU);
        code.tee(group);
        code.i32(1);
        code.op(op.i32And);
        code.when(() => {
          code.get(group);
          code.i32(1);
          code.op(op.i32Sub);
          code.set(group);
          emitLoadState(code, monoid, () => pushState(code, monoid, room, group), left, entry(monoid, GROUPS));
          pushBitsBelow(code, quad, level);
          code.when(() => {
            emitLoadState(code, monoid, () => pushState(code, monoid, room, quad), right, prefixes);
            emitCombine(code, monoid, left, left, right);
          });
          emitStoreState(code, monoid, () => pushState(code, monoid, room, quad), left, prefixes);
        });
      });
      emitHalve(block, groups);
      code.get(level);
      code.i32(1);
      code.op(op.i32Add);
      code.set(level);
    },
  );
  for (const local of [level, groups, group, ...left, ...right]) code.release(local);
}

/** Pushes the bits of a number below bit `level`. */
function pushBitsBelow(code: Code, number: number, level: number): void {
  code.get(number);
  code.i32(1);
  code.get(level);
  code.op(op.i32Shl);
  code.i32(1);
  code.op(op.i32Sub, op.i32And);
}

function emitVisits({ code, monoid, room, first, count }: TreeBlock, before: Before, visit: Visit): void {
  const index = code.local(I32);
  const quad = code.local(I32);
  const started = code.local(I32);
  const prefix = stateLocals(code, monoid);
  const local = stateLocals(code, monoid);
  const exclusive = stateLocals(code, monoid);
  const inclusive = stateLocals(code, monoid);
  const joined = (into: readonly number[]): void => {
    code.get(started);
    code.when(
      () => emitCombine(code, monoid, into, prefix, local),
      () => emitCopy(code, into, local),
    );
  };
  const startQuad = (i: number): void => {
    code.get(i);
    code.i32(2);
    code.op(op.i32ShrU);
    code.tee(quad);
    code.when(
      () => {
        emitLoadState(code, monoid, () => pushState(code, monoid, room, quad), prefix, entry(monoid, PREFIXES));
        code.get(before.exists);
        code.when(() => emitCombine(code, monoid, prefix, before.state, prefix));
        code.i32(1);
        code.set(started);
      },
      () => {
        emitCopy(code, prefix, before.state);
        code.get(before.exists);
        code.set(started);
      },
    );
    code.get(started);
    code.when(
      () => emitCopy(code, exclusive, prefix),
      () => emitIdentity(code, monoid, exclusive),
    );
  };
  emitCount(code, count, (i) => {
    pushPlaceInQuad(code, i);
    code.when(
      () => joined(exclusive),
      () => startQuad(i),
    );
    emitLoadState(code, monoid, () => pushState(code, monoid, room, i), local);
    joined(inclusive);
    code.get(first);
    code.get(i);
    code.op(op.i32Add);
    code.set(index);
    visit(index, exclusive, inclusive);
  });
  for (const one of [index, quad, started, ...prefix, ...local, ...exclusive, ...inclusive]) code.release(one);
}
