import { setFlagsFromString } from 'node:v8';
import { expect } from 'vitest';
import { collect, pinColumns } from './support/collecting.ts';

// Most code runs too briefly to repay V8's optimizing compiler, which took a sixth of the processor time of all tests.
// The command sets the same flag; see cli/quadrille.mjs for why only on Node 20.
if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=600000');

type Elements = ArrayLike<unknown> & object;

/**
 * Whether two typed arrays of one type, or two arrays of primitive values, have equal elements. Without this function,
 * Vitest compares arrays like objects, by a list of all keys, which takes seconds for a million rows.
 */
function sameElements(a: unknown, b: unknown): boolean | undefined {
  const isPlain = Array.isArray(a) && Array.isArray(b);
  if (!isPlain && !(isTyped(a) && isTyped(b) && a.constructor === b.constructor)) return undefined;
  if (a.length !== b.length) return false;
  // For arrays with objects, Vitest itself decides: distinct objects may be equal, and expected objects may be
  // matchers.
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

// All files of a process share Vitest's registered testers, so one registration per process is enough.
const registered = Symbol.for('quadrille.sameElements');
const shared = globalThis as { [registered]?: boolean };
if (shared[registered] !== true) expect.addEqualityTesters([sameElements]);
shared[registered] = true;

// Tests compare the memory in use before and after. A column that an earlier test forgot must not be given back between,
// so the columns of tests are not garbage-collected, except in the tests of that (`collecting`). With QUADRILLE_COLLECT,
// a number of milliseconds, they are, and garbage is collected so often that a column given back too early is found.
const interval = process.env.QUADRILLE_COLLECT;
if (interval === undefined) pinColumns();
else setInterval(collect, Number(interval)).unref();
