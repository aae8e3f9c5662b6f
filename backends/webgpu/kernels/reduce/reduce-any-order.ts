import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Silence } from '../../tuning/silence.ts';
import type { ReduceTuning } from '../../tuning/tuning.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { linkCell } from '../shared/destination.ts';
import { AGGREGATE, emitSpine, emitSpineWords, spineWords } from '../shared/look-back.ts';
import { emitEvaluation, emitMonoid, emitSharedStates, emitStateStore, monoidKey } from '../shared/record.ts';
import type { KernelSource } from '../shared/source.ts';
import { bindProgram } from '../shared/windows.ts';
import { emitFold, foldThreads } from './fold-threads.ts';

/**
 * Number of storage buffers that the kernel binds in addition to the program's storage buffers: one for the result and
 * one for the spine (memory in which workgroups publish their folds).
 */
export const ANY_ORDER_BINDINGS = 2;

/**
 * Number of accumulators per thread. If the evaluation is cheap, several accumulators let the loads of several elements
 * overlap. A state with several leaves (scalar components) takes more registers, so a thread gets fewer accumulators.
 */
function accumulatorsOf(types: readonly ScalarType[], light: boolean): number {
  if (!light) return 1;
  return types.length > 1 ? 3 : 4;
}

/**
 * Maximum number of workgroups. The count of arrived workgroups must fit into one word together with the epoch (number)
 * of the launch.
 */
const MAX_GROUPS = 2 ** 16;

/**
 * WGSL expressions of two words that are passed to each dispatch: the number of elements per workgroup (`CHUNK`) and
 * the number of workgroups (`GROUPS`). Word 0 is the epoch (dispatch number), which the spine (memory for communication
 * between workgroups) requires.
 */
const CHUNK = dispatchWord(1);
const GROUPS = dispatchWord(2);

/**
 * Folds in arbitrary order, in one launch. Every thread folds a share of a chunk, every workgroup folds the results of
 * its threads, and the last workgroup to finish folds the results of all workgroups. No workgroup waits without bound:
 * if the fold of a chunk is not visible after `tries` polls, the last workgroup computes that fold again.
 */
export function reduceInAnyOrder(
  engine: Engine,
  extent: Extent,
  monoid: MonoidProgram,
  source: KernelSource,
  into: Cell,
): void {
  const { spine, subgroups, tuning } = engine;
  const { threads, tile, groups: wanted } = tuning.reduce;
  const { types } = monoid;
  const { parameters, program, windows, length } = source;
  const capacity = Math.max(1, capacityOf(extent));
  const max = Math.min(wanted, MAX_GROUPS);
  const chunk = Math.max(tile, Math.ceil(capacity / max / threads) * threads);
  const groups = Math.ceil(capacity / chunk);
  const { memory, strideWord, cell } = linkCell(parameters, into, types.length);
  const { word, first, count } = cell!;
  const bindings = createBindings(parameters);
  const elements = bindProgram(program, windows[0]!, bindings);
  const out = bindings.bind(memory, 'write', first, count);
  const run = groups === 1 ? undefined : spine.begin(spineWords(groups, types) + 1);
  const slot = run && bindings.bind(run.memory, 'spine');
  const code = (shader: Shader): KernelText => {
    const functions = emitProgram(elements, shader);
    const write = `if (t == 0u) { write_total(${parameter(word)}, s); }`;
    return {
      threads,
      subgroups: subgroups !== undefined,
      declarations: `${emitMonoid(monoid, shader)}
${functions}
${emitEvaluation(program)}
${emitStateStore('write_total', out, parameter(strideWord), types)}
${emitSharedStates(types, threads)}
${emitShare(accumulatorsOf(types, isLight(program.module)))}
${emitFold(types, threads, subgroups)}
${slot === undefined ? '' : emitMeeting(tuning.reduce, types, slot)}`,
      main: `let n = ${lengthExpression(length)};
let chunk = ${GROUP_NUMBER};
if (chunk >= ${GROUPS}) { return; }
var s = share(chunk, n, t, ${threads}u);
${foldThreads(subgroups !== undefined)}
${slot === undefined ? '' : meet(threads, subgroups !== undefined)}
${write}`,
    };
  };
  launch(engine, {
    key: `fold ${monoidKey(monoid)} ${programKey(elements)} ${JSON.stringify(tuning.reduce)} ${[out, slot, word, strideWord, length.raw].join('.')}`,
    bindings,
    code,
    groups,
    run,
    words: [...(run === undefined ? [0] : []), chunk, groups],
  });
}

/**
 * WGSL of `share(chunk, n, first, step)`, which folds every `step`-th element of a chunk, starting at element `first`.
 */
function emitShare(accumulators: number): string {
  const steps = Array.from({ length: accumulators }, (_, k) => k);
  return `fn share(chunk: u32, n: u32, first: u32, step: u32) -> S {
  let low = min(n, chunk * ${CHUNK});
  // Relative to the chunk, so that no index overflows 32 bits.
  let end = min(n - low, ${CHUNK});
  ${steps.map((k) => `var s${k} = identity();`).join(' ')}
  for (var j = first; j < end; j += ${accumulators}u * step) {
    ${steps.map((k) => `let e${k} = evaluate(low + min(j + ${k}u * step, end - 1u));`).join(' ')}
    ${steps.map((k) => `if (j + ${k}u * step < end) { s${k} = combine(s${k}, e${k}); }`).join(' ')}
  }
  return ${steps.slice(1).reduce((sum, k) => `combine(${sum}, s${k})`, 's0')};
}`;
}

/**
 * WGSL of two functions: `arrive(chunk, s)` publishes a workgroup's fold and returns whether all other workgroups have
 * already arrived; `fold_of(chunk, n)` returns a chunk's fold. The counter of arrivals is the word after the folds in
 * the spine (memory for communication between workgroups). The upper bits of the counter are the epoch (number) of the
 * launch.
 */
function emitMeeting({ tries, mute }: ReduceTuning & Silence, types: readonly ScalarType[], slot: number): string {
  const publishing = `publish(chunk, ${AGGREGATE}u, s);`;
  return `${emitSpine({ types, slot })}
fn arrive(chunk: u32, s: S) -> bool {
  ${mute === undefined ? publishing : `if (chunk % ${mute}u != ${mute - 1}u) { ${publishing} }`}
  let none = ${dispatchWord(0)} << 18u;
  let arrivals = ${emitSpineWords(GROUPS, types)};
  raise_${slot}(arrivals, none);
  return count_${slot}(arrivals) - none == ${GROUPS} - 1u;
}
fn fold_of(chunk: u32, n: u32) -> S {
  for (var tried = 0u; tried < ${tries}u; tried++) {
    let seen = read_tile(chunk);
    if (seen.state != 0u) { return seen.s; }
  }
  return share(chunk, n, 0u, 1u);
}
var<workgroup> is_last: u32;`;
}

/**
 * WGSL that ends all workgroups except the last to arrive. In the last workgroup, the variable `s` of thread 0 is then
 * the fold of all elements.
 */
function meet(threads: number, bySubgroups: boolean): string {
  return `if (t == 0u) { is_last = select(0u, 1u, arrive(chunk, s)); }
if (workgroupUniformLoad(&is_last) == 0u) { return; }
s = identity();
for (var k = t; k < ${GROUPS}; k += ${threads}u) { s = combine(s, fold_of(k, n)); }
${foldThreads(bySubgroups)}`;
}
