/**
 * For columns that exceed device memory: a backend that moves columns between another backend's device and the host.
 *
 * @packageDocumentation
 */

export { createSpillingBackend, type SpillingBackend, type SpillingOptions } from './backend.ts';
