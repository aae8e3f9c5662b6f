import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
import { emitOwnWord, WORKER } from '../../commands/kernel-arguments.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from '../../wasm/wasm-locals.ts';
import { forRange, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { copyAll, emitCombine, emitIdentity, loadState, releaseAll, stateLocals, storeState } from './monoid-code.ts';

/**
 * Inputs of the scalar code that evaluates the canonical combination tree (`primitives/contract/combination-tree.ts`)
 * over one block. The tree defines the brackets, which matter for monoids that are not exact. A block consists of quads
 * (four elements each), which are combined into groups. States are consecutive in memory.
 */
export interface TreeBlock {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  /**
   * The worker's scratch memory: the prefix of each element within its quad (four elements), then the totals of the
   * groups, then the prefix before each quad.
   */
  readonly room: Int32;
  /** The index of the block's first element, and the number of elements, which is at least one. */
  readonly first: Int32;
  readonly count: Int32;
  /** Computes the element with the given index into new locals. */
  readonly element: (index: Int32Local) => ScalarLocal[];
}

const QUADS = BLOCK / QUAD;
const GROUPS = BLOCK;
const PREFIXES = BLOCK + QUADS;

/** Bytes of scratch memory that one worker needs for a block. */
export function roomBytes({ types }: MonoidProgram): number {
  return 4 * types.length * (BLOCK + 2 * QUADS);
}

/**
 * Emits code for the address of the current worker's scratch memory. The kernel's argument with index `word` is the
 * address of the scratch memory of worker 0.
 */
export function emitWorkerRoom(code: Code, monoid: MonoidProgram, word: number): Int32 {
  const room = emitOwnWord(code, word);
  room.set(room.add(WORKER.mul(roomBytes(monoid))));
  return room;
}

/** The address of element `index` in an array of states. */
export function stateAt({ types }: MonoidProgram, base: Int32, index: Int32): Int32 {
  return base.add(index.mul(4 * types.length));
}

/** Computes the total of a block, and sets `total` to it. */
export function emitBlockTotal(block: TreeBlock, total: readonly ScalarLocal[]): void {
  const { code, monoid, room } = block;
  const groups = emitQuads(block, false);
  whileTrue(code, groups.gtU(1), () => emitHalve(block, groups));
  loadState(monoid, room, total, partOffset(monoid, GROUPS));
  code.release(groups);
}

/**
 * Folds each quad (four elements) from left to right, and stores its total. At first each quad is a group. Returns a
 * local with the number of quads.
 */
function emitQuads({ code, monoid, room, first, count, element }: TreeBlock, keepPrefixes: boolean): Int32Local {
  const quads = code.local(I32);
  const index = code.local(I32);
  const sum = stateLocals(code, monoid);
  quads.set(0);
  forRange(code, count, (i) => {
    index.set(first.add(i));
    const value = element(index);
    when(
      code,
      placeInQuad(i),
      () => emitCombine(code, monoid, sum, sum, value),
      () => copyAll(sum, value),
    );
    releaseAll(code, value);
    if (keepPrefixes) storeState(code, stateAt(monoid, room, i), sum);
    const isLast = placeInQuad(i)
      .eq(QUAD - 1)
      .or(count.sub(i).eq(1));
    when(code, isLast, () => {
      storeState(code, stateAt(monoid, room, quads), sum, partOffset(monoid, GROUPS));
      quads.set(quads.add(1));
    });
  });
  code.release(index);
  releaseAll(code, sum);
  return quads;
}

function placeInQuad(index: Int32): Int32 {
  return index.and(QUAD - 1);
}

/** Byte offset in the scratch memory of the part that begins after the first `states` states. */
function partOffset({ types }: MonoidProgram, states: number): number {
  return 4 * types.length * states;
}

/**
 * Combines groups of quads (four elements each) in pairs, which halves the number of groups. If the number of groups is
 * odd, the last group stays unchanged.
 */
function emitHalve({ code, monoid, room }: TreeBlock, groups: Int32Local): void {
  const totals = partOffset(monoid, GROUPS);
  const half = code.local(I32);
  const source = code.local(I32);
  const left = stateLocals(code, monoid);
  const right = stateLocals(code, monoid);
  half.set(groups.shrU(1));
  forRange(code, half, (group) => {
    source.set(group.shl(1));
    loadState(monoid, stateAt(monoid, room, source), left, totals);
    loadState(monoid, stateAt(monoid, room, source), right, partOffset(monoid, GROUPS + 1));
    emitCombine(code, monoid, left, left, right);
    storeState(code, stateAt(monoid, room, group), left, totals);
  });
  when(code, groups.and(1), () => {
    source.set(groups.sub(1));
    loadState(monoid, stateAt(monoid, room, source), left, totals);
    storeState(code, stateAt(monoid, room, half), left, totals);
  });
  groups.set(groups.sub(half));
  for (const local of [half, source, ...left, ...right]) code.release(local);
}

/** The prefix before a block: whether any elements precede the block, and the fold of these elements. */
export interface Before {
  readonly exists: Int32Local;
  readonly state: readonly ScalarLocal[];
}

/**
 * Emits code for an element, given its exclusive and inclusive prefix. For the first of all elements, `exclusive` is
 * the identity.
 */
export type Visit = (index: Int32Local, exclusive: readonly ScalarLocal[], inclusive: readonly ScalarLocal[]) => void;

/** Emits `visit` for all elements of a block, with their exclusive and inclusive prefixes. */
export function emitBlockPrefixes(block: TreeBlock, before: Before, visit: Visit): void {
  const { code } = block;
  const quads = emitQuads(block, true);
  emitQuadPrefixes(block, quads);
  code.release(quads);
  emitVisits(block, before, visit);
}

/**
 * Computes the prefix before each quad (four elements) within the block, level by level (Sklansky 1960). The first quad
 * has no prefix.
 */
function emitQuadPrefixes(block: TreeBlock, quads: Int32): void {
  const { code, monoid, room } = block;
  const level = code.local(I32);
  const groups = code.local(I32);
  const group = code.local(I32);
  const left = stateLocals(code, monoid);
  const right = stateLocals(code, monoid);
  const prefixes = partOffset(monoid, PREFIXES);
  /**
   * Prepends the total of the preceding group to the prefix of a quad (four elements). The first quad of a group has no
   * prefix yet, so the total itself becomes the quad's prefix.
   */
  const extend = (quad: Int32): void => {
    group.set(group.sub(1));
    loadState(monoid, stateAt(monoid, room, group), left, partOffset(monoid, GROUPS));
    when(code, quad.and(i32(1).shl(level).sub(1)), () => {
      loadState(monoid, stateAt(monoid, room, quad), right, prefixes);
      emitCombine(code, monoid, left, left, right);
    });
    storeState(code, stateAt(monoid, room, quad), left, prefixes);
  };
  level.set(0);
  groups.set(quads);
  whileTrue(code, groups.gtU(1), () => {
    forRange(code, quads, (quad) => when(code, group.tee(quad.shrU(level)).and(1), () => extend(quad)));
    emitHalve(block, groups);
    level.set(level.add(1));
  });
  for (const local of [level, groups, group, ...left, ...right]) code.release(local);
}

function emitVisits({ code, monoid, room, first, count }: TreeBlock, before: Before, visit: Visit): void {
  const index = code.local(I32);
  const quad = code.local(I32);
  const started = code.local(I32);
  const prefix = stateLocals(code, monoid);
  const local = stateLocals(code, monoid);
  const exclusive = stateLocals(code, monoid);
  const inclusive = stateLocals(code, monoid);
  const join = (into: readonly ScalarLocal[]): void =>
    when(
      code,
      started,
      () => emitCombine(code, monoid, into, prefix, local),
      () => copyAll(into, local),
    );
  const loadPrefix = (): void => {
    loadState(monoid, stateAt(monoid, room, quad), prefix, partOffset(monoid, PREFIXES));
    when(code, before.exists, () => emitCombine(code, monoid, prefix, before.state, prefix));
    started.set(1);
  };
  const startQuad = (i: Int32): void => {
    when(code, quad.tee(i.shrU(2)), loadPrefix, () => {
      copyAll(prefix, before.state);
      started.set(before.exists);
    });
    when(
      code,
      started,
      () => copyAll(exclusive, prefix),
      () => emitIdentity(monoid, exclusive),
    );
  };
  forRange(code, count, (i) => {
    when(
      code,
      placeInQuad(i),
      () => join(exclusive),
      () => startQuad(i),
    );
    loadState(monoid, stateAt(monoid, room, i), local);
    join(inclusive);
    index.set(first.add(i));
    visit(index, exclusive, inclusive);
  });
  for (const one of [index, quad, started, ...prefix, ...local, ...exclusive, ...inclusive]) code.release(one);
}
