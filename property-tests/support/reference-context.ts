import { expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context.ts';

/** A context for tests of what is refused before any backend is asked. */
export function openReference(): Context {
  return new Context(createReferenceBackend());
}

/** Throws unless the call throws an error of the given code, and leaves no memory behind. */
export function expectRefusal(context: Context, code: string, call: () => unknown): void {
  const { liveBuffers } = context.backend.counters;
  expect(call).toThrow(expect.objectContaining({ code }));
  expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
}
