import { type Cell, capacityOf, type Extent, type Program } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import type { SweepTuning } from '../../tuning/tuning.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { type KernelSource, linkSource } from '../shared/source.ts';
import { bindProgram } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';
import { emitSweep, type SweepText, sharedWords, TILE_WORDS } from './one-sweep-text.ts';
import { type Columns, DIGITS, type Digit, emitDigit, emitRows } from './radix-rows.ts';

/** A sort in progress, with the digit counts of all its passes. */
export interface Sweep {
  /** Sorts by the digit of one pass. Returns false if one launch cannot bind all buffers completely. */
  run(from: Program, into: Columns, pass: number): boolean;
  release(): void;
}

/**
 * Starts a OneSweep sort (Adinets & Merrill 2022). One launch counts the digits of all passes. Every pass then reads
 * and writes the keys once; its tiles find the places of their keys by look-back, as in a one-pass scan.
 *
 * @returns undefined if the device does not support the algorithm, or if the sort is too small to benefit.
 */
export function beginSweep(
  engine: Engine,
  extent: Extent,
  program: Program,
  digits: readonly Digit[],
): Sweep | undefined {
  const { pool, recorder, limits } = engine;
  const capacity = capacityOf(extent);
  const sweep = sweepFor(engine.tuning.sort.sweep, extent, entryOf(program.module).results.length > 1);
  const tiles = Math.ceil(capacity / tileOf(sweep));
  const spineBytes = tiles * TILE_WORDS * 4;
  if (!eligible(engine, sweep) || tiles < sweep.minTiles || spineBytes > limits.bindingBytes) return undefined;
  const source = linkSource(engine, extent, program);
  const counts = pool.allocate(DIGITS * digits.length);
  const bindings = createBindings(source.parameters);
  if (source.windows.length > 1 || !fits(engine, source, bindings, 1)) {
    pool.release(counts);
    return undefined;
  }
  recorder.clear(counts.parts[0]!, 0, counts.words * 4);
  countAllDigits(engine, sweep, source, bindings, digits, counts);
  return {
    run: (from, into, pass) =>
      runPass(engine, sweep, linkSource(engine, extent, from), into, digits[pass]!, pass, counts, tiles),
    release: () => pool.release(counts),
  };
}

/**
 * Returns the tuning, with the tile size adapted to the number of rows. If only the device knows the number of rows,
 * half of the maximum is assumed.
 */
function sweepFor(sweep: SweepTuning, extent: Extent, hasPayload: boolean): SweepTuning {
  const { few } = sweep;
  const rows = typeof extent === 'number' ? extent : capacityOf(extent) / 2;
  return rows <= few.rows * (hasPayload ? 8 : 1) ? { ...sweep, keys: few.keys, parts: few.parts } : sweep;
}

function tileOf({ threads, keys }: SweepTuning): number {
  return threads * keys;
}

/**
 * Whether the kernel is enabled in the tuning and the device can run it. Subgroups must be so large that the counts of
 * all subgroups fit in workgroup memory.
 */
function eligible({ subgroups, shared }: Engine, sweep: SweepTuning): boolean {
  return subgroups !== undefined && sweep.on && sharedWords(sweep, subgroups.min) * 4 <= shared;
}

function fits({ limits }: Engine, { program, windows }: KernelSource, bindings: Bindings, others: number): boolean {
  bindProgram(program, windows[0]!, bindings);
  return bindings.size + others <= limits.storageBuffers;
}

/** Launches the kernel that counts the digits of all passes. */
function countAllDigits(
  engine: Engine,
  sweep: SweepTuning,
  { program, windows, length }: KernelSource,
  bindings: Bindings,
  digits: readonly Digit[],
  counts: Memory,
): void {
  const { threads } = sweep;
  const [window] = windows;
  const rows = bindProgram(program, window!, bindings);
  const out = bindings.bind(counts, 'atomic');
  const chunk = Math.max(tileOf(sweep), Math.ceil(window!.to / sweep.groups / threads) * threads);
  const bins = DIGITS * digits.length;
  const bin = ({ shift, mask }: Digit, pass: number): string => `((key >> ${shift}u) & ${mask}u) + ${DIGITS * pass}u`;
  launch(engine, {
    key: `all digits ${programKey(rows)} ${digits.map(({ shift, mask }) => `${shift}.${mask}`).join()} ${threads} ${out} ${length.raw}`,
    bindings,
    groups: Math.ceil(window!.to / chunk),
    words: [chunk],
    code: (shader) => ({
      threads,
      declarations: `${emitProgram(rows, shader)}
${emitRows(program)}
var<workgroup> bins: array<atomic<u32>, ${bins}>;`,
      main: `let n = ${lengthExpression(length)};
${emitClear('bins', bins, threads)}
let low = min(n, ${GROUP_NUMBER} * ${dispatchWord(0)});
let high = low + min(n - low, ${dispatchWord(0)});
// Four keys at a time, so that their loads overlap.
for (var i = low + t; i < high; i += ${4 * threads}u) {
  ${[0, 1, 2, 3].map((k) => `let k${k} = row(min(i + ${k * threads}u, high - 1u)).r0;`).join(' ')}
  ${[0, 1, 2, 3].map((k) => `if (i + ${k * threads}u < high) { let key = k${k}; ${digits.map((digit, pass) => `atomicAdd(&bins[${bin(digit, pass)}], 1u);`).join(' ')} }`).join('\n  ')}
}
workgroupBarrier();
for (var b = t; b < ${bins}u; b += ${threads}u) {
  let counted = atomicLoad(&bins[b]);
  if (counted > 0u) { add_${out}(b, counted); }
}`,
    }),
  });
}

function runPass(
  engine: Engine,
  sweep: SweepTuning,
  source: KernelSource,
  { keys, payload }: Columns,
  { shift, mask }: Digit,
  pass: number,
  counts: Memory,
  tiles: number,
): boolean {
  const { pool, spine } = engine;
  const { program, parameters, length, windows } = source;
  const bindings = createBindings(parameters);
  const bind = (cell: Cell | undefined): SweepText['keys'] =>
    cell && { slot: bindings.bind(pool.resolve(cell.buffer), 'write'), offset: parameter(parameters.word(cell.word)) };
  const targets = { keys: bind(keys), payload: bind(payload) };
  if (windows.length > 1 || !fits(engine, source, bindings, 2)) return false;
  const rows = bindProgram(program, windows[0]!, bindings);
  const countsSlot = bindings.bind(counts, 'read');
  const firstCount = parameter(parameters.word(pass * DIGITS));
  const run = spine.begin(tiles * TILE_WORDS);
  const spineSlot = bindings.bind(run.memory, 'spine');
  const text = (shader: Shader): KernelText => {
    const { min, max } = engine.subgroups!;
    const parts = emitSweep({ ...targets, sweep, min, max, counts: countsSlot, firstCount, spine: spineSlot });
    return {
      threads: sweep.threads,
      subgroups: true,
      declarations: `${emitProgram(rows, shader)}
${emitRows(program)}
${emitDigit()}
fn count_of_rows() -> u32 { return ${lengthExpression(length)}; }
${parts.declarations}`,
      main: parts.main,
    };
  };
  const places = [targets.keys, targets.payload].map((target) => `${target?.slot}.${target?.offset}`).join();
  launch(engine, {
    key: `sweep ${programKey(rows)} ${JSON.stringify(sweep)} ${places} ${countsSlot} ${firstCount} ${spineSlot} ${length.raw}`,
    bindings,
    code: text,
    groups: tiles,
    run,
    words: [shift, mask],
  });
  return true;
}
