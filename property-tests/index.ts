/**
 * For authors of backends: the laws of the kernels and primitives, as property tests that run on any backend. Also
 * exports the arbitraries that generate the inputs of the laws.
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
