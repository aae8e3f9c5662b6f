import { capacityOf, type MergeCommand, type Program } from '../../../../primitives/contract/backend.ts';
import { u32 } from '../../../../primitives/functors/functor.ts';
import { record } from '../../../../primitives/functors/recorder.ts';
import { entryOf, moduleNumber, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { monoidProgram, plus } from '../../../../primitives/monoid.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { type BoundProgram, bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import {
  createParameters,
  dispatchWord,
  GROUP_NUMBER,
  type LengthWords,
  lengthExpression,
} from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { scan } from '../scan/scan.ts';
import { columnsProgram } from '../shared/columns-program.ts';
import { emitStoresOf, linkStores, storesKey } from '../shared/stores.ts';
import {
  bytesOf,
  emitCount,
  emitHeld,
  emitKeys,
  emitPoint,
  emitRead,
  emitSteps,
  emitTileFunctions,
  emitWrite,
  IN_MEMORY,
  IN_TILE,
  type MergeTile,
  PREFIXES,
  rowsOfTile,
} from './merge-text.ts';

/** Threads of a workgroup that finds cuts. Few, so that the searches spread over the multiprocessors. */
const SEARCHERS = 64;

/** A thread marks what it keeps in the bits of a word, and may have one row more. */
const MAX_ITEMS = 31;

/** Buffers that the kernels bind besides those of the command: the cuts, and the places of tiles; and the gate of a loop. */
const OWN_BINDINGS = 3;

/** The tile for a command; none if a workgroup has too little memory, or a launch too few bindings. */
export function layoutMerge(engine: Engine, command: MergeCommand): MergeTile | false {
  const { pool, limits, tuning, threads: maxThreads } = engine;
  const { first, second, keeps, stores } = command;
  const programs = programsOf(command);
  const read = programs.flatMap(({ arrays }) => [...arrays.values()].map(({ buffer }) => buffer));
  const memories = new Set([...read, ...stores.map(({ buffer }) => buffer)].map((buffer) => pool.resolve(buffer)));
  const bindings = [...memories].reduce((sum, { parts }) => sum + parts.length, OWN_BINDINGS);
  if (bindings > limits.storageBuffers) return false;
  const words = entryOf(first.keys.module).results.length;
  const [row, other] = [first.row!.module, second.row?.module];
  // Rows of both tables have the same results if the columns of the keys are in the same places.
  const areAlike = other === undefined || moduleNumber(other) === moduleNumber(row);
  const isOfKeys = first.isOfKeys && second.isOfKeys && areAlike;
  const subgroups = engine.subgroups !== undefined && keeps !== undefined;
  const threads = Math.min(tuning.merge.threads, maxThreads);
  const shape = { threads, words, isOfKeys, keeps, hasSecond: other !== undefined, subgroups };
  let items = Math.min(MAX_ITEMS, Math.max(1, Math.floor(tuning.merge.items / words)));
  while (items > 0 && bytesOf({ ...shape, items }) > engine.shared) items--;
  return items > 0 && { ...shape, items };
}

function programsOf({ first, second }: MergeCommand): Program[] {
  return [first.keys, second.keys, first.row, second.row].filter((program) => program !== undefined);
}

/**
 * Merges in tiles, one to a workgroup; see `MergeCommand`. One launch finds where the tiles begin in both tables. A
 * workgroup then reads the keys of its tile into workgroup memory. Each of its threads finds where its share of the rows
 * begins and takes them one by one. The workgroup collects what is kept and writes it side by side. If not all rows are
 * kept, a launch counts those of every tile, and a scan finds their places, before the rows are written.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Baxter, Modern GPU: Multisets, 2013.
 */
export function mergeTiles(engine: Engine, command: MergeCommand, tile: MergeTile): void {
  const { pool } = engine;
  const tiles = Math.ceil(capacityOf(command.extent) / rowsOfTile(tile));
  const cuts = pool.allocate(2 * (tiles + 1));
  if (tiles > 0) findCuts(engine, command, tile, tiles, cuts);
  if (command.keeps === undefined) {
    if (tiles > 0) launchTiles(engine, command, tile, tiles, cuts, { kind: 'all' });
  } else {
    const [counts, offsets] = [pool.allocate(Math.max(1, tiles)), pool.allocate(Math.max(1, tiles))];
    if (tiles > 0) launchTiles(engine, command, tile, tiles, cuts, { kind: 'count', counts });
    scan(engine, {
      kind: 'scan',
      extent: tiles,
      program: columnsProgram([counts], tiles),
      monoid: monoidProgram(plus(u32)),
      emit: { module: before, arrays: new Map(), uniforms: new Map() },
      stores: [{ buffer: offsets, offset: 0, capacity: tiles, value: 0 }],
      total: command.total,
    });
    if (tiles > 0) launchTiles(engine, command, tile, tiles, cuts, { kind: 'write', offsets });
    pool.release(counts);
    pool.release(offsets);
  }
  pool.release(cuts);
}

const before = record({ name: 'rowsBefore', parameters: ['u32', 'u32', 'u32'], results: ['u32'] }, ([, rows]) => [
  rows!,
]);

/** The programs of a command as a launch binds them, and the lengths of its tables. */
interface Bound {
  readonly bindings: Bindings;
  readonly programs: readonly BoundProgram[];
  readonly lengths: readonly [LengthWords, LengthWords];
  readonly key: string;
  functions(shader: Shader): string;
}

function bind({ pool }: Engine, { first, second }: MergeCommand, hasRows: boolean): Bound {
  const parameters = createParameters(pool);
  const bindings = createBindings(parameters);
  const linked = [
    [first.keys, first.length],
    [second.keys, second.length],
    ...(hasRows
      ? ([
          [first.row, first.length],
          [second.row, second.length],
        ] as const)
      : []),
  ] as const;
  const programs = linked.flatMap(([program, length], k) =>
    program === undefined ? [] : [bindArrays(linkProgram(PREFIXES[k]!, program, parameters, length), bindings)],
  );
  const lengths = [parameters.length(first.length), parameters.length(second.length)] as const;
  return {
    bindings,
    programs,
    lengths,
    key: `${programs.map(programKey).join(' ')} ${lengths.map(({ raw }) => raw).join('.')}`,
    functions: (shader) => programs.map((program) => emitProgram(program, shader)).join('\n'),
  };
}

/** Stores the points at which tiles begin, and that at which the last one ends. */
function findCuts(engine: Engine, command: MergeCommand, tile: MergeTile, tiles: number, cuts: Memory): void {
  const { bindings, lengths, key, functions } = bind(engine, command, false);
  const out = bindings.bind(cuts, 'write');
  const [na, nb] = lengths.map(lengthExpression);
  const rows = rowsOfTile(tile);
  launch(engine, {
    key: `merge cuts ${key} ${out} ${rows} ${tile.keeps !== undefined}`,
    words: [tiles],
    bindings,
    groups: Math.ceil((tiles + 1) / SEARCHERS),
    code: (shader) => ({
      threads: SEARCHERS,
      declarations: `${functions(shader)}
${emitKeys(tile)}
${emitPoint(IN_MEMORY, tile.keeps !== undefined)}`,
      main: `let cut = ${GROUP_NUMBER} * ${SEARCHERS}u + t;
if (cut > ${dispatchWord(0)}) { return; }
let na = ${na};
let nb = ${nb};
let all = na + nb;
let point = all_point(select(all, cut * ${rows}u, cut <= all / ${rows}u), na, nb);
store_${out}(2u * cut, point.x);
store_${out}(2u * cut + 1u, point.y);`,
    }),
  });
}

/** What a launch of tiles does: writes all rows, counts those that are kept, or writes these. */
type Task =
  | { readonly kind: 'all' }
  | { readonly kind: 'count'; readonly counts: Memory }
  | { readonly kind: 'write'; readonly offsets: Memory };

function launchTiles(
  engine: Engine,
  command: MergeCommand,
  tile: MergeTile,
  tiles: number,
  cuts: Memory,
  task: Task,
): void {
  const { bindings, lengths, key, functions } = bind(engine, command, true);
  const starts = bindings.bind(cuts, 'read');
  const own =
    task.kind === 'all'
      ? 0
      : task.kind === 'count'
        ? bindings.bind(task.counts, 'write')
        : bindings.bind(task.offsets, 'read');
  const linked = task.kind === 'count' ? [] : linkStores(command.stores, bindings.parameters, command.extent);
  const stores = linked.map((store) => ({ store, slot: bindings.bind(store.memory, 'write') }));
  const row = command.first.row!.module;
  const results: readonly ScalarType[] = entryOf(row).results;
  const written = emitStoresOf(stores, results, (k) => `row.r${k}`, 'at');
  const [na, nb] = lengths.map(lengthExpression);
  const end =
    task.kind === 'all'
      ? `let base = begin.x + begin.y;\n${emitWrite(tile, written)}`
      : task.kind === 'count'
        ? `${emitCount(tile)}\nif (u == 0u) { store_${own}(tile, all); }`
        : `${emitCount(tile)}\nlet base = load_${own}(tile);\n${emitWrite(tile, written)}`;
  launch(engine, {
    key: `merge ${task.kind} ${key} ${JSON.stringify(tile)} ${starts} ${own} ${storesKey(stores)}`,
    words: [tiles],
    bindings,
    groups: tiles,
    code: (shader) => ({
      threads: tile.threads,
      subgroups: tile.subgroups,
      declarations: `${functions(shader)}
${emitKeys(tile)}
${emitTileFunctions(tile, { row })}
${tile.isOfKeys ? emitHeld(tile) : ''}
${emitPoint(IN_TILE, tile.keeps !== undefined)}`,
      main: `let tile = ${GROUP_NUMBER};
if (tile >= ${dispatchWord(0)}) { return; }
let u = ${tile.subgroups ? 'sid * sg + lane' : 't'};
${emitRead(tile, (at) => `vec2<u32>(load_${starts}(2u * (${at})), load_${starts}(2u * (${at}) + 1u))`, [na!, nb!])}
${emitSteps(tile)}
${end}`,
    }),
  });
}
