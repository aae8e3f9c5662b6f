/**
 * A backend that survives the loss of another.
 *
 * @packageDocumentation
 */
export { createFailoverBackend, type Failover, type FailoverBackend, type FailoverOptions } from './backend.ts';
