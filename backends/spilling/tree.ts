import type { MonoidProgram, Program, ReduceCommand, ScanCommand } from '../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../primitives/contract/combination-tree.ts';
import { withBuffers } from './carry.ts';
import { type LeafColumns, leafArrays, leafStores, leavesProgram } from './leaves.ts';
import { isShortage } from './shortage.ts';
import { emitPrefixes, exclusiveEmit, groupTotal, QUADS_PER_BLOCK, quadPrefixStep, quadTotal } from './tree-modules.ts';
import { planWindows, type RowWindow, type WindowMachine } from './windows.ts';

/**
 * The functions below fold and scan with inexact monoids. Values are combined in the order of the tree that
 * `combination-tree.ts` defines, so that the results have the same bytes as without windows (ranges of indices).
 * Windows are whole blocks of the tree, and the higher levels of the tree combine the totals of blocks.
 */

/** Possible numbers of elements per subtree of the combination tree. Windows consist of whole subtrees. */
const SUBTREES: readonly number[] = [BLOCK * BLOCK, BLOCK];

/** Folds every subtree, then the totals of the subtrees. */
export async function reduceTree(machine: WindowMachine, command: ReduceCommand): Promise<void> {
  const { extent, program, monoid, into } = command;
  const { inner, maxRows } = machine;
  const { types } = monoid;
  const partials = (length: number, subtree: number): number => types.length * Math.ceil(length / subtree);
  const reduceBy = async (subtree: number): Promise<void> => {
    const windowing = await planWindows(machine, {
      extent,
      programs: [program],
      cells: [into.buffer],
      multiple: subtree,
      fixed: (length) => partials(length, subtree),
    });
    const count = Math.ceil(windowing.length / subtree);
    await withBuffers(inner, [partials(windowing.length, subtree)], async (buffer) => {
      await windowing.run(({ from, rows, programs }) => {
        for (let at = from; at < from + rows; at += subtree) {
          const to = Math.min(from + rows, at + subtree);
          const [values] = programs(at, to) as [Program];
          inner.run({
            kind: 'reduce',
            extent: to - at,
            program: values,
            monoid,
            into: { buffer: buffer!, word: (at / subtree) * types.length },
          });
        }
      });
      inner.run({
        kind: 'reduce',
        extent: count,
        program: recordsProgram({ buffer: buffer!, types, stride: 1 }, count),
        monoid,
        into,
      });
    });
  };
  const [large, small] = SUBTREES as [number, number];
  if (maxRows < large) return reduceBy(small);
  try {
    await reduceBy(large);
  } catch (error) {
    if (!isShortage(error)) throw error;
    await reduceBy(small);
  }
}

/** A program that reads records whose leaves (scalar components) are adjacent words. */
function recordsProgram(leaves: LeafColumns, count: number): Program {
  return leavesProgram(leaves, count, leaves.types.length);
}

/**
 * Computes first the totals of all blocks, then the prefixes of the blocks, and finally the prefixes of the elements.
 */
export async function scanTree(machine: WindowMachine, command: ScanCommand): Promise<void> {
  const { inner } = machine;
  const { extent, program, monoid, emit, stores, total } = command;
  const { types } = monoid;
  const scratch = 2 * types.length;
  const fixed = (length: number): number => 2 * types.length * Math.ceil(length / BLOCK);
  const totals = await planWindows(machine, { extent, programs: [program], multiple: BLOCK, scratch, fixed });
  const blocks = Math.ceil(totals.length / BLOCK);
  await withBuffers(inner, [types.length * blocks, types.length * blocks], async (first, second) => {
    const blockTotals: LeafColumns = { buffer: first!, types, stride: blocks };
    const blockPrefixes: LeafColumns = { buffer: second!, types, stride: blocks };
    await totals.run((window) => {
      const elements = storeElements(machine, monoid, window);
      climb(machine, monoid, window, elements, undefined, { into: blockTotals, at: window.from / BLOCK });
    });
    const cells = total === undefined ? [] : [total.buffer];
    const emitting = await planWindows(machine, {
      extent,
      programs: [program, emit],
      stores,
      cells,
      multiple: BLOCK,
      scratch,
    });
    inner.run({
      kind: 'scan',
      extent: blocks,
      program: leavesProgram(blockTotals, blocks),
      monoid,
      emit: { module: exclusiveEmit(monoid), arrays: new Map(), uniforms: new Map() },
      stores: leafStores(blockPrefixes, 0, blocks),
      total,
    });
    await emitting.run((window) => {
      const elements = storeElements(machine, monoid, window);
      const quads = Math.ceil(window.rows / QUAD);
      let [prefixes, next] = [0, 1].map(() => takeLeaves(window, monoid, quads)) as [LeafColumns, LeafColumns];
      climb(machine, monoid, window, elements, (level, groups) => {
        const uniforms = new Map([['level', level]]);
        const arrays = new Map([
          ...leafArrays('group', groups, 0, groups.stride),
          ...leafArrays('prefix', prefixes, 0, quads),
        ]);
        inner.run({
          kind: 'forEach',
          extent: quads,
          program: { module: quadPrefixStep(monoid), arrays, uniforms },
          stores: leafStores(next, 0, quads),
        });
        [prefixes, next] = [next, prefixes];
      });
      emitWindow(machine, monoid, window, { elements, prefixes, blockPrefixes });
    });
  });
}

function takeLeaves(window: RowWindow, { types }: MonoidProgram, count: number): LeafColumns {
  return { buffer: window.take(types.length * count), types, stride: count };
}

/**
 * Computes the elements of a window (range of indices) with the window's first program and stores them in temporary
 * columns.
 */
function storeElements({ inner }: WindowMachine, monoid: MonoidProgram, window: RowWindow): LeafColumns {
  const elements = takeLeaves(window, monoid, window.rows);
  inner.run({
    kind: 'forEach',
    extent: window.rows,
    program: window.programs()[0]!,
    stores: leafStores(elements, 0, window.rows),
  });
  return elements;
}

/**
 * Combines the totals of quads (four elements each) into totals of larger groups, level by level up to blocks. Calls
 * `see` with each level below blocks and the totals of its groups. If `blocks` is given, stores the totals of the
 * blocks in `blocks.into`, from element `blocks.at` on.
 */
function climb(
  { inner }: WindowMachine,
  monoid: MonoidProgram,
  window: RowWindow,
  elements: LeafColumns,
  see: ((level: number, groups: LeafColumns) => void) | undefined,
  blocks?: { readonly into: LeafColumns; readonly at: number },
): void {
  const levels = Math.log2(QUADS_PER_BLOCK);
  let groups = takeLeaves(window, monoid, Math.ceil(window.rows / QUAD));
  combineLevel(quadTotal(monoid), 'element', elements, leafStores(groups, 0, groups.stride));
  for (let level = 0; level < levels; level++) {
    see?.(level, groups);
    const halves = groups;
    const count = Math.ceil(halves.stride / 2);
    if (level < levels - 1) groups = takeLeaves(window, monoid, count);
    else if (blocks === undefined) return;
    const last = level === levels - 1;
    combineLevel(
      groupTotal(monoid),
      'group',
      halves,
      last ? leafStores(blocks!.into, blocks!.at, count) : leafStores(groups, 0, count),
    );
  }

  function combineLevel(
    module: Program['module'],
    name: string,
    from: LeafColumns,
    stores: ReturnType<typeof leafStores>,
  ): void {
    const uniforms = new Map([['count', from.stride]]);
    const arrays = leafArrays(name, from, 0, from.stride);
    inner.run({ kind: 'forEach', extent: stores[0]!.capacity, program: { module, arrays, uniforms }, stores });
  }
}

function emitWindow(
  { inner }: WindowMachine,
  monoid: MonoidProgram,
  window: RowWindow,
  {
    elements,
    prefixes,
    blockPrefixes,
  }: { readonly elements: LeafColumns; readonly prefixes: LeafColumns; readonly blockPrefixes: LeafColumns },
): void {
  const consume = window.programs()[1]!;
  const blocksBefore = window.from / BLOCK;
  const arrays = new Map([
    ...consume.arrays,
    ...leafArrays('element', elements, 0, elements.stride),
    ...leafArrays('quad', prefixes, 0, prefixes.stride),
    ...leafArrays('block', blockPrefixes, blocksBefore, blockPrefixes.stride - blocksBefore),
  ]);
  const uniforms = new Map<string, number | boolean>(consume.uniforms).set('blocksBefore', blocksBefore);
  inner.run({
    kind: 'forEach',
    extent: window.rows,
    program: { module: emitPrefixes(consume.module, monoid), arrays, uniforms },
    stores: window.stores,
  });
}
