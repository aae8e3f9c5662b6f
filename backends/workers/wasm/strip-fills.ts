import type { Local, Operand, Statement } from '../../../primitives/ir/ir.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import type { Int32, Scalar } from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';
import { doWhile, lower, raise, store, when, whileTrue } from './wasm-statements.ts';

type Loop = Extract<Statement, { kind: 'loop' }>;

/** A loop that writes one value to rows `index … end − 1` of an owned array. The index is `end` after it, or more. */
interface StripFill {
  readonly array: string;
  readonly index: Local;
  readonly end: Operand;
  readonly value: Operand;
}

/** What a loop fills: the loop that `For(from, to, (i) => column.set(i, value))` records. Undefined of other loops. */
export function stripFillOf({ body, step }: Loop): StripFill | undefined {
  const [compare, test, write, ...others] = body;
  const [next, set, ...more] = step;
  if (others.length > 0 || more.length > 0) return undefined;
  if (compare?.kind !== 'let' || test?.kind !== 'if' || write?.kind !== 'writeOwned') return undefined;
  if (next?.kind !== 'let' || set?.kind !== 'set') return undefined;
  const { local: index } = set;
  const [counter, end] = compare.operation.operands;
  const [counted, by] = next.operation.operands;
  const { consequent, alternative } = test;
  const counts =
    index.type === 'u32' &&
    next.operation.name === 'add' &&
    isLocal(counted, index) &&
    by?.kind === 'literal' &&
    by.value === 1 &&
    isLocal(set.value, next.local);
  const ends =
    compare.operation.name === 'lt' &&
    isLocal(counter, index) &&
    isLocal(test.condition, compare.local) &&
    consequent.length === 0 &&
    alternative.length === 1 &&
    alternative[0]!.kind === 'break';
  const { array, value } = write;
  // The end and the value are the same in every round: no other local is set.
  const isFill =
    counts && ends && isLocal(write.index, index) && ![end, value].some((each) => isLocal(each, index, compare.local));
  return isFill ? { array, index, end: end!, value } : undefined;
}

function isLocal(operand: Operand | undefined, ...locals: readonly Local[]): boolean {
  return operand?.kind === 'local' && locals.some(({ id }) => id === operand.id);
}

/**
 * Writes a value to those rows from `index` to `end` that the strip owns, in vectors of four. The range is cut to the
 * strip, so rows need no test of their own: rows before the strip are skipped by raising the index, and rows after it by
 * lowering the end, which is at most the length of the array.
 */
export function emitStripFill(
  code: Code,
  address: Int32,
  strip: { readonly first: Int32Local; readonly rows: Int32Local },
  index: Int32Local,
  end: Int32,
  value: Scalar,
): void {
  const [stop, to, left] = [code.local(I32), code.local(I32), code.local(I32)];
  stop.set(end);
  lower(code, stop, strip.first.add(strip.rows));
  to.set(index);
  raise(code, to, strip.first);
  when(code, to.ltU(stop), () => {
    left.set(stop.sub(to));
    to.set(address.add(to.shl(2)));
    whileTrue(code, left.gtU(3), () => {
      store(code, to, value.splat());
      to.set(to.add(16));
      left.set(left.sub(4));
    });
    when(code, left, () =>
      doWhile(
        code,
        () => {
          store(code, to, value);
          to.set(to.add(4));
        },
        left.tee(left.sub(1)),
      ),
    );
  });
  raise(code, index, end);
  for (const local of [stop, to, left]) code.release(local);
}
