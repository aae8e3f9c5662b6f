import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { searchLaws } from '../laws/search.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(searchLaws);

test('refuses needles of another type than the keys', () => {
  const context = openReference();
  const [keys, needles] = [context.column(Uint32Array.of(1)), context.column(Int32Array.of(1))];
  expectRefusal(context, 'search/types', () => q.lowerBound(keys, needles as never));
  expectRefusal(context, 'search/types', () => q.upperBound({ lo: keys, hi: keys }, keys as never));
});
