import { requireOptions } from '../../primitives/checks/arguments.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import { describeGiven } from '../../primitives/checks/given.ts';
import { anything, type FieldKinds } from '../../primitives/checks/kinds.ts';
import type { Limits } from '../../primitives/contract/backend.ts';

const LIMITS: FieldKinds<Limits> = {
  bindingBytes: anything,
  workgroups: anything,
  storageBuffers: anything,
  memoryBytes: anything,
};

/** Throws unless every given limit is a number of at least 1. */
export function requireLimits(limits: Partial<Limits> = {}): void {
  requireOptions('limits', LIMITS, limits, 'open/option');
  for (const [name, limit] of Object.entries(limits)) {
    if (limit === undefined || (typeof limit === 'number' && limit >= 1)) continue;
    throw new ArgumentError('open/limits', `limits.${name} must be at least 1.`, {
      expected: 'a number from 1',
      got: describeGiven(limit),
    });
  }
}

/**
 * Checks the option `hangLimit`: milliseconds after which a device counts as lost. Backends that never wait for a
 * device check the option too.
 */
export function requireHangLimit(hangLimit: number | undefined): void {
  if (hangLimit === undefined || (typeof hangLimit === 'number' && hangLimit > 0 && hangLimit < 2 ** 31)) return;
  throw new ArgumentError('device/hang-limit', 'The hangLimit must be a time in milliseconds.', {
    expected: 'milliseconds above 0 and below 2^31',
    got: typeof hangLimit === 'number' ? hangLimit : describeGiven(hangLimit),
    remedy: 'Omit it to wait without a limit.',
  });
}
