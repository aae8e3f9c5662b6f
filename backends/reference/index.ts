/**
 * For tests and authors of backends: a backend in plain JavaScript, which specifies the results of all other backends.
 *
 * @packageDocumentation
 */

export { createReferenceBackend, type ReferenceOptions } from './backend.ts';
export { compileJavaScript } from './emit-javascript.ts';
