import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { isRecord } from '../../../primitives/checks/given.ts';
import type { Subgroups } from '../device/device.ts';
import type { Silence } from './silence.ts';
import {
  defaultTuning,
  type LookBackTuning,
  type ReduceTuning,
  type SetsTuning,
  type SweepTuning,
  type Tuning,
} from './tuning.ts';
import type { TuningChoice } from './tuning-choice.ts';

const REMEDY = 'Use the members that quadrille tune prints, each with a value of its kind.';

/** The allowed values of members that are strings. */
const WORDS: ReadonlySet<unknown> = new Set(['workgroup', 'thread']);

/** Numeric members that may be 0. All other numeric members must be at least 1. */
const FROM_ZERO: ReadonlySet<string> = new Set([
  'reduce.tries',
  'scan.tries',
  'sets.tries',
  'sort.sweep.tries',
  'sort.sweep.alone',
  'sort.sweep.few.rows',
  'histogram.ownBins',
]);

/** Numeric members that must be powers of two, each with its minimum. */
const POWERS: ReadonlyMap<string, number> = new Map([
  ['forEach.threads', 1],
  ['gather.threads', 1],
  ['reduce.threads', 1],
  ['scan.threads', 1],
  ['scan.heads.threads', 1],
  ['lines.threads', 1],
  ['merge.threads', 1],
  ['sets.threads', 1],
  ['sort.tile', 256],
  ['sort.sweep.threads', 1],
]);

/**
 * Checks unknown data, such as parsed JSON: all its members must be members of {@link Tuning}, of the right kind and in
 * range. Returns the same data, typed as a choice of tuning.
 *
 * @throws ArgumentError `tuning/member` with the first member that is unknown, of the wrong kind or out of range.
 * @example
 * requireTuning({ scan: { items: 16 } }); // { scan: { items: 16 } }
 */
export function requireTuning(data: unknown): TuningChoice {
  requireLike(data, defaultTuning, '');
  return data as TuningChoice;
}

function requireLike(data: unknown, model: unknown, path: string): void {
  if (isRecord(model)) {
    if (!isRecord(data)) throw wrongMember(path, 'an object', data);
    for (const [name, value] of Object.entries(data))
      requireLike(value, model[name], path === '' ? name : `${path}.${name}`);
  } else if (typeof model === 'number') {
    requireNumber(data, path);
  } else if (typeof model === 'boolean') {
    if (typeof data !== 'boolean') throw wrongMember(path, 'true or false', data);
  } else if (typeof model === 'string') {
    if (!WORDS.has(data)) throw wrongMember(path, [...WORDS].join(' or '), data);
  } else {
    throw noMember(path);
  }
}

function requireNumber(data: unknown, path: string): void {
  const power = POWERS.get(path);
  const min = power ?? (FROM_ZERO.has(path) ? 0 : 1);
  const number = data as number;
  const isOne = Number.isInteger(data) && number >= min && (power === undefined || Number.isInteger(Math.log2(number)));
  if (!isOne) throw wrongMember(path, `a ${power === undefined ? 'whole number' : 'power of two'} from ${min}`, data);
}

/**
 * Returns the tuning. Throws if kernels with this tuning would be incorrect on a device with the given subgroups.
 *
 * @throws ArgumentError `tuning/member` if {@link requireTuning} rejects the tuning, if members contradict each other,
 * or if a workgroup would have fewer threads than a subgroup.
 */
export function requireUsable(tuning: Tuning, subgroups: Subgroups | undefined): Tuning {
  const { reduce, scan, sets, sort, ...others } = tuning;
  const { mute: _reduce, ...reduceAlone }: ReduceTuning & Silence = reduce;
  const { mute: _scan, ...scanAlone }: LookBackTuning & Silence = scan;
  const { mute: _sets, ...setsAlone }: SetsTuning & Silence = sets;
  const { mute: _sweep, ...sweepAlone }: SweepTuning & Silence = sort.sweep;
  requireTuning({
    ...others,
    reduce: reduceAlone,
    scan: scanAlone,
    sets: setsAlone,
    sort: { ...sort, sweep: sweepAlone },
  });
  for (const [member, { keys, parts }] of [
    ['sort.sweep', sort.sweep],
    ['sort.sweep.few', sort.sweep.few],
  ] as const) {
    if (keys % parts !== 0) throw wrongMember(`${member}.parts`, `a divisor of ${member}.keys, ${keys}`, parts);
  }
  if (!tuning.subgroups || subgroups === undefined) return tuning;
  for (const [member, threads] of [
    ['reduce.threads', reduce.threads],
    ['scan.threads', scan.threads],
    ['scan.heads.threads', scan.heads.threads],
    ['merge.threads', tuning.merge.threads],
    ['sets.threads', sets.threads],
    ['sort.sweep.threads', sort.sweep.threads],
  ] as const) {
    const { max } = subgroups;
    if (threads < max) throw wrongMember(member, `at least the ${max} lanes of a subgroup of the device`, threads);
  }
  return tuning;
}

function noMember(path: string): ArgumentError {
  return new ArgumentError('tuning/member', `A tuning has no member '${path}'.`, {
    expected: `one of ${Object.keys(defaultTuning).join(', ')} and their members`,
    got: path,
    remedy: REMEDY,
  });
}

function wrongMember(path: string, expected: string, got: unknown): ArgumentError {
  const sentence = path === '' ? 'The data is not a tuning.' : `The member '${path}' of a tuning is invalid.`;
  return new ArgumentError('tuning/member', sentence, {
    expected,
    got: typeof got === 'object' ? JSON.stringify(got) : got,
    remedy: REMEDY,
  });
}
