import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Counters, Limits } from '../../../primitives/contract/backend.ts';
import type { Arithmetic } from '../device/arithmetic.ts';
import { type Subgroups, widthOf } from '../device/device.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { Spine, SpineRun } from '../memory/spine.ts';
import type { Tuning } from '../tuning/tuning.ts';
import type { Shader } from '../wgsl/emit-wgsl.ts';
import { type Helper, helperDeclarations } from '../wgsl/wgsl-helpers.ts';
import type { Bindings } from './bindings.ts';
import type { Compiler, Kernel } from './compile.ts';
import { type Parameters, parameterDeclarations } from './parameters.ts';
import type { DispatchRecorder, ParameterSlot } from './recorder.ts';
import type { UniformWord } from './traced-uniform.ts';

/** The services and limits that kernels use. */
export interface Engine {
  readonly limits: Limits;
  readonly pool: MemoryPool;
  readonly recorder: DispatchRecorder;
  readonly compiler: Compiler;
  readonly arithmetic: Arithmetic;
  readonly tuning: Tuning;
  readonly counters: Counters;
  readonly spine: Spine;
  /** The sizes of subgroups; undefined if kernels must not use subgroups. */
  readonly subgroups: Subgroups | undefined;
  /** Maximum bytes of workgroup memory (`shared`) and maximum threads per workgroup. */
  readonly shared: number;
  readonly threads: number;
  /**
   * Only on the tape (recorded launches) of a loop: memory whose first word disables all kernels while the word is not
   * 0.
   */
  readonly gate?: Memory | undefined;
  /**
   * Records the launches of the current command; undefined if no plan (list of steps to repeat) is made for the
   * command.
   */
  readonly trace?: LaunchTrace;
}

/** Receives the launches of a command. */
export interface LaunchTrace {
  /** Called when the parameters of a command were written to a slot (range of a parameter buffer). */
  placed(slot: ParameterSlot, uniforms: readonly UniformWord[]): void;
  /** Called when a kernel is dispatched. */
  dispatched(
    dispatch: TracedDispatch,
    parameters: ParameterSlot,
    words: Uint32Array,
    parts: readonly BufferPart[],
  ): void;
}

/** The data of a dispatch that stay the same when the dispatch is repeated. */
export interface TracedDispatch {
  readonly kernel: Kernel;
  readonly access: string;
  readonly groups: readonly [number, number, number];
  /**
   * Index of the spine's epoch (dispatch number) among the words of the dispatch. Undefined if the kernel has no spine
   * (memory in which workgroups communicate).
   */
  readonly epochAt: number | undefined;
}

/** The WGSL of a kernel, without the declarations of its parameters and bindings. */
export interface KernelText {
  readonly threads: number;
  /** WGSL of the functions and workgroup variables. */
  readonly declarations: string;
  /**
   * WGSL of the body of `main`. It can use `wg: vec3<u32>`, the id of the workgroup, and `t: u32`, the index of the
   * thread in the workgroup. With `subgroups` it can also use `sg` (lanes per subgroup), `sid` (index of the subgroup
   * in the workgroup) and `lane` (index of the thread in the subgroup).
   */
  readonly main: string;
  readonly subgroups?: boolean;
}

export interface Launch {
  /** The part of the cache key that identifies the kernel's WGSL; the key of the bindings is the other part. */
  readonly key: string;
  /** The slot (range of a parameter buffer) with the command's parameters, if several launches share the slot. */
  readonly slot?: ParameterSlot | undefined;
  readonly bindings: Bindings;
  readonly code: (shader: Shader) => KernelText;
  /** Number of workgroups, at most 2³² − 1. If the largest grid has fewer workgroups, there are several dispatches. */
  readonly groups: number;
  /**
   * Words that only this launch passes to the kernel, besides the command's parameters. If the kernel has a spine
   * (memory in which workgroups communicate), the spine's epoch (dispatch number) precedes these words. There are at
   * most four words, including the epoch.
   */
  readonly words?: readonly number[];
  readonly run?: SpineRun | undefined;
}

/**
 * Writes the parameters of a command to a slot (range of a parameter buffer) for the launches that follow. If a
 * parameter is a word of device memory, the device copies the word into the slot, unless the kernel reads the word from
 * a binding.
 */
export function placeParameters(
  { recorder, trace }: Engine,
  { words, deviceWords, uniforms, patches }: Parameters,
  bound: readonly (number | undefined)[] = [],
): ParameterSlot {
  const slot = recorder.slot(Math.max(4, words.length));
  slot.data.set(words);
  for (const { at, value } of patches) slot.patch?.(at, value);
  for (const [k, { memory, word, to }] of deviceWords.entries()) {
    if (bound[k] !== undefined) slot.data[to] = partOf(memory, word).inPart;
  }
  trace?.placed(slot, uniforms);
  for (const [k, { memory, word, to }] of deviceWords.entries()) {
    if (bound[k] !== undefined) continue;
    const { part, inPart } = partOf(memory, word);
    recorder.copy(memory.parts[part]!, inPart * 4, slot.chunk, slot.byteOffset + to * 4, 4);
  }
  return slot;
}

/** The number of the part (GPU buffer) that contains a word of a memory, and the word's index in this part. */
function partOf({ parts, shift }: Memory, word: number): { readonly part: number; readonly inPart: number } {
  return parts.length === 1 ? { part: 0, inPart: word } : { part: word >>> shift, inPart: word & (2 ** shift - 1) };
}

/**
 * Binds the buffers of those parameters that are words of device memory, so that the kernel reads the words itself. A
 * buffer is not bound if no binding is free or if the kernel writes the buffer. Its word must then be copied into the
 * parameters. Before the copy, the device must finish its work, and this wait is often longer than a launch.
 */
function bindDeviceWords({ limits }: Engine, bindings: Bindings): (number | undefined)[] {
  const { deviceWords } = bindings.parameters;
  if (deviceWords.length === 0) return [];
  const access = bindings.access();
  const written = bindings.parts.filter((_, i) => access[i] === 'w');
  return deviceWords.map(({ memory, word }) => {
    const { part } = partOf(memory, word);
    if (written.includes(memory.parts[part]!) || bindings.size >= limits.storageBuffers) return undefined;
    return bindings.bind(memory, 'read', part, 1);
  });
}

/**
 * Records a launch. If the workgroups do not fit into one grid, records several dispatches. The grid of the last
 * dispatch may have a few more workgroups than needed.
 */
export function launch(engine: Engine, { key, bindings, code, groups, words, ...given }: Launch): void {
  const { compiler, recorder, limits, trace } = engine;
  const { parameters } = bindings;
  const epoch = given.run?.epoch;
  const gate = engine.gate && bindings.bind(engine.gate, 'read');
  if (gate !== undefined && bindings.size > limits.storageBuffers) {
    throw tooManyBindings(bindings.size, limits.storageBuffers);
  }
  const bound = given.slot === undefined ? bindDeviceWords(engine, bindings) : [];
  const slot = given.slot ?? placeParameters(engine, parameters, bound);
  const access = bindings.access();
  const choices = Object.values(engine.arithmetic).join();
  const kernel = compiler.kernel(
    `${key} ${bindings.key()} ${parameters.words.length} ${bound} ${choices} ${gate ?? ''}`,
    access,
    () => emitShader(engine, code, bound, bindings, gate),
  );
  const { parts } = bindings;
  const storage = compiler.storageGroup(kernel, parts);
  for (let first = 0; first < groups; ) {
    const { grid, count } = gridOf(groups - first, limits.workgroups);
    const dispatch = recorder.slot(8);
    dispatch.data.set([first, grid[0], grid[1], 0, ...(epoch === undefined ? [] : [epoch]), ...(words ?? [])]);
    if (given.run?.epochValue !== undefined) dispatch.patch?.(OWN_WORDS, given.run.epochValue);
    const epochAt = epoch === undefined ? undefined : OWN_WORDS;
    trace?.dispatched({ kernel, access, groups: grid, epochAt }, slot, dispatch.data, parts);
    recorder.dispatch({
      pipeline: kernel.pipeline,
      groups: grid,
      parameters: compiler.parameterGroup(slot, dispatch),
      offsets: [slot.byteOffset, dispatch.byteOffset],
      storage,
      parts,
      access,
    });
    first += count;
  }
}

/** Index of the first of the kernel's own words among the words of a dispatch. */
const OWN_WORDS = 4;

/**
 * Returns a grid with `groups` workgroups or slightly more, and at most `max` along each axis. If `groups` workgroups
 * do not fit, returns the largest grid. `count` is the number of workgroups in the grid that are needed.
 */
function gridOf(groups: number, max: number): { grid: [number, number, number]; count: number } {
  const count = Math.min(groups, max ** 3);
  const z = Math.ceil(count / max ** 2);
  const y = Math.ceil(count / z / max);
  const x = Math.ceil(count / z / y);
  return { grid: [x, y, z], count };
}

function emitShader(
  { arithmetic, subgroups: of }: Engine,
  code: Launch['code'],
  bound: readonly (number | undefined)[],
  bindings: Bindings,
  gate: number | undefined,
): string {
  const helpers = new Set<Helper>();
  const { threads, declarations, main, subgroups } = code({ arithmetic, helpers });
  const width = of === undefined ? undefined : widthOf(of);
  const size = width === undefined ? '@builtin(subgroup_size) sg: u32, ' : '';
  const lanes = `, ${size}@builtin(subgroup_id) sid: u32, @builtin(subgroup_invocation_id) lane: u32`;
  return `${subgroups ? 'enable subgroups;\nrequires subgroup_id;\ndiagnostic(off, subgroup_uniformity);' : ''}
${parameterDeclarations(bindings.parameters, bound)}
${bindings.declarations()}
${helperDeclarations(helpers)}
${subgroups && width !== undefined ? `const sg = ${width}u;` : ''}
${declarations}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) t: u32${subgroups ? lanes : ''}) {
${gate === undefined ? '' : `if (load_${gate}(0u) != 0u) { return; }`}
${main}
}`;
}

/** The error for a kernel that needs more bindings than the device has. */
export function tooManyBindings(needed: number, max: number): ArgumentError {
  return new ArgumentError('device/bindings', 'A kernel reads more buffers than the device can bind.', {
    expected: `at most ${max} storage buffers`,
    got: `${needed}`,
    remedy: 'Materialize some of the columns that its functors read, or capture fewer.',
  });
}
