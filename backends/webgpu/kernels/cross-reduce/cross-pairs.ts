import type { ArrayBinding, CrossReduceCommand, Program } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import type { Bindings } from '../../launches/bindings.ts';
import type { Engine } from '../../launches/engine.ts';
import { type BoundProgram, bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { emitMonoid, monoidKey } from '../shared/record.ts';

/** Whether one kernel has enough bindings for all buffers that a command reads and writes. */
export function bindsPairs({ pool, limits }: Engine, command: CrossReduceCommand): boolean {
  const { left, right, results, step, leftOwn, rightOwn, value } = command;
  const arrays = [step, leftOwn, rightOwn, value].flatMap((program): ArrayBinding[] => [...program.arrays.values()]);
  const buffers = [...arrays, ...left.map(({ array }) => array), ...right.map(({ array }) => array), ...results];
  const memories = new Set(buffers.map(({ buffer }) => pool.resolve(buffer)));
  const bound = [...memories].reduce((sum, { parts }) => sum + parts.length, 0);
  return bound < limits.storageBuffers;
}

/**
 * The WGSL functions of a command: `s_entry` is the program `step`, `l_entry` is `leftOwn`, `r_entry` is `rightOwn` and
 * `v_entry` is `value`. The functions of the monoid are included too.
 */
export interface PairFunctors {
  readonly key: string;
  declarations(shader: Shader): string;
}

export function linkPairs(
  { extent, step, leftOwn, rightOwn, value, monoid }: CrossReduceCommand,
  bindings: Bindings,
): PairFunctors {
  const link = (prefix: string, program: Program): BoundProgram =>
    bindArrays(linkProgram(prefix, program, bindings.parameters, extent), bindings);
  const programs = [link('s_', step), link('l_', leftOwn), link('r_', rightOwn), link('v_', value)];
  return {
    key: `${monoidKey(monoid)} ${programs.map(programKey).join(' ')}`,
    declarations(shader) {
      const called = programs.filter(({ program }) => entryOf(program.module).results.length > 0);
      return [emitMonoid(monoid, shader), ...called.map((bound) => emitProgram(bound, shader))].join('\n');
    },
  };
}

export const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
