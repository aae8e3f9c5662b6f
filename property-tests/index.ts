/**
 * Property tests for backends: the laws of the kernels and of the primitives, in a form that the author of another backend
 * can run, with the arbitraries that they are tried on.
 *
 * A {@link Law} knows no test framework. {@link checkBackend} tries all of them on a backend; {@link createRun} is for a
 * test runner that wants each law as a test of its own.
 *
 * @packageDocumentation
 */

export * from './arbitraries/columns.ts';
export * from './arbitraries/integers.ts';
export * from './arbitraries/monoids.ts';
export * from './arbitraries/presentations.ts';
export { type CheckOptions, checkBackend } from './check-backend.ts';
export { allLaws, kernelLaws, primitiveLaws } from './laws/all.ts';
export { assertSame, assertSameBytes, type HostTable } from './laws/compare.ts';
export { createRun, type Law, type LawRun, law } from './laws/law.ts';
