import { capacityOf, type UniteCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import {
  createParameters,
  dispatchWord,
  GROUP_NUMBER,
  lengthExpression,
  parameter,
} from '../../launches/parameters.ts';
import { separate } from '../../memory/snapshot.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { bindProgram } from '../shared/windows.ts';

const THREADS = 256;

/** Whether all links are in one binding, as {@link unite} requires. */
export function bindsLinks({ pool }: Engine, { links }: UniteCommand): boolean {
  return pool.resolve(links.buffer).parts.length === 1;
}

/**
 * Joins sets; see `UniteCommand`. One launch joins the ends of every edge, all at the same time: a thread links the
 * greater of two roots to the lesser by an atomic minimum. If the greater is no root any more by then, the thread goes
 * on with the node that it was linked to. Links only become less, so every thread ends, and no thread waits for
 * another. A second launch links every node to its root.
 *
 * Source: Jaiganesh and Burtscher, A High-Performance Connected Components Implementation for GPUs, 2018, whose links
 * also lead to lesser nodes; Komura, GPU-based cluster-labeling algorithm without the use of conventional iteration,
 * 2015, for the atomic minimum.
 */
export function unite(engine: Engine, command: UniteCommand): void {
  const { links, nodes } = command;
  const target = engine.pool.resolve(links.buffer);
  if (capacityOf(nodes) === 0) return;
  if (capacityOf(command.extent) > 0) {
    const inputs = separate(engine, command.extent, [command.program] as const, [links.buffer]);
    const source = prepareSource(engine, inputs.extent, inputs.programs[0], 1, 1);
    const { parameters, length } = source;
    const first = parameters.word(links.word);
    const count = parameters.length(nodes);
    for (const window of source.windows) {
      const bindings = createBindings(parameters);
      const edges = bindProgram(source.program, window, bindings);
      const out = bindings.bind(target, 'links');
      launch(engine, {
        key: `unite ${programKey(edges)} ${out} ${first} ${length.raw} ${count.raw}`,
        bindings,
        groups: Math.ceil((window.to - window.from) / THREADS),
        words: [window.from, window.to],
        code: (shader) => ({
          threads: THREADS,
          declarations: `${emitProgram(edges, shader)}\n${emitRoot(out, parameter(first))}`,
          main: `let i = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${THREADS}u + t;
if (i >= min(${lengthExpression(length)}, ${dispatchWord(1)})) { return; }
let edge = p_entry(i);
if (max(edge.r0, edge.r1) >= ${lengthExpression(count)}) { return; }
var a = edge.r0;
var b = edge.r1;
while (a != b) {
  a = root_of(a);
  b = root_of(b);
  if (a == b) { break; }
  let high = max(a, b);
  b = min(a, b);
  a = lower_${out}(${parameter(first)} + high, b);
  if (a == high) { break; }
}`,
        }),
      });
    }
    source.release();
    inputs.release();
  }
  const parameters = createParameters(engine.pool);
  const [first, count] = [parameters.word(links.word), parameters.length(nodes)];
  const bindings = createBindings(parameters);
  const out = bindings.bind(target, 'links');
  launch(engine, {
    key: `unite roots ${out} ${first} ${count.raw}`,
    bindings,
    groups: Math.ceil(capacityOf(nodes) / THREADS),
    code: () => ({
      threads: THREADS,
      declarations: emitRoot(out, parameter(first)),
      main: `let i = ${GROUP_NUMBER} * ${THREADS}u + t;
if (i >= ${lengthExpression(count)}) { return; }
let root = root_of(i);
if (root != i) { lower_${out}(${parameter(first)} + i, root); }`,
    }),
  });
}

/** WGSL of a function that follows links to the root of a tree, and halves the path on its way. */
function emitRoot(out: number, first: string): string {
  return `fn root_of(node: u32) -> u32 {
  var at = node;
  var next = peek_${out}(${first} + at);
  while (next != at) {
    let after = peek_${out}(${first} + next);
    if (after != next) { lower_${out}(${first} + at, after); }
    at = next;
    next = after;
  }
  return at;
}`;
}
