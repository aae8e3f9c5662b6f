import { Column, contextOf } from './columns/column.ts';
import { Context } from './context.ts';
import type { ScalarType } from './functors/ir.ts';
import type { Kind } from './kinds.ts';

/** A column of one of several types, whose memory was not freed. */
export function aColumn(...types: readonly ScalarType[]): Kind {
  const expected = `a column of ${types.join(' or ')}`;
  return (part, path, homes) => {
    if (!(part instanceof Column && types.includes(part.type))) return { path, part, expected, code: 'column/type' };
    if (part.source.kind === 'stored' && part.source.memory.released) {
      const sentence = (call: string): string => `${call} was given a column as ${path} whose memory was freed.`;
      return { path, part, expected, code: 'column/released', sentence };
    }
    const home = contextOf([part], path);
    if (home !== undefined) homes.set(path, home);
    return undefined;
  };
}

/** A context that is not closed. */
export const aContext: Kind = (part, path, homes) => {
  const expected = 'a context, as open() returns it';
  if (!(part instanceof Context)) return { path, part, expected };
  if (part.isClosed) {
    const sentence = (call: string): string => `${call} was given a context as ${path} that is closed.`;
    return { path, part, expected, code: 'context/closed', sentence };
  }
  homes.set(path, part);
  return undefined;
};
