import { lengthOfCount } from '../columns/program.ts';
import { SymbolicUniform } from '../columns/symbolic.ts';
import type { Backend, CountRef, DeviceBuffer, Program } from '../contract/backend.ts';
import { issue } from '../derived/issue.ts';
import { array, fn, u32, uniform } from '../functors/functor.ts';
import { rebound } from './command.ts';
import type { Script, ScriptBuffer, ScriptCall, ScriptInput } from './script.ts';

/**
 * Runs the commands of a script. Uses the `play` method of the backend if the method exists and accepts the script;
 * otherwise issues the commands one by one.
 */
export function playScript(backend: Backend, script: Script, call: ScriptCall): void {
  if (!backend.play?.(script, call)) playCommands(backend, script, call);
}

/**
 * Issues the commands of a script one by one. Temporary buffers are allocated for this call and released at its end.
 */
export function playCommands(backend: Backend, script: Script, call: ScriptCall): void {
  const own = new Map<ScriptBuffer, DeviceBuffer>();
  const bufferOf = (buffer: DeviceBuffer): DeviceBuffer => {
    const { role, at } = buffer as ScriptBuffer;
    if (role === 'input') return call.inputs[at]!.buffer;
    if (role === 'result') return call.results[at]!;
    return own.get(buffer as ScriptBuffer)!;
  };
  const range = (buffer: DeviceBuffer): ScriptInput | undefined => {
    const { role, at } = buffer as ScriptBuffer;
    return role === 'input' ? call.inputs[at] : undefined;
  };
  const uniform = (value: unknown): number | boolean =>
    value instanceof SymbolicUniform ? value.valueIn(call.block) : (value as number | boolean);
  const release = (buffer: ScriptBuffer): void => {
    const taken = own.get(buffer);
    if (own.delete(buffer)) backend.release(taken!);
  };
  try {
    const block = backend.allocate(Math.max(1, script.block.words));
    own.set(script.block, block);
    fillBlock(backend, block, call);
    for (const step of script.steps) {
      if (step.kind === 'allocate') own.set(step.buffer, backend.allocate(step.buffer.words));
      else if (step.kind === 'release') release(step.buffer);
      else if (step.kind === 'write') backend.write(bufferOf(step.buffer), step.word, step.data);
      else issue(backend, rebound(step, { reading: bufferOf, writing: bufferOf, range, uniform }));
    }
  } finally {
    for (const buffer of [...own.keys()]) release(buffer);
  }
}

function fillBlock(backend: Backend, buffer: DeviceBuffer, { block, counts }: ScriptCall): void {
  if (block.length > 0) backend.write(buffer, 0, block);
  for (const { word, length } of counts) {
    backend.run({
      kind: 'forEach',
      extent: 1,
      program: countProgram(length),
      stores: [{ buffer, offset: word, capacity: 1, value: 0 }],
    });
  }
}

const lengthNow = fn(
  'lengthNow',
  { i: u32, count: array(u32), minus: uniform(u32), limit: uniform(u32) },
  u32,
  ({ count, minus, limit }) => lengthOfCount(count.at(0), minus, limit),
);

/** A program that computes a device length from the word that holds the count: `min(limit, max(0, count − minus))`. */
export function countProgram({ buffer, word, minus, limit }: CountRef): Program {
  return {
    module: lengthNow.module,
    arrays: new Map([['count', { buffer, storage: 'u32', offset: word, length: 1 }]]),
    uniforms: new Map([
      ['minus', minus],
      ['limit', limit],
    ]),
  };
}
