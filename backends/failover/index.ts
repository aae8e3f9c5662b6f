/**
 * For programs that must outlive their GPU: a backend that survives the loss of the backend it wraps.
 *
 * @packageDocumentation
 */
export { createFailoverBackend, type Failover, type FailoverBackend, type FailoverOptions } from './backend.ts';
