import type { ElementType } from '../harness/experiment.ts';

/** One tuning parameter with its possible values, and the experiments that depend on it. */
export interface TuningAxis {
  /** The parameter's path in a tuning, such as `scan.items`. */
  readonly member: string;
  readonly values: readonly (number | boolean | string)[];
  /** Names of built-in experiments, each with an element type. */
  readonly experiments: readonly (readonly [name: string, type: ElementType])[];
}

const MAPS = [
  ['map', 'u32'],
  ['gather', 'u32'],
  ['scatter', 'u32'],
] as const;
const GATHER = [['gather', 'u32']] as const;
const REDUCE = [['reduce', 'u32']] as const;
const SCANS = [
  ['scan', 'u32'],
  ['copyIf', 'u32'],
  ['reduceByKey', 'u32'],
] as const;
const TREES = [
  ['scan', 'f32'],
  ['reduce', 'f32'],
] as const;
const SORTS = [
  ['sort', 'u32'],
  ['sortByKey', 'u32'],
] as const;
const HISTOGRAM = [['histogram', 'u32']] as const;
const THREADS = [64, 128, 256, 512];

/** All parameters that `quadrille tune` can tune, in the order in which `searchTuning` tries them. */
export const tuningAxes: readonly TuningAxis[] = [
  { member: 'forEach.threads', values: THREADS, experiments: MAPS },
  { member: 'forEach.items', values: [1, 2, 4, 8], experiments: MAPS },
  { member: 'gather.threads', values: [256, 512, 1024], experiments: GATHER },
  { member: 'gather.items', values: [8, 12, 16], experiments: GATHER },
  { member: 'gather.windows', values: [4, 8, 12, 16], experiments: GATHER },
  { member: 'gather.min', values: [2 ** 20, 2 ** 22, 2 ** 24, 2 ** 32], experiments: GATHER },
  { member: 'scatter.min', values: [2 ** 20, 2 ** 22, 2 ** 24, 2 ** 32], experiments: [['scatter', 'u32']] },
  { member: 'walkRows', values: [2, 3, 4, 8, 16, 64], experiments: [['expand', 'u32']] },
  { member: 'merge.threads', values: THREADS, experiments: [['merge', 'u32']] },
  { member: 'merge.items', values: [5, 7, 9, 11, 15], experiments: [['merge', 'u32']] },
  { member: 'reduce.threads', values: THREADS, experiments: REDUCE },
  { member: 'reduce.tile', values: [2048, 4096, 8192, 16384], experiments: REDUCE },
  { member: 'reduce.groups', values: [512, 1024, 1056, 2048, 4096, 8192], experiments: REDUCE },
  { member: 'scan.lookBack', values: [true, false], experiments: SCANS },
  { member: 'scan.threads', values: THREADS, experiments: SCANS },
  { member: 'scan.items', values: [4, 8, 12, 16, 24], experiments: SCANS },
  { member: 'scan.flags', values: [12, 16, 24, 32], experiments: [['copyIf', 'u32']] },
  { member: 'scan.words', values: [16, 32, 48], experiments: SCANS },
  { member: 'scan.heads.threads', values: THREADS, experiments: [['reduceByKey', 'u32']] },
  { member: 'scan.heads.words', values: [8, 16, 24, 32], experiments: [['reduceByKey', 'u32']] },
  { member: 'scan.run', values: [2, 4, 8], experiments: [['reduceByKey', 'u32']] },
  { member: 'scan.tries', values: [4, 16, 64], experiments: SCANS },
  { member: 'blockBy', values: ['workgroup', 'thread'], experiments: TREES },
  { member: 'blockRows', values: [1, 2, 4, 8], experiments: TREES },
  { member: 'sort.sweep.on', values: [true, false], experiments: SORTS },
  { member: 'sort.sweep.threads', values: THREADS, experiments: SORTS },
  { member: 'sort.sweep.keys', values: [8, 12, 16, 20, 24, 28], experiments: SORTS },
  { member: 'sort.sweep.parts', values: [1, 2, 3, 4], experiments: SORTS },
  { member: 'sort.sweep.few.rows', values: [0, 2 ** 18, 2 ** 20, 2 ** 22], experiments: SORTS },
  { member: 'sort.sweep.few.keys', values: [8, 12, 16], experiments: SORTS },
  { member: 'sort.sweep.few.parts', values: [1, 2], experiments: SORTS },
  { member: 'sort.sweep.ahead', values: [1, 4, 8, 16], experiments: SORTS },
  { member: 'sort.sweep.groups', values: [256, 512, 1024, 2048], experiments: SORTS },
  { member: 'sort.sweep.tries', values: [16, 64, 256], experiments: SORTS },
  { member: 'sort.tileBy', values: ['workgroup', 'thread'], experiments: SORTS },
  { member: 'sort.tile', values: [1024, 2048, 4096, 8192], experiments: SORTS },
  { member: 'histogram.tile', values: [2048, 4096, 8192, 16384], experiments: HISTOGRAM },
  { member: 'histogram.groups', values: [512, 1024, 2048, 4096, 8192], experiments: HISTOGRAM },
  { member: 'histogram.ownBins', values: [0, 1024, 4096], experiments: HISTOGRAM },
];

/** The value at a path of a tuning, such as `scan.items`; undefined if the path does not exist. */
export function memberOf(tuning: object, member: string): unknown {
  return member
    .split('.')
    .reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], tuning);
}

/** A tuning choice that sets only the value at one path. */
export function choiceOf(member: string, value: unknown): object {
  return member.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}

/**
 * The parts of `tuning` that differ from at least one of the tunings in `others`. If these parts are applied to any
 * tuning in `others`, the result is `tuning`.
 */
export function differingMembers(tuning: object, ...others: readonly object[]): object {
  const parts = Object.entries(tuning).flatMap(([name, value]) => {
    const theirs = others.map((other) => (other as Readonly<Record<string, unknown>>)[name]);
    if (typeof value !== 'object') return theirs.every((other) => other === value) ? [] : [[name, value]];
    const inner = differingMembers(value, ...theirs.map((other) => (other ?? {}) as object));
    return Object.keys(inner).length === 0 ? [] : [[name, inner]];
  });
  return Object.fromEntries(parts);
}
