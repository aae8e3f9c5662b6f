import {
  type IrFunction,
  type Local,
  type Operand,
  type Operation,
  type OperationName,
  operandsOf,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import { visitStatements } from '../../../primitives/ir/visit.ts';

/**
 * Facts about all possible values of an f32. If `isNumber` is true, no value is NaN. Every magnitude is at most
 * 2^`top`, and every value is a multiple of 2^`unit`. If `top` is at most {@link MAX_COUNT}, no value is infinite.
 */
export interface F32Fact {
  readonly isNumber: boolean;
  readonly top: number;
  readonly unit: number;
}

/** Exponents of the largest power of two, the smallest normal number and the smallest positive number in f32. */
const [MAX_COUNT, SMALLEST_NORMAL, SMALLEST] = [127, -126, -149];
const NOTHING: F32Fact = { isNumber: false, top: Number.POSITIVE_INFINITY, unit: SMALLEST };

/** Facts about the f32 values of a function. They let the emitter omit corrections that are not needed. */
export interface F32Facts {
  of(operand: Operand): F32Fact;
  /** Whether a value is used only by operations with the given names. */
  isUsedOnlyBy(local: Local, names: ReadonlySet<OperationName>): boolean;
  /**
   * Whether a local is bound to a sum or product that a compiler could simplify: a sum whose operands share a term, or
   * a sum or product in an operand of such a sum.
   */
  mayCancel(local: Local): boolean;
}

/**
 * Derives facts from the operations of a function. Values that are computed from converted integers and constants have
 * bounds.
 */
export function f32FactsOf({ parameters, body }: IrFunction): F32Facts {
  const facts = new Map<number, F32Fact>();
  const uses = new Map<number, Set<OperationName | 'other'>>();
  const operations: Bound[] = [];
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
  visitStatements(body, (statement) => {
    if (statement.kind !== 'let') {
      for (const operand of operandsOf(statement)) use(operand, 'other');
      return;
    }
    const { local, operation } = statement;
    const by = passesOn(operation, local) ? 'other' : operation.name;
    for (const operand of operation.operands) use(operand, by);
    if (local.type === 'f32') facts.set(local.id, factOf(operation, of));
    operations.push({ local, operation });
  });
  const isAlgebraic = (id: number): boolean =>
    [...(uses.get(id) ?? ['other' as const])].every((name) => algebraic.has(name));
  const cancelling = cancellingIn(operations, sourcesOf(parameters, body), isAlgebraic);
  return {
    of,
    isUsedOnlyBy: ({ id }, names) => {
      const found = uses.get(id);
      return found !== undefined && [...found].every((name) => name !== 'other' && names.has(name));
    },
    mayCancel: ({ id }) => cancelling.has(id),
  };
}

/**
 * The analysis of terms covers these operations. If another operation uses a sum, the analysis may miss that the sum
 * can cancel.
 */
const algebraic: ReadonlySet<OperationName | 'other'> = new Set([
  ...(['add', 'sub', 'mul', 'neg', 'abs', 'min', 'max', 'select'] as const),
  ...(['bits', 'convert', 'floor', 'ceil', 'trunc', 'round'] as const),
]);
/** Operations that do not hide a sum from compilers: if the operand is a sum, the result is a sum too. */
const transparent: ReadonlySet<OperationName> = new Set(['neg', 'bits', 'convert', 'select']);

/**
 * A term of a sum: a value, represented by the id of the first local bound to it, or a constant, represented by its
 * text.
 */
type Term = number | string;

/** Maximum number of terms per sum that are tracked. */
const MAX_TERMS = 64;

/**
 * A value as a compiler sees it: the terms whose sum it is, and the ids of the sums and products (`hiders`) that must
 * be hidden so that the compiler does not see these terms.
 */
interface Visible {
  readonly terms: ReadonlySet<Term>;
  readonly hiders: ReadonlySet<number>;
}

/** An operation, and the local that is bound to its result. */
interface Bound {
  readonly local: Local;
  readonly operation: Operation;
}

/**
 * Finds sums and products that must be hidden, because compilers could simplify sums. If the operands of a sum share a
 * term, compilers may cancel the term or factor it out. The operands and the sum are then hidden, and each of them counts
 * as a single term in all other sums. If terms of sums may be the same value, as two parameters may, the sums are hidden
 * before another is made of them. What is used by other operations than the algebraic ones is hidden in any case.
 *
 * What is hidden changes the terms of sums before and after, so it is looked for until no more is found.
 */
function cancellingIn(
  operations: readonly Bound[],
  { seenAt, mayBeEqual }: Sources,
  isAlgebraic: (id: number) => boolean,
): ReadonlySet<number> {
  const hidden = new Set<number>();
  const known = new Map<number, Visible>();
  const seenOf = (operand: Operand): Visible => {
    if (operand.kind === 'local' && known.has(operand.id)) return known.get(operand.id)!;
    return seenAt(operand);
  };
  const hide = (operand: Operand): void => {
    for (const id of seenOf(operand).hiders) {
      hidden.add(id);
      known.delete(id);
    }
    if (operand.kind === 'local') known.delete(operand.id);
  };
  const note = ({ local: { id }, operation: { name, operands } }: Bound): void => {
    const isSum = name === 'add' || name === 'sub';
    const isProduct = name === 'mul';
    if (!isSum && !isProduct && !transparent.has(name)) return;
    if ((isSum || isProduct) && !isAlgebraic(id)) hidden.add(id);
    if (isSum) {
      const [a, b] = operands.map(seenOf) as [Visible, Visible];
      const isShared = !areDisjoint(a.terms, b.terms);
      if (isShared) hidden.add(id);
      if (isShared || (a.hiders.size + b.hiders.size > 0 && mayBeEqual(a.terms, b.terms))) operands.forEach(hide);
    }
    if (hidden.has(id)) return;
    const parts = operands.map(seenOf);
    const terms = new Set<Term>(parts.flatMap((part) => [...part.terms]));
    if (isProduct) terms.add(id);
    const hiders = isSum || isProduct ? [id] : parts.flatMap((part) => [...part.hiders]);
    // The bound avoids quadratic time for long chains of sums.
    if (terms.size > MAX_TERMS) for (const hider of hiders) hidden.add(hider);
    else known.set(id, { terms, hiders: new Set(hiders) });
  };
  for (let before = -1; before < hidden.size; ) {
    before = hidden.size;
    known.clear();
    operations.forEach(note);
  }
  return hidden;
}

/** Where values of a function come from. */
interface Sources {
  /** What an operand may be: itself or what was assigned to it, and what compilers see through operations in these. */
  seenAt(operand: Operand): Visible;
  /** Whether a term of one value may be the same value as a different term of another. */
  mayBeEqual(a: ReadonlySet<Term>, b: ReadonlySet<Term>): boolean;
}

/** Stands for more terms than are tracked. It is among the terms of any value. */
const ANY = 'any';
/** Maximum number of locals that are followed to the sources of a value. */
const MAX_FOLLOWED = 1024;

/**
 * Finds what every value may be. A variable, or an element of an array of the function or of an owned array, may be all
 * that is assigned to it anywhere; a result of a function may be an argument. Parameters, results of functions, uniforms
 * and elements of different arrays may be the same value, as callers may give one value twice. Compilers see all that.
 */
function sourcesOf(parameters: readonly Local[], body: readonly Statement[]): Sources {
  const { termOf, numberValue, numberResult } = valueNumbers();
  /** What is assigned to variables, by their ids, and to arrays. */
  const assigned = new Map<number | string, Operand[]>();
  /** What a local may be: the operands that it passes on, what is assigned to it, or arguments. */
  const given = new Map<number, readonly Operand[]>();
  const passing = new Set<number>();
  const sums = new Map<number, readonly Operand[]>();
  const { originOf, noteInput, noteResult } = termOrigins();
  for (const { id } of parameters) noteInput(id, id);
  const assignedTo = (place: number | string): Operand[] => {
    if (!assigned.has(place)) assigned.set(place, []);
    return assigned.get(place)!;
  };
  const noteRead = ({ local, index }: ReadStatement, array: string): void => {
    numberValue(local, array, [index]);
    given.set(local.id, assignedTo(array));
  };
  visitStatements(body, (statement) => {
    switch (statement.kind) {
      case 'let': {
        const { local, operation } = statement;
        const { name, operands } = operation;
        numberResult(local, operation);
        noteResult(local, operation);
        if (transparent.has(name)) {
          passing.add(local.id);
          given.set(local.id, operands);
        } else if (name === 'add' || name === 'sub' || name === 'mul') sums.set(local.id, operands);
        return;
      }
      case 'read':
      case 'readOwned':
        noteInput(statement.local.id, statement.array);
        return noteRead(statement, statement.array);
      // Two reads of an array may give the same element. What is written between them counts for nothing, which is safe.
      case 'readLocal':
        return noteRead(statement, `local ${statement.localArray.id}`);
      case 'var':
      case 'set':
        noteInput(statement.local.id, statement.local.id);
        assignedTo(statement.local.id).push(statement.value);
        given.set(statement.local.id, assignedTo(statement.local.id));
        return;
      case 'localArray':
      case 'writeLocal':
        assignedTo(`local ${statement.localArray.id}`).push(statement.value);
        return;
      case 'writeOwned':
        assignedTo(statement.array).push(statement.value);
        return;
      case 'call':
        for (const { id } of statement.results) {
          noteInput(id, id);
          given.set(id, statement.args);
        }
    }
  });
  const sourcesAt = (operand: Operand): Visible => {
    const [terms, hiders] = [new Set<Term>(), new Set<number>()];
    const seen = new Set<number>();
    // A sum is hidden if it is assigned itself, but not if it is passed on by an operation that compilers see through.
    const rest = [{ next: operand, isSeenThrough: false }];
    for (let at = rest.pop(); at !== undefined; at = rest.pop()) {
      const { next, isSeenThrough } = at;
      const follow = (operands: readonly Operand[] | undefined, through: boolean): void => {
        for (const one of operands ?? []) rest.push({ next: one, isSeenThrough: through });
      };
      if (next.kind !== 'local') {
        terms.add(termOf(next));
        if (next.kind === 'uniform') noteInput(next.name, next.name);
      } else if (!seen.has(2 * next.id + Number(isSeenThrough))) {
        seen.add(2 * next.id + Number(isSeenThrough));
        if (!passing.has(next.id)) terms.add(termOf(next));
        follow(given.get(next.id), passing.has(next.id));
        if (isSeenThrough && sums.has(next.id)) {
          hiders.add(next.id);
          follow(sums.get(next.id), true);
        }
      }
      if (terms.size > MAX_TERMS || seen.size > MAX_FOLLOWED)
        return { terms: new Set([ANY]), hiders: new Set(sums.keys()) };
    }
    return { terms, hiders };
  };
  const found = new Map<number, Visible>();
  const originsOf = (terms: ReadonlySet<Term>): Origin[] => [...terms].flatMap((term) => originOf(term) ?? []);
  return {
    seenAt(operand) {
      if (operand.kind !== 'local') return sourcesAt(operand);
      const seen = found.get(operand.id) ?? sourcesAt(operand);
      found.set(operand.id, seen);
      return seen;
    },
    mayBeEqual(a, b) {
      const [first, second] = [originsOf(a), originsOf(b)];
      return first.some((origin) => second.some((other) => mayCoincide(origin, other)));
    },
  };
}

/**
 * How a term comes about: the operation that computes it, or `input`, and the parameters, arrays and other inputs on which
 * it depends. Two of these are enough to know.
 */
interface Origin {
  readonly by: OperationName | 'input';
  readonly inputs: readonly Term[];
}

/** Whether two different terms are the same value if two inputs are: the same operation on different inputs. */
function mayCoincide(a: Origin, b: Origin): boolean {
  return a.by === b.by && new Set([...a.inputs, ...b.inputs]).size > 1;
}

function termOrigins() {
  const origins = new Map<Term, Origin>();
  return {
    originOf: (term: Term): Origin | undefined => origins.get(term),
    noteInput: (term: Term, input: Term): void => void origins.set(term, { by: 'input', inputs: [input] }),
    noteResult({ id }: Local, { name, operands }: Operation): void {
      const inputs = new Set(operands.flatMap((operand) => inputsOf(operand)));
      origins.set(id, { by: name === 'sub' ? 'add' : name, inputs: [...inputs].slice(0, 2) });
    },
  };
  function inputsOf(operand: Operand): readonly Term[] {
    if (operand.kind === 'uniform') return [operand.name];
    return (operand.kind === 'local' && origins.get(operand.id)?.inputs) || [];
  }
}

type ReadStatement = Extract<Statement, { readonly kind: 'read' | 'readOwned' | 'readLocal' }>;

/**
 * Local value numbering: two locals are the same term if they are bound to the same operation on the same operands, or
 * to a read of the same element. Compilers compute such values only once.
 */
function valueNumbers() {
  const firsts = new Map<string, number>();
  const sameAs = new Map<number, Term>();
  const termOf = (operand: Operand): Term => {
    if (operand.kind === 'local') return sameAs.get(operand.id) ?? operand.id;
    // Constants are identified by their magnitude, because numbers of opposite sign can cancel.
    return operand.kind === 'uniform' ? operand.name : `${Math.abs(Number(operand.value))}`;
  };
  const keyOf = (operand: Operand): string =>
    operand.kind === 'literal' ? `${operand.type} ${operand.value}` : `${operand.kind} ${termOf(operand)}`;
  const numberValue = ({ id }: Local, what: string, operands: readonly Operand[]): void => {
    // The key ignores the order of operands. For operations that are not commutative, more values than necessary count
    // as equal, which is safe.
    const key = `${what}(${operands.map(keyOf).sort().join()})`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, id);
    else sameAs.set(id, first);
  };
  const numberResult = (local: Local, { name, operands }: Operation): void => {
    // Signs are not looked at: a − b may be computed as a + −b.
    if (name === 'neg') sameAs.set(local.id, termOf(operands[0]!));
    else numberValue(local, `${name === 'sub' ? 'add' : name} ${local.type}`, operands);
  };
  return { termOf, numberValue, numberResult };
}

function areDisjoint(a: ReadonlySet<Term>, b: ReadonlySet<Term>): boolean {
  return !a.has(ANY) && !b.has(ANY) && ![...a].some((term) => b.has(term));
}

/** Whether an operation is a conversion to the same type, which returns its operand unchanged. */
function passesOn({ name, operands }: Operation, { type }: Local): boolean {
  return (name === 'convert' || name === 'bits') && operands[0]!.type === type;
}

/** Whether the exact product can be below the smallest normal number, even if the product is rounded to that number. */
export function mayUnderflow(a: F32Fact, b: F32Fact): boolean {
  return a.unit + b.unit < SMALLEST_NORMAL;
}

/**
 * Whether one factor is a power of two and the product is exact. In this case it makes no difference whether a compiler
 * fuses the product with a sum.
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

/**
 * Returns the fact about a rounded sum. If both terms are multiples of a power of two, the rounded sum is a multiple of
 * the same power. Rounding never moves a sum past a power of two, so the bound of the exact sum stays valid.
 */
function factOfSum(a: F32Fact, b: F32Fact): F32Fact {
  if (!isBounded(a) || !isBounded(b)) return NOTHING;
  return { isNumber: true, top: Math.max(a.top, b.top) + 1, unit: Math.min(a.unit, b.unit) };
}

function factOfProduct(a: F32Fact, b: F32Fact): F32Fact {
  if (!isBounded(a) || !isBounded(b)) return NOTHING;
  return { isNumber: true, top: a.top + b.top, unit: Math.max(SMALLEST, a.unit + b.unit) };
}

/** Returns a fact that holds for both of two values, given the fact about each value. */
function join(a: F32Fact, b: F32Fact): F32Fact {
  return {
    isNumber: a.isNumber && b.isNumber,
    top: Math.max(a.top, b.top),
    unit: Math.min(a.unit, b.unit),
  };
}
