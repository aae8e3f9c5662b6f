import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { emitExtract, emitSplat } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { emitCopy, emitVectorIdentity, releaseAll, type VectorCombine, vectorLocals } from './monoid-code.ts';
import type { Before } from './tree-code.ts';

/**
 * The canonical combination tree over one whole block, with the same brackets as `tree-code.ts`, four quads at once: the
 * elements of four quads are transposed, so that a lane folds a quad.
 */
export interface WholeBlock {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  readonly combine: VectorCombine;
  /** Code for the elements, at the local `index`. */
  readonly lanes: VectorCode;
  readonly elements: readonly Node[];
  readonly index: number;
  /** Local with the address of the worker's room: for every leaf, local prefixes, then totals, then prefixes of quads. */
  readonly room: number;
  /** Local of the block's first element. */
  readonly first: number;
}

type Lanes = readonly [number, number, number, number];
/** Locals of a state in four lanes. */
type State = readonly number[];

const QUADS = BLOCK / QUAD;
/** Offsets in bytes in the room of a leaf; the local prefixes up to element k of all quads stand at k times as many bytes. */
const TOTALS = 4 * BLOCK;
const PREFIXES = 4 * (BLOCK + QUADS);
const LEAF_BYTES = 4 * (BLOCK + 2 * QUADS);

/** The total of the block, into scalar locals. */
export function emitWholeTotal(block: WholeBlock, total: readonly number[]): void {
  const { code, monoid, room } = block;
  emitQuads(block, (group, prefixes) => store(block, group, TOTALS, prefixes[3]!));
  const count = code.local(I32);
  code.i32(QUADS);
  code.set(count);
  code.while(
    () => {
      code.get(count);
      code.i32(1);
      code.op(op.i32GtU);
    },
    () => emitHalve(block, count),
  );
  monoid.types.forEach((type, leaf) => {
    code.get(room);
    code.simdMemory(simd.load, leaf * LEAF_BYTES + TOTALS);
    emitExtract(code, type, 0);
    code.set(total[leaf]!);
  });
  code.release(count);
}

/** What is done with four elements, from `index + offset` on. */
export type VisitFour = (offset: number, exclusive: State, inclusive: State) => void;

/** The exclusive and inclusive prefixes of all elements of the block. */
export function emitWholePrefixes(block: WholeBlock, before: Before, visit: VisitFour): void {
  emitQuads(block, (group, prefixes) => {
    prefixes.forEach((prefix, k) => {
      store(block, group, 4 * QUADS * k, prefix);
    });
    store(block, group, TOTALS, prefixes[3]!);
    emitPrefixesInGroup(block, group, prefixes[3]!);
  });
  emitPrefixesOfGroups(block);
  emitVisits(block, before, visit);
}

/** Folds four quads at once, one a lane; `prefixes[k]` are their prefixes up to their element k. */
function emitQuads(block: WholeBlock, body: (group: number, prefixes: readonly State[]) => void): void {
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

/** Goes through the block by sixteen elements; `group` holds the offset in bytes of their four quads. */
function emitGroups({ code, index, first }: WholeBlock, body: (group: number) => void): void {
  const group = code.local(I32);
  code.i32(0);
  code.set(group);
  code.get(first);
  code.set(index);
  const again = code.loop();
  body(group);
  for (const local of [index, group]) {
    code.get(local);
    code.i32(16);
    code.op(op.i32Add);
    code.set(local);
  }
  code.get(group);
  code.i32(4 * QUADS);
  code.op(op.i32LtU);
  code.brIf(again);
  code.end();
  code.release(group);
}

/** Prefixes among four quads: none, t0, t0 ⊕ t1, (t0 ⊕ t1) ⊕ t2. */
function emitPrefixesInGroup(block: WholeBlock, group: number, totals: State): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  shuffle(code, left, totals, totals, [0, 0, 0, 0]);
  shuffle(code, right, totals, totals, [1, 1, 1, 1]);
  combine(left, left, right);
  shuffle(code, right, totals, totals, [2, 2, 2, 2]);
  combine(right, left, right);
  shuffle(code, left, left, right, [0, 0, 0, 4]);
  shuffle(code, left, totals, left, [0, 0, 4, 7]);
  store(block, group, PREFIXES, left);
  releaseAll(code, [...left, ...right]);
}

/** Prefixes among groups of quads, level by level (Sklansky 1960). */
function emitPrefixesOfGroups(block: WholeBlock): void {
  const { code } = block;
  const count = code.local(I32);
  const bytes = code.local(I32);
  code.i32(QUADS);
  code.set(count);
  emitHalve(block, count);
  emitHalve(block, count);
  code.i32(16);
  code.set(bytes);
  const again = code.loop();
  emitLevel(block, bytes);
  emitHalve(block, count);
  code.get(bytes);
  code.i32(1);
  code.op(op.i32Shl);
  code.tee(bytes);
  code.i32(4 * QUADS);
  code.op(op.i32LtU);
  code.brIf(again);
  code.end();
  code.release(count);
  code.release(bytes);
}

/** Every second group, of so many bytes of quads, gets the total of the one before it in front. */
function emitLevel(block: WholeBlock, bytes: number): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  const at = code.local(I32);
  const end = code.local(I32);
  const total = code.local(I32);
  code.i32(0);
  code.set(total);
  code.get(bytes);
  code.set(at);
  const nextGroup = code.loop();
  loadSplat(block, total, TOTALS, left);
  code.get(at);
  code.get(bytes);
  code.op(op.i32Add);
  code.set(end);
  // The first quad of the group has nothing in front of it but that total.
  load(block, at, PREFIXES, right);
  combine(right, left, right);
  shuffle(code, right, left, right, [0, 5, 6, 7]);
  const nextQuads = code.loop();
  store(block, at, PREFIXES, right);
  code.get(at);
  code.i32(16);
  code.op(op.i32Add);
  code.tee(at);
  code.get(end);
  code.op(op.i32LtU);
  code.when(() => {
    load(block, at, PREFIXES, right);
    combine(right, left, right);
    code.br(nextQuads);
  });
  code.end();
  code.get(total);
  code.i32(8);
  code.op(op.i32Add);
  code.set(total);
  code.get(end);
  code.get(bytes);
  code.op(op.i32Add);
  code.tee(at);
  code.i32(4 * QUADS);
  code.op(op.i32LtU);
  code.brIf(nextGroup);
  code.end();
  releaseAll(code, [...left, ...right, at, end, total]);
}

/** Combines neighbours among the totals; the count of them is halved. Lanes behind the last one hold anything. */
function emitHalve(block: WholeBlock, count: number): void {
  const { code, monoid, combine } = block;
  const left = vectorLocals(code, monoid);
  const right = vectorLocals(code, monoid);
  const source = code.local(I32);
  const target = code.local(I32);
  code.i32(0);
  code.set(source);
  code.i32(0);
  code.set(target);
  const again = code.loop();
  load(block, source, TOTALS, left);
  load(block, source, TOTALS + 16, right);
  const even = vectorLocals(code, monoid);
  shuffle(code, even, left, right, [0, 2, 4, 6]);
  shuffle(code, right, left, right, [1, 3, 5, 7]);
  combine(even, even, right);
  store(block, target, TOTALS, even);
  code.get(source);
  code.i32(32);
  code.op(op.i32Add);
  code.set(source);
  code.get(target);
  code.i32(16);
  code.op(op.i32Add);
  code.tee(target);
  code.get(count);
  code.i32(1);
  code.op(op.i32Shl, op.i32LtU);
  code.brIf(again);
  code.end();
  code.get(count);
  code.i32(1);
  code.op(op.i32ShrU);
  code.set(count);
  releaseAll(code, [...left, ...right, ...even, source, target]);
}

function emitVisits(block: WholeBlock, before: Before, visit: VisitFour): void {
  const { code, monoid, combine } = block;
  const prefix = vectorLocals(code, monoid);
  const identity = vectorLocals(code, monoid);
  const inFront = vectorLocals(code, monoid);
  emitVectorIdentity(code, monoid, identity);
  monoid.types.forEach((type, leaf) => {
    code.get(before.state[leaf]!);
    emitSplat(code, type);
    code.set(prefix[leaf]!);
  });
  emitGroups(block, (group) => {
    load(block, group, PREFIXES, inFront);
    code.get(before.exists);
    code.when(() => {
      combine(inFront, prefix, inFront);
      atStart(code, group, () => shuffle(code, inFront, prefix, inFront, [0, 5, 6, 7]));
    });
    const inclusive = [0, 1, 2, 3].map((k) => {
      const local = vectorLocals(code, monoid);
      const joined = vectorLocals(code, monoid);
      load(block, group, 4 * QUADS * k, local);
      combine(joined, inFront, local);
      // The block's first quad may have nothing in front of it.
      atStart(code, group, () => {
        code.get(before.exists);
        code.op(op.i32Eqz);
        code.when(() => shuffle(code, joined, local, joined, [0, 5, 6, 7]));
      });
      releaseAll(code, local);
      return joined;
    });
    atStart(code, group, () => {
      code.get(before.exists);
      code.op(op.i32Eqz);
      code.when(() => shuffle(code, inFront, identity, inFront, [0, 5, 6, 7]));
    });
    const exclusive = [inFront, ...inclusive.slice(0, 3)].map((state) => {
      const copied = vectorLocals(code, monoid);
      emitCopy(code, copied, state);
      return copied;
    });
    transpose(code, inclusive);
    transpose(code, exclusive);
    [0, 4, 8, 12].forEach((offset, k) => {
      visit(offset, exclusive[k]!, inclusive[k]!);
    });
    for (const state of [...inclusive, ...exclusive]) releaseAll(code, state);
  });
  releaseAll(code, [...prefix, ...identity, ...inFront]);
}

/** Runs the body for the first group of the block. */
function atStart(code: Code, group: number, body: () => void): void {
  code.get(group);
  code.op(op.i32Eqz);
  code.when(body);
}

/** Four states in four lanes each change places, leaf by leaf. */
function transpose(code: Code, rows: readonly State[]): void {
  const [a, b, c, d] = rows as readonly [State, State, State, State];
  const fresh = (): number[] => a.map(() => code.local(V128));
  const [ab, cd, AB, CD] = [fresh(), fresh(), fresh(), fresh()] as const;
  shuffle(code, ab, a, b, [0, 4, 1, 5]);
  shuffle(code, cd, c, d, [0, 4, 1, 5]);
  shuffle(code, AB, a, b, [2, 6, 3, 7]);
  shuffle(code, CD, c, d, [2, 6, 3, 7]);
  shuffle(code, a, ab, cd, [0, 1, 4, 5]);
  shuffle(code, b, ab, cd, [2, 3, 6, 7]);
  shuffle(code, c, AB, CD, [0, 1, 4, 5]);
  shuffle(code, d, AB, CD, [2, 3, 6, 7]);
  releaseAll(code, [...ab, ...cd, ...AB, ...CD]);
}

function shuffle(code: Code, into: State, a: State, b: State, choice: Lanes): void {
  into.forEach((local, leaf) => {
    code.get(a[leaf]!);
    code.get(b[leaf]!);
    code.shuffle(choice);
    code.set(local);
  });
}

/** Pushes the address of `offset` bytes into the room. */
function pushAddress({ code, room }: WholeBlock, offset: number): void {
  code.get(room);
  code.get(offset);
  code.op(op.i32Add);
}

function store(block: WholeBlock, offset: number, part: number, state: State): void {
  state.forEach((local, leaf) => {
    pushAddress(block, offset);
    block.code.get(local);
    block.code.simdMemory(simd.store, leaf * LEAF_BYTES + part);
  });
}

function load(block: WholeBlock, offset: number, part: number, into: State): void {
  into.forEach((local, leaf) => {
    pushAddress(block, offset);
    block.code.simdMemory(simd.load, leaf * LEAF_BYTES + part);
    block.code.set(local);
  });
}

function loadSplat(block: WholeBlock, offset: number, part: number, into: State): void {
  into.forEach((local, leaf) => {
    pushAddress(block, offset);
    block.code.simdMemory(simd.load32Splat, leaf * LEAF_BYTES + part);
    block.code.set(local);
  });
}
