import { expect } from 'vitest';

type Elements = ArrayLike<unknown> & object;

/**
 * Whether two arrays of one type have the same elements. Without it, vitest compares them as it does objects, by a list of
 * all of their keys: for columns of a million rows that takes seconds.
 */
function sameElements(a: unknown, b: unknown): boolean | undefined {
  if (!isTyped(a) || !isTyped(b) || a.constructor !== b.constructor) return undefined;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

function isTyped(value: unknown): value is Elements {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

// Files that one process runs share what is registered.
const registered = Symbol.for('quadrille.sameElements');
const shared = globalThis as { [registered]?: boolean };
if (shared[registered] !== true) expect.addEqualityTesters([sameElements]);
shared[registered] = true;
