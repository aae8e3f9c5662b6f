import type { DeviceLength } from '../columns/column.ts';
import type { DeviceBuffer } from '../contract/backend.ts';
import { rebound } from './command.ts';
import type { RecordingBackend } from './recording-backend.ts';

/** The inputs and capacity checks from which the contents of a buffer derive. */
export interface Derivation {
  /**
   * Indices of the inputs of the script. The index `inputs.length + word` stands for the length in that word of the
   * block (the buffer of all lengths and uniforms of a call).
   */
  readonly inputs: ReadonlySet<number>;
  /** Indices of the capacity checks on whose row counts the contents depend. */
  readonly checks: ReadonlySet<number>;
}

/**
 * Finds the inputs and capacity checks from which each buffer of a script derives. Follows the commands in order: what
 * a command writes derives from everything that the command reads.
 */
export function derivations(
  { steps, inputs, block }: RecordingBackend,
  expected: readonly { readonly length: DeviceLength; readonly step: number }[],
): ReadonlyMap<DeviceBuffer, Derivation> {
  const found = new Map<DeviceBuffer, { inputs: Set<number>; checks: Set<number> }>();
  const of = (buffer: DeviceBuffer) => {
    const known = found.get(buffer) ?? { inputs: new Set<number>(), checks: new Set<number>() };
    found.set(buffer, known);
    return known;
  };
  for (const input of inputs) of(input).inputs.add(input.at);
  for (let at = 0; at <= steps.length; at++) {
    for (const [check, { length, step }] of expected.entries()) {
      if (step === at) of(length.memory.buffer).checks.add(check);
    }
    const step = steps[at];
    if (step === undefined || step.kind === 'allocate' || step.kind === 'release' || step.kind === 'write') continue;
    const reads = new Set<DeviceBuffer>();
    const writes = new Set<DeviceBuffer>();
    const tables = new Set<number>();
    rebound(step, {
      reading: (buffer, word) => {
        if (buffer === block) tables.add(inputs.length + word);
        else reads.add(buffer);
        return buffer;
      },
      writing: (buffer) => {
        writes.add(buffer);
        return buffer;
      },
    });
    for (const target of writes) for (const table of tables) of(target).inputs.add(table);
    for (const source of reads) {
      const from = of(source);
      for (const target of writes) {
        const to = of(target);
        for (const input of from.inputs) to.inputs.add(input);
        for (const check of from.checks) to.checks.add(check);
      }
    }
  }
  return found;
}
