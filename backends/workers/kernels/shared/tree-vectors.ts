import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { extracted, splatOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, type Lanes, loadSplat, loadVector } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';
import { br, doWhile, loop, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { copyAll, emitVectorIdentity, releaseAll, type VectorCombine, vectorLocals } from './monoid-code.ts';
import type { Before } from './tree-code.ts';

/**
 * Inputs of the vector code that evaluates the canonical combination tree over one complete block, with the same
 * brackets as `tree-code.ts`. The elements of four quads (four elements each) are transposed, so that each lane folds
 * one quad.
 */
export interface WholeBlock {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  readonly combine: VectorCombine;
  /**
   * The emitter for four elements of the block. `index` is a local with the index of the current group's first element.
   */
  readonly lanes: VectorCode;
  readonly elements: readonly Node[];
  readonly index: Int32Local;
  /**
   * The worker's scratch memory. For each leaf (scalar component), it contains the prefix of each element within its
   * quad (four elements), then the totals, then the prefix before each quad.
   */
  readonly room: Int32;
  /** The index of the block's first element. */
  readonly first: Int32;
}

/** Four states: one vector local per leaf (scalar component), and one state per lane. */
type State = readonly VectorLocal[];

const QUADS = BLOCK / QUAD;
/**
 * Byte offsets of the totals and of the prefixes before quads (four elements each) in the scratch memory of a leaf, and
 * the size of this memory. Before the totals, the prefixes up to element k of every quad begin at byte `4 * QUADS * k`.
 */
const TOTALS = 4 * BLOCK;
const PREFIXES = 4 * (BLOCK + QUADS);
const LEAF_BYTES = 4 * (BLOCK + 2 * QUADS);

/** Computes the total of the block, and sets the scalar locals `total` to it. */
export function emitWholeTotal(block: WholeBlock, total: readonly ScalarLocal[]): void {
  const { code, monoid, room } = block;
  emitQuads(block, (group, prefixes) => storeAll(block, group, TOTALS, prefixes[3]!));
  const count = code.local(I32);
  count.set(QUADS);
  whileTrue(code, count.gtU(1), () => emitHalve(block, count));
  monoid.types.forEach((type, leaf) => {
    assign(total[leaf]!, extracted(type, loadVector(room, leaf * LEAF_BYTES + TOTALS), 0));
  });
  code.release(count);
}

/** Emits code for the four elements from `index + offset` on, given their exclusive and inclusive prefixes. */
export type VisitFour = (offset: number, exclusive: State, inclusive: State) => void;

/** Emits `visit` for all elements of the block, with their exclusive and inclusive prefixes. */
export function emitWholePrefixes(block: WholeBlock, before: Before, visit: VisitFour): void {
  emitQuads(block, (group, prefixes) => {
    for (const [k, prefix] of prefixes.entries()) storeAll(block, group, 4 * QUADS * k, prefix);
    storeAll(block, group, TOTALS, prefixes[3]!);
    emitPrefixesInGroup(block, group, prefixes[3]!);
  });
  emitPrefixesOfGroups(block);
  emitVisits(block, before, visit);
}

/**
 * Folds four quads (four elements each) at a time, one per lane. `prefixes[k]` contains the fold of each quad up to its
 * element k.
 */
function emitQuads(block: WholeBlock, body: (group: Int32, prefixes: readonly State[]) => void): void {
  const { code, lanes, elements, combine } = block;
  emitGroups(block, (group) => {
    const rows = [0, 4, 8, 12].map((offset) => {
      lanes.begin(offset);
      return elements.map((node) => lanes.copy(node));
    });
    transpose(code, rows);
    for (const k of [1, 2, 3]) combine(rows[k]!, rows[k - 1]!, rows[k]!);
    body(group, rows);
    for (const row of rows) releaseAll(code, row);
  });
}

/**
 * Loops over the groups of a block: 16 elements, which are four quads. `group` is the byte offset of the group's first
 * quad.
 */
function emitGroups({ code, index, first }: WholeBlock, body: (group: Int32) => void): void {
  const group = code.local(I32);
  group.set(0);
  index.set(first);
  const round = (): void => {
    body(group);
    for (const local of [index, group]) local.set(local.add(16));
  };
  doWhile(code, round, group.ltU(4 * QUADS));
  code.release(group);
}

/**
 * Stores the prefix before each of the four quads (four elements each) of a group. From the quads' totals t0, t1 and t2
 * it computes t0, t0 ⊕ t1, (t0 ⊕ t1) ⊕ t2. The prefix before the first quad is garbage.
 */
function emitPrefixesInGroup(block: WholeBlock, group: Int32, totals: State): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  shuffle(left, totals, totals, [0, 0, 0, 0]);
  shuffle(right, totals, totals, [1, 1, 1, 1]);
  combine(left, left, right);
  shuffle(right, totals, totals, [2, 2, 2, 2]);
  combine(right, left, right);
  shuffle(left, left, right, [0, 0, 0, 4]);
  shuffle(left, totals, left, [0, 0, 4, 7]);
  storeAll(block, group, PREFIXES, left);
  releaseAll(code, [...left, ...right]);
}

/** Extends the prefixes from groups of four quads to the whole block, level by level (Sklansky 1960). */
function emitPrefixesOfGroups(block: WholeBlock): void {
  const { code } = block;
  const count = code.local(I32);
  const bytes = code.local(I32);
  count.set(QUADS);
  emitHalve(block, count);
  emitHalve(block, count);
  bytes.set(16);
  const round = (): void => {
    emitLevel(block, bytes);
    emitHalve(block, count);
  };
  doWhile(code, round, bytes.tee(bytes.shl(1)).ltU(4 * QUADS));
  code.release(count);
  code.release(bytes);
}

/**
 * For every second group, prepends the total of the preceding group to all prefixes of the group. The prefixes of a
 * group take `bytes` bytes, four bytes for each quad (four elements).
 */
function emitLevel(block: WholeBlock, bytes: Int32): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  const at = code.local(I32);
  const end = code.local(I32);
  const total = code.local(I32);
  const extend = (): void => {
    loadAll(block, at, PREFIXES, right);
    combine(right, left, right);
  };
  const extendGroup = (): void => {
    loadSplats(block, total, TOTALS, left);
    end.set(at.add(bytes));
    // The first quad of the group has no prefix yet, so the total itself becomes this quad's prefix.
    extend();
    shuffle(right, left, right, [0, 5, 6, 7]);
    loop(code, (nextQuads) => {
      storeAll(block, at, PREFIXES, right);
      when(code, at.tee(at.add(16)).ltU(end), () => {
        extend();
        br(code, nextQuads);
      });
    });
    total.set(total.add(8));
  };
  total.set(0);
  at.set(bytes);
  doWhile(code, extendGroup, at.tee(end.add(bytes)).ltU(4 * QUADS));
  releaseAll(code, [...left, ...right, at, end, total]);
}

/** Combines totals in pairs, which halves the number of totals, `count`. Lanes after the last total contain garbage. */
function emitHalve(block: WholeBlock, count: Int32Local): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  const source = code.local(I32);
  const target = code.local(I32);
  source.set(0);
  target.set(0);
  const even: VectorLocal[] = [];
  const round = (): void => {
    loadAll(block, source, TOTALS, left);
    loadAll(block, source, TOTALS + 16, right);
    even.push(...vectorLocals(code, monoid));
    shuffle(even, left, right, [0, 2, 4, 6]);
    shuffle(right, left, right, [1, 3, 5, 7]);
    combine(even, even, right);
    storeAll(block, target, TOTALS, even);
    source.set(source.add(32));
  };
  doWhile(code, round, target.tee(target.add(16)).ltU(count.shl(1)));
  count.set(count.shrU(1));
  releaseAll(code, [...left, ...right, ...even, source, target]);
}

function emitVisits(block: WholeBlock, before: Before, visit: VisitFour): void {
  const { code, monoid, combine } = block;
  const prefix = vectorLocals(code, monoid);
  const identity = vectorLocals(code, monoid);
  const inFront = vectorLocals(code, monoid);
  emitVectorIdentity(monoid, identity);
  monoid.types.forEach((type, leaf) => {
    prefix[leaf]!.set(splatOf(type, before.state[leaf]!));
  });
  /**
   * The inclusive prefixes of element k of the four quads (four elements each) in a group: `inFront` combined with the
   * prefixes within the quads.
   */
  const join = (group: Int32, k: number): VectorLocal[] => {
    const local = vectorLocals(code, monoid);
    const joined = vectorLocals(code, monoid);
    loadAll(block, group, 4 * QUADS * k, local);
    combine(joined, inFront, local);
    // Nothing precedes the first quad of the first block, so the prefixes within this quad are already complete.
    whereNothingBefore(group, () => shuffle(joined, local, joined, [0, 5, 6, 7]));
    releaseAll(code, local);
    return joined;
  };
  const whereNothingBefore = (group: Int32, body: () => void): void =>
    when(code, group.isZero(), () => when(code, before.exists.isZero(), body));
  emitGroups(block, (group) => {
    loadAll(block, group, PREFIXES, inFront);
    when(code, before.exists, () => {
      combine(inFront, prefix, inFront);
      when(code, group.isZero(), () => shuffle(inFront, prefix, inFront, [0, 5, 6, 7]));
    });
    const inclusive = [0, 1, 2, 3].map((k) => join(group, k));
    whereNothingBefore(group, () => shuffle(inFront, identity, inFront, [0, 5, 6, 7]));
    const exclusive = [inFront, ...inclusive.slice(0, 3)].map((state) => {
      const copied = vectorLocals(code, monoid);
      copyAll(copied, state);
      return copied;
    });
    transpose(code, inclusive);
    transpose(code, exclusive);
    for (const [k, offset] of [0, 4, 8, 12].entries()) visit(offset, exclusive[k]!, inclusive[k]!);
    for (const state of [...inclusive, ...exclusive]) releaseAll(code, state);
  });
  releaseAll(code, [...prefix, ...identity, ...inFront]);
}

/** Transposes four vectors of four lanes like a 4 × 4 matrix, for each leaf (scalar component). */
function transpose(code: Code, rows: readonly State[]): void {
  const [a, b, c, d] = rows as readonly [State, State, State, State];
  const fresh = (): VectorLocal[] => a.map(() => code.local(V128));
  const [ab, cd, AB, CD] = [fresh(), fresh(), fresh(), fresh()] as const;
  shuffle(ab, a, b, [0, 4, 1, 5]);
  shuffle(cd, c, d, [0, 4, 1, 5]);
  shuffle(AB, a, b, [2, 6, 3, 7]);
  shuffle(CD, c, d, [2, 6, 3, 7]);
  shuffle(a, ab, cd, [0, 1, 4, 5]);
  shuffle(b, ab, cd, [2, 3, 6, 7]);
  shuffle(c, AB, CD, [0, 1, 4, 5]);
  shuffle(d, AB, CD, [2, 3, 6, 7]);
  releaseAll(code, [...ab, ...cd, ...AB, ...CD]);
}

function shuffle(into: State, a: State, b: State, choice: Lanes): void {
  for (const [leaf, local] of into.entries()) local.set(a[leaf]!.shuffle(b[leaf]!, choice));
}

/** The byte offset of one part (such as the totals) of a leaf (scalar component), in the worker's scratch memory. */
function partOf(leaf: number, part: number): number {
  return leaf * LEAF_BYTES + part;
}

function storeAll({ code, room }: WholeBlock, offset: Int32, part: number, state: State): void {
  for (const [leaf, local] of state.entries()) store(code, room.add(offset), local, partOf(leaf, part));
}

function loadAll({ room }: WholeBlock, offset: Int32, part: number, into: State): void {
  for (const [leaf, local] of into.entries()) local.set(loadVector(room.add(offset), partOf(leaf, part)));
}

/** Sets all four lanes of each leaf (scalar component) to the word at `offset`. */
function loadSplats({ room }: WholeBlock, offset: Int32, part: number, into: State): void {
  for (const [leaf, local] of into.entries()) local.set(loadSplat(room.add(offset), partOf(leaf, part)));
}
