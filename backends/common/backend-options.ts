import type { Limits } from '../../primitives/contract/backend.ts';
import { ArgumentError } from '../../primitives/errors.ts';
import { describeGiven } from '../../primitives/given.ts';
import { anything, type FieldKinds } from '../../primitives/kinds.ts';
import { requireOptions } from '../../primitives/options.ts';

const LIMITS: FieldKinds<Limits> = {
  bindingBytes: anything,
  workgroups: anything,
  storageBuffers: anything,
  memoryBytes: anything,
};

/** Limits of a launch, each a number from 1. */
export function requireLimits(limits: Partial<Limits> = {}): void {
  requireOptions('limits', LIMITS, limits, 'open/option');
  for (const [name, limit] of Object.entries(limits)) {
    if (limit === undefined || (typeof limit === 'number' && limit >= 1)) continue;
    throw new ArgumentError('open/limits', `limits.${name} is no limit.`, {
      expected: 'a number from 1',
      got: describeGiven(limit),
    });
  }
}

/** A time after which a device is taken for lost, in milliseconds; also of backends that never wait. */
export function requireHangLimit(hangLimit: number | undefined): void {
  if (hangLimit === undefined || (typeof hangLimit === 'number' && hangLimit > 0 && hangLimit < 2 ** 31)) return;
  throw new ArgumentError('device/hang-limit', 'The hangLimit is no time to wait for a device.', {
    expected: 'milliseconds above 0 and below 2^31',
    got: typeof hangLimit === 'number' ? hangLimit : describeGiven(hangLimit),
    remedy: 'Leave it out to wait without end.',
  });
}
