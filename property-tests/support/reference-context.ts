import { expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';

/** A context on the reference backend, for calls that are refused before they reach a backend. */
export function openReference(): Context {
  return new Context(createReferenceBackend());
}

/** Expects that a call throws an error with this code and leaks no memory. */
export function expectRefusal(context: Context, code: string, call: () => unknown): void {
  const { liveBuffers } = context.backend.counters;
  expect(call).toThrow(expect.objectContaining({ code }));
  expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
}
