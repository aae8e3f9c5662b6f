import type { ScalarType } from '../../../primitives/ir/ir.ts';

/** A parameter that is the value of a uniform. */
export interface UniformWord {
  readonly at: number;
  /** Index of the uniform among those of the command. */
  readonly uniform: number;
  readonly type: ScalarType;
}

/** A condition under which recorded steps may be repeated: whether a uniform reaches a bound. */
export interface Guard {
  readonly uniform: number;
  readonly bound: number;
  readonly reaches: boolean;
}

/** The value of a uniform in a traced command; converts to its number. */
export class TracedUniform {
  readonly value: number | boolean;
  readonly uniform: number;
  readonly #guards: Guard[];

  constructor(guards: Guard[], value: number | boolean, uniform: number) {
    this.#guards = guards;
    this.value = value;
    this.uniform = uniform;
  }

  /** Whether the value is at least `bound`. Records a guard, because the code may depend on it. */
  reaches(bound: number): boolean {
    const reaches = (this.value as number) >= bound;
    this.#guards.push({ uniform: this.uniform, bound, reaches });
    return reaches;
  }
}
