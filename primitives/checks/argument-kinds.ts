import { Column } from '../columns/column.ts';
import { contextOf } from '../columns/current-context.ts';
import { Context } from '../context/context.ts';
import type { ScalarType } from '../ir/ir.ts';
import type { Kind } from './kinds.ts';

/** Accepts a column that has one of the given types and whose memory has not been freed. */
export function aColumn(...types: readonly ScalarType[]): Kind {
  const expected = `a column of ${types.join(' or ')}`;
  return (part, path, homes) => {
    if (!(part instanceof Column && types.includes(part.type))) return { path, part, expected, code: 'column/type' };
    if (part.source.kind === 'stored' && part.source.memory.released) {
      const sentence = (call: string): string => `${call} was given a column whose memory was freed as ${path}.`;
      return { path, part, ...RELEASED, sentence };
    }
    const home = contextOf([part], path);
    if (home !== undefined) homes.set(path, home);
    return undefined;
  };
}

const RELEASED = {
  code: 'column/released',
  expected: 'a column that is not disposed of',
  remedy: 'Dispose of it after its last use. If a scope freed it, return it from the scope.',
};

/**
 * Accepts a context, even a closed one: a later use of a closed context throws the more specific error
 * `device/closed`.
 */
export const aContext: Kind = (part, path, homes) => {
  if (!(part instanceof Context)) return { path, part, expected: 'a context, as open() returns it' };
  homes.set(path, part);
  return undefined;
};
