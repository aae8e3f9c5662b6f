import fc from 'fast-check';
import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFunction, anArrayOf, anInstance, aText } from '../../primitives/checks/kinds.ts';
import type { HostTableOf, Table } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import { assertSameBytes, type HostTable } from './compare.ts';

/**
 * Runs a pipeline on the backend under test and on the reference, compares the results byte for byte, and checks that
 * no memory leaked. Resolves to the result of the backend under test.
 */
export type LawRun = <C extends Table>(pipeline: (context: Context) => C) => Promise<HostTableOf<C>>;

/**
 * A property that must hold for all generated values. A law depends on no test framework: it throws if it is broken.
 */
export interface Law {
  /** The law as a sentence. */
  readonly name: string;
  readonly property: (run: LawRun) => fc.IAsyncPropertyWithHooks<unknown[]>;
}

/**
 * Defines a law. `check` throws or rejects for values that break it.
 *
 * @example
 * const involution = law('reversing twice changes nothing', [fc.uint32Array()], async (run, values) => {
 *   assertSame(await run((context) => reverse(reverse(context.column(values)))), values);
 * });
 * await fc.assert(involution.property(createRun(ctx, ctx))); // undefined
 */
export function law<Ts extends [unknown, ...unknown[]]>(
  name: string,
  arbitraries: { [K in keyof Ts]: fc.Arbitrary<Ts[K]> },
  check: (run: LawRun, ...values: Ts) => Promise<void>,
): Law {
  const kinds = { name: aText, arbitraries: anArrayOf(anInstance(fc.Arbitrary)), check: aFunction };
  requireArguments('law', { name, arbitraries, check }, kinds as never);
  return {
    name,
    property: (run) =>
      fc.asyncProperty(...arbitraries, (...values: Ts) => check(run, ...values)) as fc.IAsyncPropertyWithHooks<never>,
  };
}

/**
 * Creates a {@link LawRun} on the context under test. If `reference` is another context, the run also compares each
 * result with the result on `reference`.
 *
 * @example
 * const run = createRun(ctx, ctx);
 * await run((context) => sort(context.column(Uint32Array.of(2, 1)))); // Uint32Array [1, 2]
 */
export function createRun(context: Context, reference: Context): LawRun {
  for (const [name, each] of Object.entries({ context, reference }))
    requireArguments('createRun', { [name]: each }, { [name]: aContext });
  return async (pipeline) => {
    const result = await runOnce(context, pipeline, 'The backend under test');
    if (context !== reference) {
      const expected = await runOnce(reference, pipeline, 'The reference backend');
      assertSameBytes(result as HostTable, expected as HostTable, 'the backend under test');
    }
    return result;
  };
}

async function runOnce<C extends Table>(
  context: Context,
  pipeline: (context: Context) => C,
  what: string,
): Promise<HostTableOf<C>> {
  const before = heldBy(context);
  const host = await readOnce(context, pipeline);
  const after = heldBy(context);
  if (after !== before) throw new Error(`${what} held ${before} before and holds ${after} now`);
  return host;
}

async function readOnce<C extends Table>(context: Context, pipeline: (context: Context) => C): Promise<HostTableOf<C>> {
  const result = context.scope(() => context.materialize(pipeline(context)));
  try {
    return await context.read(result);
  } finally {
    context.dispose(result);
  }
}

function heldBy({ backend: { counters } }: Context): string {
  return `${counters.liveBuffers} buffers of ${counters.liveBytes} bytes`;
}
