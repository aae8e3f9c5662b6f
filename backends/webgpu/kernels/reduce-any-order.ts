import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../primitives/backend.ts';
import { entryOf, type Operand, type OperationName } from '../../../primitives/functors/ir.ts';
import { type Bindings, createBindings } from '../bindings.ts';
import { widthOf } from '../device.ts';
import { type Engine, type KernelText, launch, placeParameters } from '../engine.ts';
import { emitProgram, programKey } from '../link.ts';
import { isLight } from '../module-size.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression, parameter } from '../parameters.ts';
import type { ParameterSlot } from '../recorder.ts';
import type { Helper } from '../wgsl-helpers.ts';
import { emitEvaluation, emitMonoid, emitSharedStates, emitStateLoad, emitStateStore, monoidKey } from './record.ts';
import { type Destination, linkCell, type States } from './reduce.ts';
import type { Source } from './source.ts';
import { emitLaneFunctions } from './subgroups.ts';
import { bindPlacements, placeArrays } from './windows.ts';

const commutative: ReadonlySet<OperationName> = new Set(['add', 'mul', 'min', 'max', 'and', 'or', 'xor']);

/** Whether a monoid combines each leaf with its like by one operation that may be done in any order. */
export function combinesInAnyOrder({ module, types, exact }: MonoidProgram): boolean {
  const { parameters, body } = entryOf(module);
  const last = body.at(-1);
  if (!exact || last?.kind !== 'return' || body.length !== types.length + 1) return false;
  return last.values.every((value, leaf) => {
    const made = body.find((statement) => statement.kind === 'let' && isLocal(value, statement.local.id));
    if (made?.kind !== 'let' || !commutative.has(made.operation.name)) return false;
    const [a, b] = made.operation.operands;
    const [left, right] = [parameters[leaf]!.id, parameters[leaf + types.length]!.id];
    return (isLocal(a, left) && isLocal(b, right)) || (isLocal(a, right) && isLocal(b, left));
  });
}

function isLocal(operand: Operand | undefined, id: number): boolean {
  return operand?.kind === 'local' && operand.id === id;
}

/** Accumulators of a thread: as many elements are on their way at a time, if their evaluation is light. */
const ACCUMULATORS = 4;

/** Folds in any order: every thread its share of a chunk, then the workgroup, then one workgroup the rest. */
export function reduceInAnyOrder(
  engine: Engine,
  extent: Extent,
  monoid: MonoidProgram,
  source: Source,
  into: Cell,
): void {
  const { pool, tuning } = engine;
  const { threads, tile, groups: most } = tuning.reduce;
  const { types } = monoid;
  const { parameters, program, windows, length } = source;
  const capacity = Math.max(1, capacityOf(extent));
  const chunk = Math.max(tile, Math.ceil(capacity / most / threads) * threads);
  const groups = Math.ceil(capacity / chunk);
  const cell = linkCell(parameters, pool.resolve(into.buffer), into.word, types.length);
  const partials: States = { memory: pool.allocate(groups * types.length), strideWord: parameters.word(groups) };
  const bindings = createBindings();
  const slots = bindPlacements(program, placeArrays(program, windows[0]!), bindings, parameters);
  const slot = placeParameters(engine, parameters);
  foldChunks(engine, monoid, source, {
    key: programKey(program, slots),
    bindings,
    slot,
    into: groups === 1 ? cell : partials,
    groups,
    chunk,
    count: lengthExpression(length),
    light: isLight(program.module),
    evaluation: (helpers) => `${emitProgram(program, slots, engine.arithmetic, helpers)}\n${emitEvaluation(program)}`,
  });
  if (groups > 1) {
    const rest = createBindings();
    const from = rest.bind(partials.memory, 'read');
    foldChunks(engine, monoid, source, {
      key: `partials ${from}.${partials.strideWord}`,
      bindings: rest,
      slot,
      into: cell,
      groups: 1,
      chunk: groups,
      count: parameter(partials.strideWord),
      light: true,
      evaluation: () => emitStateLoad('evaluate', from, parameter(partials.strideWord), types),
    });
  }
  pool.release(partials.memory);
}

interface Fold {
  readonly key: string;
  readonly bindings: Bindings;
  readonly slot: ParameterSlot;
  readonly into: Destination;
  readonly groups: number;
  readonly chunk: number;
  /** How many elements there are, in WGSL. */
  readonly count: string;
  /** Whether the evaluation may be written out several times. */
  readonly light: boolean;
  readonly evaluation: (helpers: Set<Helper>) => string;
}

/** Writes the fold of every chunk, the identity where it is empty. */
function foldChunks(engine: Engine, monoid: MonoidProgram, { parameters, length }: Source, fold: Fold): void {
  const { subgroups } = engine;
  const { threads } = engine.tuning.reduce;
  const { bindings, into, groups, chunk, slot } = fold;
  const { types } = monoid;
  const out = bindings.bind(into.memory, 'write', into.cell?.first, into.cell?.count);
  const accumulators = fold.light ? ACCUMULATORS : 1;
  const steps = Array.from({ length: accumulators }, (_, k) => k);
  const code = (): KernelText => {
    const helpers = new Set<Helper>();
    const evaluation = fold.evaluation(helpers);
    return {
      threads,
      subgroups: subgroups !== undefined,
      helpers,
      declarations: `${emitMonoid(monoid, engine.arithmetic, helpers)}
${evaluation}
${emitStateStore('write_total', out, parameter(into.strideWord), types)}
${emitSharedStates(types, threads)}
${subgroups === undefined ? '' : emitLaneFunctions(types, widthOf(subgroups))}`,
      main: `let n = ${fold.count};
let chunk = ${GROUP_NUMBER};
if (chunk >= ${dispatchWord(1)}) { return; }
let low = min(n, chunk * ${dispatchWord(0)});
let high = low + min(n - low, ${dispatchWord(0)});
${steps.map((k) => `var s${k} = identity();`).join(' ')}
for (var i = low + t; i < high; i += ${accumulators * threads}u) {
  ${steps.map((k) => `let e${k} = evaluate(min(i + ${k * threads}u, high - 1u));`).join(' ')}
  ${steps.map((k) => `if (i + ${k * threads}u < high) { s${k} = combine(s${k}, e${k}); }`).join(' ')}
}
var s = s0;
${steps
  .slice(1)
  .map((k) => `s = combine(s, s${k});`)
  .join(' ')}
${subgroups === undefined ? foldByTree(threads) : foldBySubgroups(threads)}
if (t == 0u) { write_total(${into.cell === undefined ? 'chunk' : parameter(into.cell.word)}, s); }`,
    };
  };
  const place = [out, into.cell?.word, into.strideWord, length.raw].join('.');
  const key = `fold ${monoidKey(monoid)} ${fold.key} ${threads} ${place}`;
  launch(engine, { key, parameters, slot, bindings, code, groups, words: [chunk, groups] });
}

/** Statements after which thread 0 has the fold of all threads' `s`: half of them take over from the other half, and so on. */
function foldByTree(threads: number): string {
  return `put(t, s);
for (var d = ${threads / 2}u; d > 0u; d = d >> 1u) {
  workgroupBarrier();
  if (t < d) { s = combine(s, take(t + d)); put(t, s); }
}`;
}

/** The same by subgroups: lanes fold without waiting, and thread 0 folds what the subgroups have. */
function foldBySubgroups(threads: number): string {
  return `s = lanes_backwards(s, lane, sg);
if (lane == 0u) { put(sid, s); }
workgroupBarrier();
if (t == 0u) {
  s = take(0u);
  for (var k = 1u; k < ${threads}u / sg; k++) { s = combine(s, take(k)); }
}`;
}
