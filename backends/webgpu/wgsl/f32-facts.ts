import {
  blocksOf,
  type IrFunction,
  type Local,
  type Operand,
  type Operation,
  type OperationName,
  operandsOf,
  type Statement,
} from '../../../primitives/ir/ir.ts';

/**
 * What is known of every value that an f32 can have: NaN is none of them, its magnitude is at most 2^`top`, and it is a multiple
 * of 2^`unit`. Finite values have a `top` of at most {@link MAX_COUNT}.
 */
export interface F32Fact {
  readonly isNumber: boolean;
  readonly top: number;
  readonly unit: number;
}

/** Exponents of the greatest power of two, of the smallest normal number and of the smallest number above zero. */
const [MAX_COUNT, SMALLEST_NORMAL, SMALLEST] = [127, -126, -149];
const NOTHING: F32Fact = { isNumber: false, top: Number.POSITIVE_INFINITY, unit: SMALLEST };

/** What an emitter asks of a function, so that it leaves out what no value needs. */
export interface F32Facts {
  of(operand: Operand): F32Fact;
  /** Whether each use of a value has one of these names. */
  isUsedOnlyBy(local: Local, names: ReadonlySet<OperationName>): boolean;
  /** Whether a part of a sum could cancel out with what it is added to or taken from, here or outside of what is known. */
  mayCancel(local: Local): boolean;
}

/** Facts that follow from the operations of a function: numbers made of integers and constants have bounds. */
export function f32FactsOf({ body }: IrFunction): F32Facts {
  const facts = new Map<number, F32Fact>();
  const uses = new Map<number, Set<OperationName | 'other'>>();
  const terms = termsOf();
  const of = (operand: Operand): F32Fact => {
    if (operand.kind === 'literal') return factOfLiteral(Number(operand.value));
    return (operand.kind === 'local' && facts.get(operand.id)) || NOTHING;
  };
  const use = (operand: Operand, by: OperationName | 'other'): void => {
    if (operand.kind !== 'local') return;
    const known = uses.get(operand.id);
    if (known === undefined) uses.set(operand.id, new Set([by]));
    else known.add(by);
  };
  const visit = (statement: Statement): void => {
    if (statement.kind === 'let') {
      const { local, operation } = statement;
      const by = passesOn(operation, local) ? 'other' : operation.name;
      for (const operand of operation.operands) use(operand, by);
      if (local.type === 'f32') facts.set(local.id, factOf(operation, of));
      terms.note(local, operation);
      return;
    }
    if (statement.kind === 'read') terms.noteRead(statement);
    for (const operand of operandsOf(statement)) use(operand, 'other');
    for (const block of blocksOf(statement)) block.forEach(visit);
  };
  body.forEach(visit);
  return {
    of,
    isUsedOnlyBy: ({ id }, names) => {
      const found = uses.get(id);
      return found !== undefined && [...found].every((name) => name !== 'other' && names.has(name));
    },
    mayCancel: ({ id }) => terms.cancels(id) || ![...(uses.get(id) ?? ['other'])].every((name) => algebraic.has(name)),
  };
}

/** Operations whose operands compilers take for what they are, however they rewrite sums. */
const algebraic: ReadonlySet<OperationName | 'other'> = new Set([
  ...(['add', 'sub', 'mul', 'neg', 'abs', 'min', 'max', 'select'] as const),
  ...(['bits', 'convert', 'floor', 'ceil', 'trunc', 'round'] as const),
]);
/** Operations of which compilers know that their results are sums where their operands are. */
const transparent: ReadonlySet<OperationName> = new Set(['neg', 'bits', 'convert', 'select']);

/** A value by the first local that is bound to it, or a constant by its text. */
type Term = number | string;

/** Terms of a sum that are kept apart. */
const MAX_TERMS = 64;

/** What compilers see of a value: the terms that it is a sum of, and the sums and products that would hide them. */
interface Visible {
  readonly terms: ReadonlySet<Term>;
  readonly hiders: ReadonlySet<number>;
}

/**
 * Finds sums that compilers could simplify: where two operands of a sum have a term in common, it may be cancelled or factored
 * out. The operands are hidden then, and are terms themselves from there on; so is the sum, which could be a constant.
 */
function termsOf() {
  const known = new Map<number, Visible>();
  const cancelling = new Set<number>();
  const { termOf, numberValue } = valueNumbers();
  const seenOf = (operand: Operand): Visible => {
    if (operand.kind === 'local' && known.has(operand.id)) return known.get(operand.id)!;
    return { terms: new Set([termOf(operand)]), hiders: new Set() };
  };
  const hide = (operand: Operand): void => {
    for (const id of seenOf(operand).hiders) {
      cancelling.add(id);
      known.delete(id);
    }
    if (operand.kind === 'local') known.delete(operand.id);
  };
  return {
    noteRead({ local, array, index }: ReadStatement): void {
      numberValue(local, array, [index]);
    },
    note(local: Local, { name, operands }: Operation): void {
      const { id } = local;
      numberValue(local, `${name} ${local.type}`, operands);
      const isSum = name === 'add' || name === 'sub';
      const isProduct = name === 'mul';
      if (!isSum && !isProduct && !transparent.has(name)) return;
      if (isSum && !areDisjoint(operands.map((operand) => seenOf(operand).terms))) {
        operands.forEach(hide);
        cancelling.add(id);
      }
      const parts = operands.map(seenOf);
      const terms = new Set<Term>(parts.flatMap((part) => [...part.terms]));
      if (isProduct) terms.add(id);
      const hiders = isSum || isProduct ? [id] : parts.flatMap((part) => [...part.hiders]);
      // Long chains of sums would take the square of their length: now and then one is hidden, and is a term from there on.
      if (terms.size > MAX_TERMS) for (const hider of hiders) cancelling.add(hider);
      else known.set(id, { terms, hiders: new Set(hiders) });
    },
    cancels: (id: number): boolean => cancelling.has(id),
  };
}

type ReadStatement = Extract<Statement, { readonly kind: 'read' }>;

/**
 * Local value numbering: locals that are bound to the same operation of the same operands, or read the same element, are one
 * term, as compilers compute them once.
 */
function valueNumbers() {
  const firsts = new Map<string, number>();
  const sameAs = new Map<number, number>();
  const termOf = (operand: Operand): Term => {
    if (operand.kind === 'local') return sameAs.get(operand.id) ?? operand.id;
    // Numbers of either sign cancel out.
    return operand.kind === 'uniform' ? operand.name : `${Math.abs(Number(operand.value))}`;
  };
  const keyOf = (operand: Operand): string =>
    operand.kind === 'literal' ? `${operand.type} ${operand.value}` : `${operand.kind} ${termOf(operand)}`;
  const numberValue = ({ id }: Local, what: string, operands: readonly Operand[]): void => {
    // The order counts for some operations only: taking it for none finds more values to be the same, never fewer.
    const key = `${what}(${operands.map(keyOf).sort().join()})`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, id);
    else sameAs.set(id, first);
  };
  return { termOf, numberValue };
}

function areDisjoint([a, b]: readonly ReadonlySet<Term>[]): boolean {
  return ![...a!].some((term) => b!.has(term));
}

/** Whether the result of an operation is its operand. */
function passesOn({ name, operands }: Operation, { type }: Local): boolean {
  return (name === 'convert' || name === 'bits') && operands[0]!.type === type;
}

/** Whether a product can be a subnormal number, or be rounded up from one. */
export function mayUnderflow(a: F32Fact, b: F32Fact): boolean {
  return a.unit + b.unit < SMALLEST_NORMAL;
}

/**
 * Whether a product with a power of two is exact: so that it makes no difference whether it is rounded by itself or together with
 * a sum that it goes into.
 */
export function isExactScaling(a: F32Fact, b: F32Fact): boolean {
  const isPowerOfTwo = ({ top, unit }: F32Fact): boolean => top === unit;
  return (isPowerOfTwo(a) || isPowerOfTwo(b)) && !mayUnderflow(a, b) && a.top + b.top <= MAX_COUNT;
}

function isBounded({ isNumber, top }: F32Fact): boolean {
  return isNumber && top <= MAX_COUNT;
}

function factOf({ name, operands }: Operation, of: (operand: Operand) => F32Fact): F32Fact {
  const [first, second] = operands as readonly [Operand, Operand];
  const a = of(first);
  switch (name) {
    case 'convert':
      return first.type === 'f32' ? a : { isNumber: true, top: first.type === 'bool' ? 0 : 32, unit: 0 };
    case 'add':
    case 'sub':
      return factOfSum(a, of(second));
    case 'mul':
      return factOfProduct(a, of(second));
    case 'min':
    case 'max': {
      const b = of(second);
      return { ...join(a, b), isNumber: a.isNumber || b.isNumber };
    }
    case 'select':
      return join(a, of(second));
    case 'neg':
    case 'abs':
      return a;
    case 'floor':
    case 'ceil':
    case 'trunc':
    case 'round':
      return { ...a, top: Math.max(a.top, 0), unit: Math.max(a.unit, 0) };
    default:
      return NOTHING;
  }
}

function factOfLiteral(value: number): F32Fact {
  if (Number.isNaN(value)) return NOTHING;
  if (value === 0) return { isNumber: true, top: SMALLEST, unit: MAX_COUNT };
  if (!Number.isFinite(value)) return { ...NOTHING, isNumber: true };
  let unit = SMALLEST;
  while (value % 2 ** (unit + 1) === 0) unit++;
  return { isNumber: true, top: Math.ceil(Math.log2(Math.abs(value))), unit };
}

/** Rounding keeps multiples of powers of two, and does not pass one. */
function factOfSum(a: F32Fact, b: F32Fact): F32Fact {
  if (!isBounded(a) || !isBounded(b)) return NOTHING;
  return { isNumber: true, top: Math.max(a.top, b.top) + 1, unit: Math.min(a.unit, b.unit) };
}

function factOfProduct(a: F32Fact, b: F32Fact): F32Fact {
  if (!isBounded(a) || !isBounded(b)) return NOTHING;
  return { isNumber: true, top: a.top + b.top, unit: Math.max(SMALLEST, a.unit + b.unit) };
}

/** What is known of a value that is one or the other. */
function join(a: F32Fact, b: F32Fact): F32Fact {
  return {
    isNumber: a.isNumber && b.isNumber,
    top: Math.max(a.top, b.top),
    unit: Math.min(a.unit, b.unit),
  };
}
