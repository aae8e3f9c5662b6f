export { createSpillingBackend, type SpillingBackend, type SpillingOptions } from './backend.ts';
