// Runs property tests on a backend of your own, and prints the laws that it breaks. The backend in this example has a
// fault: its `sort` should compare only the key bits below `endBit`, but ignores `endBit`. The full error messages also
// contain the smallest failing input and the seed.
//
//     node --import tsx examples/check-a-backend.ts
//
// The laws work with any test framework: in vitest or node:test, await `checkBackend` in a test.

import type { Backend, KernelCommand } from 'quadrille';
import { createReferenceBackend } from 'quadrille/backends/reference';
import { checkBackend, primitiveLaws } from 'quadrille/property-tests';

function createForgetfulBackend(): Backend {
  const backend = createReferenceBackend();
  const { run } = backend;
  return Object.assign(backend, {
    run: (command: KernelCommand) => run(command.kind === 'sort' ? { ...command, endBit: 32 } : command),
  });
}

const laws = primitiveLaws.filter(({ name }) => name.startsWith('sort'));
await checkBackend(createReferenceBackend, { laws, numRuns: 20 });
console.log(`The reference backend keeps all ${laws.length} laws of sorting.`);

const fault = await checkBackend(createForgetfulBackend, { laws, numRuns: 20, seed: 1 }).catch(
  (error: AggregateError) => error,
);
for (const { message } of (fault as AggregateError).errors) console.log(`Broken: ${message.split(':')[0]}.`);

// The reference backend keeps all 2 laws of sorting.
// Broken: sortByKey is a stable permutation in the order of the keys.
// Broken: sort returns the keys of sortByKey, and sortPermutation the rows that they come from.
