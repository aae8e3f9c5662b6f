/**
 * For tests and for other backends: the backend in plain JavaScript, which is the specification of all others.
 *
 * @packageDocumentation
 */

export { createReferenceBackend, type ReferenceOptions } from './backend.ts';
export { compileJavaScript } from './emit-javascript.ts';
