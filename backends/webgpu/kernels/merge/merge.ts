import { capacityOf, type MergeCommand, type Program } from '../../../../primitives/contract/backend.ts';
import { u32 } from '../../../../primitives/functors/functor.ts';
import { record } from '../../../../primitives/functors/recorder.ts';
import { entryOf, moduleNumber, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { monoidProgram, plus } from '../../../../primitives/monoid.ts';
import { widthOf } from '../../device/device.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { type BoundProgram, bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import {
  createParameters,
  dispatchWord,
  GROUP_NUMBER,
  type LengthWords,
  lengthExpression,
  parameter,
} from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import type { SpineRun } from '../../memory/spine.ts';
import type { Silence } from '../../tuning/silence.ts';
import type { SetsTuning } from '../../tuning/tuning.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { scan } from '../scan/scan.ts';
import { columnsProgram } from '../shared/columns-program.ts';
import { type Destination, linkCell } from '../shared/destination.ts';
import {
  AGGREGATE,
  emitLookBack,
  emitSpine,
  INCLUSIVE,
  type LookBackText,
  lookBackDeclarations,
  spineWords,
} from '../shared/look-back.ts';
import { emitMonoid, emitStateStore } from '../shared/record.ts';
import { emitStoresOf, linkStores, storesKey } from '../shared/stores.ts';
import { emitLaneFunctions, laneSets } from '../shared/subgroups.ts';
import { emitPoint, IN_MEMORY, IN_TILE } from './merge-search.ts';
import {
  bytesOf,
  emitCollect,
  emitCount,
  emitExtent,
  emitGapCount,
  emitKeys,
  emitRead,
  emitSteps,
  emitTileFunctions,
  emitWrite,
  type MergeTile,
  PREFIXES,
  rowsOfTile,
} from './merge-text.ts';

/** Threads of a workgroup that finds cuts. Few, so that the searches spread over the multiprocessors. */
const SEARCHERS = 64;

/** Lanes that search for a cut together: more need fewer rounds, but read more rows. */
const LANES = 8;

/** A thread marks what it keeps in the bits of a word, and may have one row more. */
const MAX_ITEMS = 31;

/**
 * Buffers that the kernels bind besides those of the command: the cuts, the places of tiles or the spine, the number of
 * kept rows, and the gate of a loop.
 */
const OWN_BINDINGS = 4;

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
  const size = keeps === undefined ? tuning.merge : tuning.sets;
  const threads = Math.min(size.threads, maxThreads);
  const subgroups = keeps === undefined ? undefined : engine.subgroups;
  const shape = { threads, words, isOfKeys, keeps, hasSecond: other !== undefined, subgroups };
  let items = Math.min(MAX_ITEMS, Math.max(1, Math.floor(size.items / words)));
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
 * kept, the places of the others are found by look-back, as in a scan; or a launch counts those of every tile, and a scan
 * finds their places, before the rows are written.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Baxter, Modern GPU: Multisets, 2013.
 */
export function mergeTiles(engine: Engine, command: MergeCommand, tile: MergeTile): void {
  const { pool, tuning } = engine;
  const tiles = Math.ceil(capacityOf(command.extent) / rowsOfTile(tile));
  const cuts = pool.allocate(2 * (tiles + 1));
  if (tiles > 0) findCuts(engine, command, tile, tiles, cuts);
  if (command.keeps === undefined) {
    if (tiles > 0) launchTiles(engine, command, tile, tiles, cuts, { kind: 'all' });
  } else if (tile.subgroups !== undefined && tuning.sets.lookBack && tiles > 0) {
    launchTiles(engine, command, tile, tiles, cuts, { kind: 'look back' });
  } else {
    const [counts, offsets] = [pool.allocate(Math.max(1, tiles)), pool.allocate(Math.max(1, tiles))];
    if (tiles > 0) launchTiles(engine, command, tile, tiles, cuts, { kind: 'count', counts });
    scan(engine, {
      kind: 'scan',
      extent: tiles,
      program: columnsProgram([counts], tiles),
      monoid: SUM,
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

const SUM = monoidProgram(plus(u32));
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
  const lanes = Math.min(LANES, engine.subgroups?.min ?? 1);
  launch(engine, {
    key: `merge cuts ${key} ${out} ${rows} ${tile.keeps !== undefined} ${lanes}`,
    words: [tiles],
    bindings,
    groups: Math.ceil(((tiles + 1) * lanes) / SEARCHERS),
    code: (shader) => ({
      threads: SEARCHERS,
      subgroups: lanes > 1,
      declarations: `${functions(shader)}
${emitKeys(tile)}
${lanes > 1 ? 'var<private> search_lane: u32;' : ''}
${emitPoint(IN_MEMORY, tile.keeps !== undefined, lanes)}`,
      main: `${lanes > 1 ? `let u = sid * sg + lane;\nsearch_lane = lane % ${lanes}u;` : 'let u = t;'}
let cut = min(${GROUP_NUMBER} * ${SEARCHERS / lanes}u + u / ${lanes}u, ${dispatchWord(0)});
let na = ${na};
let nb = ${nb};
let all = na + nb;
let point = all_point(select(all, cut * ${rows}u, cut <= all / ${rows}u), na, nb);
store_${out}(2u * cut, point.x);
store_${out}(2u * cut + 1u, point.y);`,
    }),
  });
}

/** What a launch of tiles does: writes all rows, counts those that are kept, writes these, or does both in one pass. */
type Task =
  | { readonly kind: 'all' | 'look back' }
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
  const pass = task.kind === 'look back' ? onePass(engine, command, tile, bindings, tiles) : undefined;
  const own =
    task.kind === 'count'
      ? bindings.bind(task.counts, 'write')
      : task.kind === 'write'
        ? bindings.bind(task.offsets, 'read')
        : 0;
  const linked = task.kind === 'count' ? [] : linkStores(command.stores, bindings.parameters, command.extent);
  const stores = linked.map((store) => ({ store, slot: bindings.bind(store.memory, 'write') }));
  const row = command.first.row!.module;
  const results: readonly ScalarType[] = entryOf(row).results;
  const written = emitWrite(
    tile,
    emitStoresOf(stores, results, (k) => `row.r${k}`, 'at'),
  );
  const [na, nb] = lengths.map(lengthExpression);
  const start = (at: string): string => `vec2<u32>(load_${starts}(2u * (${at})), load_${starts}(2u * (${at}) + 1u))`;
  const extent = emitExtent(tile, start, [na!, nb!]);
  const collect = `${emitCollect(tile)}\nworkgroupBarrier();`;
  const end = {
    all: () => `let base = begin.x + begin.y;\n${collect}\n${written}`,
    count: () => `${emitCount(tile)}\nif (u == 0u) { store_${own}(tile, all); }`,
    write: () => `${emitCount(tile)}\nlet base = load_${own}(tile);\n${collect}\n${written}`,
    'look back': () => `${pass!.main(`${na} + ${nb}`)}\n${written}`,
  }[task.kind];
  const subgroups = tile.subgroups !== undefined;
  const isWhole = task.kind === 'all' || task.kind === 'look back';
  launch(engine, {
    key: `merge ${task.kind} ${key} ${JSON.stringify(tile)} ${starts} ${own} ${storesKey(stores)} ${pass?.key}`,
    words: [tiles],
    bindings,
    groups: tiles,
    run: pass?.run,
    code: (shader) => ({
      threads: tile.threads,
      subgroups,
      declarations: `${functions(shader)}
${emitKeys(tile)}
${emitTileFunctions(tile, { row })}
${emitPoint(IN_TILE, tile.keeps !== undefined)}
${pass?.declarations(shader, extent) ?? ''}`,
      main: `let tile = ${GROUP_NUMBER};
if (tile >= ${dispatchWord(pass === undefined ? 0 : 1)}) { return; }
${isWhole ? `if (tile > 0u && tile * ${rowsOfTile(tile)}u >= ${na} + ${nb}) { return; }` : ''}
let u = ${subgroups ? 'sid * sg + lane' : 't'};
${extent}
${emitRead(tile)}
${emitSteps(tile)}
${end()}`,
    }),
  });
}

/** How tiles find the places of the rows that they keep in one pass, by look-back (see `look-back.ts`). */
interface OnePass {
  readonly key: string;
  readonly run: SpineRun;
  declarations(shader: Shader, extent: string): string;
  /** WGSL that collects the rows of a tile and finds `base`. `n` is WGSL of the number of rows of both tables. */
  main(n: string): string;
}

function onePass(
  { spine, tuning, subgroups }: Engine,
  { total }: MergeCommand,
  tile: MergeTile,
  bindings: Bindings,
  tiles: number,
): OnePass {
  const { types } = SUM;
  const { tries, mute }: SetsTuning & Silence = tuning.sets;
  const run = spine.begin(spineWords(tiles, types));
  const slot = bindings.bind(run.memory, 'spine');
  const cell: Destination | undefined = total && linkCell(bindings.parameters, total, 1);
  const out = cell && bindings.bind(cell.memory, 'write', cell.cell!.first, cell.cell!.count);
  const { max } = subgroups!;
  const lookBack: LookBackText = { types, slot, max, tries, mute };
  const rows = rowsOfTile(tile);
  const speaks = mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`;
  const writeTotal = cell === undefined ? '' : `write_total(${parameter(cell.cell!.word)}, sum);`;
  const found = `let sum = combine(prefix, own);
if (tile > 0u && lane == 0u${speaks}) { publish(tile, ${INCLUSIVE}u, sum); }
if (lane == 0u) {
  place_of_tile = prefix.a0;
  if (n - tile * ${rows}u <= ${rows}u) { ${writeTotal} }
}`;
  return {
    key: `${slot} ${out} ${cell?.cell?.word} ${tries} ${mute}`,
    run,
    declarations: (shader, extent) => `${emitMonoid(SUM, shader)}
${out === undefined ? '' : emitStateStore('write_total', out, parameter(cell!.strideWord), types)}
${emitLaneFunctions(types, widthOf(subgroups!))}
${lookBackDeclarations}
var<workgroup> place_of_tile: u32;
${laneSets(max).functions}
${emitSpine(lookBack)}
${emitGapCount(tile, extent)}`,
    main: (n) => `${emitCount(tile)}
let n = ${n};
let own = S(all);
if (u == 0u${speaks}) { publish(tile, select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u), own); }
${emitCollect(tile)}
${emitLookBack(lookBack, found)}
let base = place_of_tile;`,
  };
}
