/**
 * For columns beyond the memory of a device: a backend that moves columns of the backend it wraps to the host.
 *
 * @packageDocumentation
 */

export { createSpillingBackend, type SpillingBackend, type SpillingOptions } from './backend.ts';
