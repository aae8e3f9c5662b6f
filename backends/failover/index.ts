/**
 * For programs that must survive the loss of their GPU: a backend that replays lost work on a standby.
 *
 * @packageDocumentation
 */
export { createFailoverBackend, type Failover, type FailoverBackend, type FailoverOptions } from './backend.ts';
