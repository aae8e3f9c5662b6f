import type { ScalarType } from '../../../primitives/ir/ir.ts';

/** A kernel parameter that is the value of a uniform. */
export interface UniformWord {
  readonly at: number;
  /** Index of the uniform among all uniforms of the command. */
  readonly uniform: number;
  readonly type: ScalarType;
}

/**
 * A condition for repeating the steps of a plan: a uniform must compare with a bound in the same way as when the steps
 * were recorded.
 */
export interface Guard {
  readonly uniform: number;
  readonly bound: number;
  readonly reaches: boolean;
}

/** The value of a uniform while the steps of a command are recorded. */
export class TracedUniform {
  readonly value: number | boolean;
  readonly uniform: number;
  readonly #guards: Guard[];

  constructor(guards: Guard[], value: number | boolean, uniform: number) {
    this.#guards = guards;
    this.value = value;
    this.uniform = uniform;
  }

  /** Whether the value is at least `bound`. Records a guard, because the recorded steps may depend on the answer. */
  reaches(bound: number): boolean {
    const reaches = (this.value as number) >= bound;
    this.#guards.push({ uniform: this.uniform, bound, reaches });
    return reaches;
  }
}
