import { expect } from 'vitest';

type Elements = ArrayLike<unknown> & object;

/**
 * Whether two typed arrays of one type, or two arrays of numbers and the like, have the same elements. Without it, vitest
 * compares them as it does objects, by a list of all of their keys: for columns of a million rows that takes seconds.
 */
function sameElements(a: unknown, b: unknown): boolean | undefined {
  const isPlain = Array.isArray(a) && Array.isArray(b);
  if (!isPlain && !(isTyped(a) && isTyped(b) && a.constructor === b.constructor)) return undefined;
  if (a.length !== b.length) return false;
  // Objects may be equal without being the same, and the expected ones may be matchers.
  if (isPlain && (a.some(isObject) || b.some(isObject))) return undefined;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function isTyped(value: unknown): value is Elements {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

// Files that one process runs share what is registered.
const registered = Symbol.for('quadrille.sameElements');
const shared = globalThis as { [registered]?: boolean };
if (shared[registered] !== true) expect.addEqualityTesters([sameElements]);
shared[registered] = true;
