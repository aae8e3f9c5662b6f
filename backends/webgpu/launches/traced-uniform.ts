import type { ScalarType } from '../../../primitives/ir/ir.ts';

/** A parameter that is the value of a uniform. */
export interface UniformWord {
  readonly at: number;
  /** The number of the uniform among those of the command. */
  readonly uniform: number;
  readonly type: ScalarType;
}

/** What has to be so that the steps are right: on which side of a bound a uniform is. */
export interface Guard {
  readonly uniform: number;
  readonly bound: number;
  readonly reaches: boolean;
}

/** The value of a uniform in a command that is traced; it counts as the number that it is. */
export class TracedUniform {
  readonly value: number | boolean;
  readonly uniform: number;
  readonly #guards: Guard[];

  constructor(guards: Guard[], value: number | boolean, uniform: number) {
    this.#guards = guards;
    this.value = value;
    this.uniform = uniform;
  }

  /** Whether it is as large as a bound, on which the code may depend. */
  reaches(bound: number): boolean {
    const reaches = (this.value as number) >= bound;
    this.#guards.push({ uniform: this.uniform, bound, reaches });
    return reaches;
  }
}
