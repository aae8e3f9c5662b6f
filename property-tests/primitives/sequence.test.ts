import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { sequenceLaws } from '../laws/sequence.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(sequenceLaws);

test('refuses fractional steps and starts', () => {
  const context = openReference();
  expectRefusal(context, 'sequence/number', () => q.sequence(3, 0.5));
  expectRefusal(context, 'sequence/number', () => q.sequence(3, 0, Number.NaN));
});

test('refuses values of another type or without a field', () => {
  const context = openReference();
  expectRefusal(context, 'sequence/value', () => q.constant(q.u32, 0.5, 3));
  expectRefusal(context, 'sequence/value', () => q.fill(context, q.u32, 2 ** 32, 3));
  expectRefusal(context, 'fill/field', () => q.fill(context, q.u64, { lo: 1 } as never, 3));
});
