import { ArgumentError } from '../../primitives/errors.ts';
import { defaultTuning } from './tuning.ts';
import { isPart, type TuningChoice } from './tuning-choice.ts';

/** The words that members may be. */
const WORDS: ReadonlySet<unknown> = new Set(['workgroup', 'thread']);

/**
 * Data from outside as a choice of a tuning: every member is one of {@link Tuning}, and of its kind.
 *
 * @throws ArgumentError `tuning/member` with the member that is none, or none of its kind.
 * @example
 * requireTuning({ scan: { items: 16 } }); // { scan: { items: 16 } }
 */
export function requireTuning(data: unknown): TuningChoice {
  requireLike(data, defaultTuning, '');
  return data as TuningChoice;
}

function requireLike(data: unknown, model: unknown, path: string): void {
  if (isPart(model)) {
    if (!isPart(data)) throw wrongMember(path, 'an object', data);
    for (const [name, value] of Object.entries(data))
      requireLike(value, model[name], path === '' ? name : `${path}.${name}`);
  } else if (typeof model === 'number') {
    if (!Number.isInteger(data) || (data as number) < 0) throw wrongMember(path, 'a whole number from 0', data);
  } else if (typeof model === 'boolean') {
    if (typeof data !== 'boolean') throw wrongMember(path, 'true or false', data);
  } else if (typeof model === 'string') {
    if (!WORDS.has(data)) throw wrongMember(path, [...WORDS].join(' or '), data);
  } else {
    throw wrongMember(path, `one of ${Object.keys(defaultTuning).join(', ')} and their members`, path);
  }
}

function wrongMember(path: string, expected: string, got: unknown): ArgumentError {
  return new ArgumentError('tuning/member', `${path === '' ? 'This' : `'${path}'`} is no member of a tuning.`, {
    expected,
    got: typeof got === 'object' ? JSON.stringify(got) : got,
    remedy: 'Write the members that quadrille tune prints, each with a value of its kind.',
  });
}
