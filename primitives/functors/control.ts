import { describeGiven, isRecord } from '../checks/given.ts';
import type { Operand, ScalarType, Statement } from '../ir/ir.ts';
import { append, block, functorError, literal, operate, recorder, use, wrongInput } from './recorder.ts';
import {
  type Bool,
  type Input,
  isVariable,
  operandOf,
  requireCondition,
  requireOperand,
  type U32,
  Value,
} from './value.ts';
import { declare, type RecordOfValues, type VariableOf, variableOf } from './variables.ts';

/**
 * A copy of the current value of a {@link Variable}. The copy keeps this value when the variable is set again.
 *
 * @example
 * const swap = fn({ x: u32, y: u32 }, { x: u32, y: u32 }, ({ x, y }) => {
 *   const [a, b] = [Var(x), Var(y)];
 *   const before = Let(a);
 *   a.set(b);
 *   b.set(before);
 *   return { x: a, y: b };
 * });
 * const pair = { x: ctx.column(Uint32Array.of(1)), y: ctx.column(Uint32Array.of(2)) };
 * await ctx.read(map(swap, pair)); // { x: Uint32Array [2], y: Uint32Array [1] }
 */
export function Let<T extends ScalarType>(value: Value<T>): Value<T> {
  const operand = requireOperand('Let', 'value', value);
  return isVariable(value) ? new Value<T>(declare(operand)) : value;
}

/**
 * A variable with an initial value, or a record of variables. A field of a record is read and set like a variable.
 * `set` of the record sets all fields at once: its values are computed before the first field changes.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const sum = Var(u32(1));
 *   sum.set(sum.add(x));
 *   return sum;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(1, 2)) })); // Uint32Array [2, 3]
 *
 * const turned = fn({ x: i32, y: i32 }, { x: i32, y: i32 }, ({ x, y }) => {
 *   const p = Var({ x, y });
 *   p.set({ x: p.y.neg(), y: p.x });
 *   p.x.set(p.x.add(10));
 *   return p;
 * });
 * const points = { x: ctx.column(Int32Array.of(1)), y: ctx.column(Int32Array.of(2)) };
 * await ctx.read(map(turned, points)); // { x: Int32Array [8], y: Int32Array [1] }
 */
export function Var<V extends Value<ScalarType> | RecordOfValues>(value: V): VariableOf<V>;
export function Var(value: Value<ScalarType> | RecordOfValues): unknown {
  return variableOf(value, 'value');
}

/** The methods that add an `ElseIf` or `Else` branch to an {@link If}. */
export interface Otherwise {
  Else(body: () => void): void;
  ElseIf(condition: () => Bool, body: () => void): Otherwise;
}

/**
 * Runs the body if the condition holds. Calls of `ElseIf` and `Else` must follow immediately.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const step = Var(x.mul(3).add(1));
 *   If(x.and(1).eq(0), () => step.set(x.div(2)));
 *   return step;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(6, 7)) })); // Uint32Array [3, 22]
 */
export function If(condition: Bool, body: () => void, ...others: never[]): Otherwise {
  requireNoOthers(others);
  const { blocks } = recorder();
  const home = blocks.at(-1)!;
  const otherwise = branch(condition, body, () => {
    if (recorder().blocks.at(-1) === home && home.length === place) return;
    throw functorError('else-apart', 'An Else must directly follow its If.', 'Chain it: If(…).ElseIf(…).Else(…).');
  });
  const place = home.length;
  return otherwise;
}

/** Records an `if`. `requireNext` throws if an `ElseIf` or `Else` does not directly follow the chain of branches. */
function branch(condition: Bool, body: () => void, requireNext: () => void): Otherwise {
  const alternative: Statement[] = [];
  const tested = use(requireCondition('If', condition));
  requireBody('If', 'body', body);
  append({ kind: 'if', condition: tested, consequent: block(body), alternative });
  const otherwise = (body: () => void): void => {
    requireNext();
    requireBody('Else', 'body', body);
    for (const statement of block(body)) alternative.push(statement);
  };
  return {
    Else: otherwise,
    ElseIf: (next, body) => {
      requireBody('ElseIf', 'condition', next);
      let chain: Otherwise | undefined;
      otherwise(() => {
        chain = branch(next(), body, requireNext);
      });
      return chain!;
    },
  };
}

/** The integers that a {@link For} counts through. */
export interface Range<T extends 'u32' | 'i32'> {
  readonly from: Input<T>;
  /** The loop ends before this number. It is evaluated once, before the loop. */
  readonly to: Input<T>;
  /** What is added after each round: a whole number, negative to count down, 1 if left out. */
  readonly step?: number;
}

/**
 * Runs the body for `i` = `from`, `from + 1`, … as long as `i` is below `to`. The bound `to` is evaluated once, before
 * the loop.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const sum = Var(u32(0));
 *   For(0, x, (i) => sum.set(sum.add(i)));
 *   return sum;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 4)) })); // Uint32Array [0, 6]
 */
export function For(from: Input<'u32'>, to: Input<'u32'>, body: (index: U32) => void): void;
/**
 * Runs the body for `i` = `from`, `from + step`, … as long as `i` is below `to` or, if the step is negative, above
 * `to`. The loop ends where the next number would leave the range of the type: indices never wrap around. Counts in
 * i32 if a bound is an i32, else in u32.
 *
 * @example
 * const f = fn({ x: i32 }, i32, ({ x }) => {
 *   const digits = Var(i32(0));
 *   For({ from: x, to: -1, step: -2 }, (i) => digits.set(digits.mul(10).add(i)));
 *   return digits;
 * });
 * await ctx.read(map(f, { x: ctx.column(Int32Array.of(5, 4)) })); // Int32Array [531, 420]
 */
export function For<T extends 'u32' | 'i32' = 'u32'>(range: Range<T>, body: (index: Value<T>) => void): void;
export function For(first: unknown, second: unknown, ...rest: unknown[]): void {
  const [third, other] = rest;
  if (!isRecord(first) || first instanceof Value) {
    requireBody('For', 'body', third);
    requireBodyLast(other);
    count('u32', first as Input<'u32'>, second as Input<'u32'>, 1, third as (index: Value<'u32'>) => void);
    return;
  }
  requireBody('For', 'body', second);
  requireBodyLast(third);
  const { from, to, step = 1, ...others } = first as unknown as Range<'u32' | 'i32'>;
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) {
    throw functorError('option', `The range of For has no ${stranger}.`, 'A range is { from, to, step }.');
  }
  const type = [from, to].some((bound) => bound instanceof Value && bound.operand.type === 'i32') ? 'i32' : 'u32';
  requireStep(step);
  for (const [argument, bound] of Object.entries({ from, to })) requireBound(argument, bound, type);
  count(type, from, to, step, second as (index: Value<'u32' | 'i32'>) => void);
}

function count<T extends 'u32' | 'i32'>(
  type: T,
  from: Input<T>,
  to: Input<T>,
  step: number,
  body: (index: Value<T>) => void,
): void {
  const end = isVariable(to) ? declare(operandOf(type, to)) : operandOf(type, to);
  const start = operandOf(type, from);
  const index = declare(start);
  const isMore = (): Operand => operate(step > 0 ? 'lt' : 'gt', [index, use(end)]);
  const advance = (): void =>
    append({ kind: 'set', local: index, value: operate('add', [index, literal(type, step)]) });
  if (Math.abs(step) === 1) {
    appendLoop(() => {
      breakUnless(isMore());
      body(new Value<T>(index));
    }, advance);
    return;
  }
  // The index may wrap around after the last round, so rounds are counted, and the index is not compared.
  const rounds = roundsOf(start, end, step);
  const round = declare(literal('u32', 0));
  appendLoop(
    () => {
      breakUnless(operate('lt', [round, use(rounds)]));
      body(new Value<T>(index));
    },
    () => {
      append({ kind: 'set', local: round, value: operate('add', [round, literal('u32', 1)]) });
      advance();
    },
  );
}

/** The number of rounds of a loop that goes from `from` to `to`, exclusive, in steps that may be negative. */
function roundsOf(from: Operand, to: Operand, step: number): Operand {
  const [low, high] = step > 0 ? [from, to] : [to, from];
  const distance = operate('convert', [operate('sub', [high, low])], 'u32');
  const last = operate('div', [operate('sub', [distance, literal('u32', 1)]), literal('u32', Math.abs(step))]);
  const rounds = operate('add', [last, literal('u32', 1)]);
  return operate('select', [literal('u32', 0), rounds, operate('lt', [low, high])]);
}

const BOUNDS = { u32: [0, 2 ** 32 - 1], i32: [-(2 ** 31), 2 ** 31 - 1] } as const;

function requireStep(step: unknown): void {
  const isWhole = Number.isInteger(step) && Math.abs(step as number) < 2 ** 31;
  if (isWhole && step !== 0) return;
  const remedy = step === 0 ? 'Write step: 1 or step: -1.' : 'A step must be known when the functor is recorded.';
  throw wrongInput('For', 'range.step', step, 'a whole number other than 0', `${remedy} Else write While.`);
}

/** Refuses numbers that the type of the index does not have, such as -1 in u32, which would wrap around. */
function requireBound(argument: string, bound: unknown, type: 'u32' | 'i32'): void {
  if (bound instanceof Value) return;
  const [min, max] = BOUNDS[type];
  if (Number.isInteger(bound) && (bound as number) >= min && (bound as number) <= max) return;
  const remedy = type === 'u32' ? `To count in i32, write i32(${typeof bound === 'number' ? bound : '…'}).` : undefined;
  throw wrongInput(
    'For',
    `range.${argument}`,
    bound,
    `${type === 'u32' ? 'a u32' : 'an i32'} or a whole number from ${min} to ${max}`,
    remedy,
  );
}

/**
 * Runs the body as long as the condition holds. The condition is evaluated before every round.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const rest = Var(x);
 *   While(() => rest.and(1).eq(0), () => rest.set(rest.shr(1)));
 *   return rest;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(12, 7)) })); // Uint32Array [3, 7]
 */
export function While(condition: () => Bool, body: () => void): void {
  requireBody('While', 'condition', condition);
  requireBody('While', 'body', body);
  appendLoop(
    () => {
      breakUnless(requireCondition('While', condition()));
      body();
    },
    () => {},
  );
}

/** Refuses a third argument of `If`, which would otherwise be left out without a word. */
function requireNoOthers([other, ...rest]: readonly unknown[]): void {
  if (other === undefined && rest.length === 0) return;
  const remedy = 'Write If(…, () => { … }).Else(() => { … }), or select(ifFalse, ifTrue, condition) for values.';
  throw functorError(
    'argument',
    `If takes a condition and a body; got a third argument, ${describeGiven(other)}.`,
    remedy,
  );
}

/** Refuses what follows the body of a `For`, such as a step, which would otherwise be left out without a word. */
function requireBodyLast(other: unknown): void {
  if (other === undefined) return;
  const sentence = `The body is the last argument of For; got another one, ${describeGiven(other)}.`;
  throw functorError('argument', sentence, 'A step stands in the range: For({ from, to, step }, (i) => { … }).');
}

function requireBody(call: string, argument: string, given: unknown): void {
  if (typeof given === 'function') return;
  const choice = call === 'If' ? ' To choose between values, write select(ifFalse, ifTrue, condition).' : '';
  throw wrongInput(call, argument, given, 'a function', `Write ${call}(…, () => { … }).${choice}`);
}

/**
 * Records a {@link While} loop whose body is known to run at most `max` times. Of the generated code, only JavaScript
 * checks this bound. The function is for loops of the library, such as bisections, for which the analysis of loops
 * cannot find a bound. A loop without a known bound never runs on the caller's thread.
 */
export function WhileAtMost(max: number, condition: () => Bool, body: () => void): void {
  appendLoop(
    () => {
      breakUnless(condition().operand);
      body();
    },
    () => {},
    // The round in which the condition fails counts too, although it does not run the body.
    { rounds: max + 1 },
  );
}

function appendLoop(body: () => void, step: () => void, bound: { readonly rounds?: number } = {}): void {
  const own = recorder();
  own.loopDepth++;
  const statements = block(body);
  own.loopDepth--;
  append({ kind: 'loop', body: statements, step: block(step), ...bound });
}

function breakUnless(condition: Operand): void {
  append({ kind: 'if', condition: use(condition), consequent: [], alternative: [{ kind: 'break' }] });
}

/**
 * Leaves the innermost loop.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const root = Var(u32(0));
 *   For(0, 65536, (i) => {
 *     If(i.mul(i).gt(x), () => Break());
 *     root.set(i);
 *   });
 *   return root;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(8, 9)) })); // Uint32Array [2, 3]
 */
export function Break(): void {
  requireLoop('Break');
  append({ kind: 'break' });
}

/**
 * Continues with the next round of the innermost loop.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   const odd = Var(u32(0));
 *   For(0, x, (i) => {
 *     If(i.and(1).eq(0), () => Continue());
 *     odd.set(odd.add(1));
 *   });
 *   return odd;
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(3, 6)) })); // Uint32Array [1, 3]
 */
export function Continue(): void {
  requireLoop('Continue');
  append({ kind: 'continue' });
}

function requireLoop(name: string): void {
  if (recorder().loopDepth === 0) throw functorError('outside-loop', `${name}() must be inside a loop.`);
}

/**
 * Ends the functor with the given value or record of values.
 *
 * @example
 * const f = fn({ x: u32 }, u32, ({ x }) => {
 *   If(x.eq(0), () => Return(u32(7)));
 *   return u32(100).div(x);
 * });
 * await ctx.read(map(f, { x: ctx.column(Uint32Array.of(0, 5)) })); // Uint32Array [7, 20]
 */
export function Return(values: unknown): void {
  const { toOperands } = recorder();
  if (toOperands === undefined) throw functorError('outside-body', 'Return() must be inside a functor body.');
  append({ kind: 'return', values: toOperands(values).map(use) });
}
