import { expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context.ts';

/** A context for tests of calls that are refused before they reach a backend. */
export function openReference(): Context {
  return new Context(createReferenceBackend());
}

/** Expects a call to throw an error with the given code and to leak no memory. */
export function expectRefusal(context: Context, code: string, call: () => unknown): void {
  const { liveBuffers } = context.backend.counters;
  expect(call).toThrow(expect.objectContaining({ code }));
  expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
}
