export { createReferenceBackend, type ReferenceOptions } from './backend.ts';
export { compileJavaScript, emitJavaScript } from './emit-javascript.ts';
