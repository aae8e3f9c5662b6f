import {
  blocksOf as blocksOfIr,
  type Local,
  type Module,
  type Operand,
  type Operation,
  operandsOf as operandsOfIr,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import { variablesSet } from '../../../primitives/ir/visit.ts';
import { type Inlined, type InlinedStatement, inlineCalls } from './inline-statements.ts';

/**
 * The sum of two products of i16 numbers. A functor computes such a sum by several operations; vector code computes the
 * sum by one instruction.
 */
export interface DotStatement {
  readonly kind: 'dot';
  readonly local: Local;
  /** Two words, each with two i16 halves. The result is low half · low half + high half · high half. */
  readonly words: readonly [Operand, Operand];
}

export type LaneStatement = InlinedStatement<DotStatement>;

/** The program from which vector code is made: a functor with all calls inlined and without unused statements. */
export interface LaneProgram {
  readonly parameters: readonly Local[];
  readonly body: readonly LaneStatement[];
  readonly results: readonly Operand[];
}

/** Makes a {@link LaneProgram} from the entry of a module. Throws `NotStraight` if calls cannot be inlined. */
export function laneProgram(module: Module): LaneProgram {
  const inlined = inlineCalls(module);
  const body = withDots(inlined);
  return { parameters: inlined.parameters, body: withoutUnused(body, inlined.results), results: inlined.results };
}

/**
 * Finds sums of two products of i16 halves, and replaces each by a dot statement, which reads the words where the sum
 * is. The words are therefore no variables: those may have been set since their halves were taken.
 */
function withDots({ body }: Inlined): readonly LaneStatement[] {
  const operations = new Map<number, Operation>();
  const changing = variablesSet(body as readonly Statement[]);
  const dotOf = ({ name, operands }: Operation): DotStatement['words'] | undefined => {
    if (name !== 'add') return undefined;
    const [low, high] = operands.map((operand) => halvesMultiplied(operand, operations));
    if (low === undefined || high === undefined || low.half === high.half) return undefined;
    const [a, b] = low.words;
    const [c, d] = high.words;
    const isSame = (sameOperand(a, c) && sameOperand(b, d)) || (sameOperand(a, d) && sameOperand(b, c));
    const isKept = (word: Operand): boolean => word.kind !== 'local' || !changing.has(word.id);
    return isSame && isKept(a) && isKept(b) ? [a, b] : undefined;
  };
  const block = (statements: readonly InlinedStatement[]): LaneStatement[] =>
    statements.map((statement): LaneStatement => {
      switch (statement.kind) {
        case 'let': {
          operations.set(statement.local.id, statement.operation);
          const words = statement.local.type === 'i32' ? dotOf(statement.operation) : undefined;
          return words === undefined ? statement : { kind: 'dot', local: statement.local, words };
        }
        case 'if':
          return { ...statement, consequent: block(statement.consequent), alternative: block(statement.alternative) };
        case 'loop':
          return { ...statement, body: block(statement.body), step: block(statement.step) };
        default:
          return statement;
      }
    });
  return block(body);
}

interface Product {
  readonly half: 'low' | 'high';
  readonly words: readonly [Operand, Operand];
}

/**
 * Matches a product of two low halves or of two high halves of words. Returns which halves are multiplied, and the two
 * words. Undefined for other operands.
 */
function halvesMultiplied(operand: Operand, operations: ReadonlyMap<number, Operation>): Product | undefined {
  const product = operationOf(operand, operations);
  if (product?.name !== 'mul') return undefined;
  const [a, b] = product.operands.map((factor) => halfOf(factor, operations));
  if (a === undefined || b === undefined || a.half !== b.half) return undefined;
  return { half: a.half, words: [a.word, b.word] };
}

/**
 * Matches an i32 operand that is the high half `word >> 16` or the low half `(word << 16) >> 16` of a word. Returns
 * which half it is, and the word. Undefined for other operands.
 */
function halfOf(
  operand: Operand,
  operations: ReadonlyMap<number, Operation>,
): { readonly half: Product['half']; readonly word: Operand } | undefined {
  const shifted = operand.type === 'i32' ? operationOf(operand, operations) : undefined;
  if (shifted?.name !== 'shr' || !isSixteen(shifted.operands[1]!)) return undefined;
  const word = withoutBits(shifted.operands[0]!, operations);
  const raised = operationOf(word, operations);
  if (raised?.name !== 'shl' || !isSixteen(raised.operands[1]!)) return { half: 'high', word };
  return { half: 'low', word: withoutBits(raised.operands[0]!, operations) };
}

/**
 * Returns the operand to which a chain of `bits` operations is applied. Each of these operations reinterprets an
 * integer as another type. A `bits` operation on an f32 ends the chain.
 */
function withoutBits(operand: Operand, operations: ReadonlyMap<number, Operation>): Operand {
  const operation = operationOf(operand, operations);
  const isRead = operation?.name === 'bits' && operation.operands[0]!.type !== 'f32';
  return isRead ? withoutBits(operation.operands[0]!, operations) : operand;
}

function operationOf(operand: Operand, operations: ReadonlyMap<number, Operation>): Operation | undefined {
  return operand.kind === 'local' ? operations.get(operand.id) : undefined;
}

function isSixteen(operand: Operand): boolean {
  return operand.kind === 'literal' && operand.value === 16;
}

export function sameOperand(a: Operand, b: Operand): boolean {
  if (a.kind === 'local') return b.kind === 'local' && a.id === b.id;
  if (a.kind === 'uniform') return b.kind === 'uniform' && a.name === b.name;
  return b.kind === 'literal' && a.type === b.type && Object.is(a.value, b.value);
}

/** Removes statements whose result is not used, such as the products that {@link withDots} has merged. */
function withoutUnused(body: readonly LaneStatement[], results: readonly Operand[]): readonly LaneStatement[] {
  const used = new Set<number>();
  for (const result of results) if (result.kind === 'local') used.add(result.id);
  eachOperand(body, (operand) => {
    if (operand.kind === 'local') used.add(operand.id);
  });
  let dropped = 0;
  const block = (statements: readonly LaneStatement[]): LaneStatement[] =>
    statements.flatMap((statement): LaneStatement[] => {
      if (statement.kind === 'if') {
        return [{ ...statement, consequent: block(statement.consequent), alternative: block(statement.alternative) }];
      }
      if (statement.kind === 'loop')
        return [{ ...statement, body: block(statement.body), step: block(statement.step) }];
      if (!('local' in statement) || used.has(statement.local.id)) return [statement];
      dropped++;
      return [];
    });
  const left = block(body);
  return dropped === 0 ? left : withoutUnused(left, results);
}

/**
 * Calls `visit` for each operand of the statements and of all blocks nested in them. Assigned variables are not
 * operands.
 */
function eachOperand(statements: readonly LaneStatement[], visit: (operand: Operand) => void): void {
  for (const statement of statements) {
    for (const operand of operandsOf(statement)) visit(operand);
    for (const block of blocksOf(statement)) eachOperand(block, visit);
  }
}

/** The operands of a statement, without the operands of statements in its nested blocks. */
export function operandsOf(statement: LaneStatement): readonly Operand[] {
  return statement.kind === 'dot' ? statement.words : operandsOfIr(statement as Statement);
}

export function blocksOf(statement: LaneStatement): readonly (readonly LaneStatement[])[] {
  return statement.kind === 'dot' ? [] : (blocksOfIr(statement as Statement) as readonly (readonly LaneStatement[])[]);
}
