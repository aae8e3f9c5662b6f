import type { ArrayBinding, CrossReduceCommand, Program } from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Bindings } from '../../launches/bindings.ts';
import type { Engine } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import type { Parameters } from '../../launches/parameters.ts';
import type { Helper } from '../../wgsl/wgsl-helpers.ts';
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
  declarations(helpers: Set<Helper>): string;
}

export function linkPairs(
  { pool, arithmetic }: Engine,
  { extent, step, leftOwn, rightOwn, value, monoid }: CrossReduceCommand,
  parameters: Parameters,
  bindings: Bindings,
): PairFunctors {
  const link = (prefix: string, program: Program) => linkProgram(prefix, program, parameters, pool, extent);
  const programs = [link('s_', step), link('l_', leftOwn), link('r_', rightOwn), link('v_', value)].map((program) => ({
    program,
    slots: bindArrays(program, bindings),
  }));
  return {
    key: `${monoidKey(monoid)} ${programs.map(({ program, slots }) => programKey(program, slots)).join(' ')}`,
    declarations(helpers) {
      const functions = programs
        .filter(({ program }) => entryOf(program.module).results.length > 0)
        .map(({ program, slots }) => emitProgram(program, slots, arithmetic, helpers));
      return [emitMonoid(monoid, arithmetic, helpers), ...functions].join('\n');
    },
  };
}

/** WGSL expression for result number `at` of a call. The WGSL variable `name` holds the call's return value. */
export function resultOf(name: string, types: readonly ScalarType[], at: number): string {
  return types.length === 1 ? name : `${name}.r${at}`;
}

export const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
