import fc from 'fast-check';
import type {
  IrFunction,
  Local,
  LocalArray,
  Module,
  Operand,
  OperationName,
  ScalarType,
  Statement,
} from '../../../primitives/ir/ir.ts';
import { operationNames, typeOf } from '../../../primitives/ir/operations.ts';

/**
 * The kinds of loops that a functor may have. An `even` loop has equally many iterations for all indices. A functor
 * with `even` loops has no early returns.
 */
export type Loops = 'none' | 'any' | 'even';

/**
 * Random functors of `(index: u32)` with branches, early returns, calls and, if requested, bounded loops with breaks
 * and continues. The functors read the arrays `a` (u32), `b` (i32) and `c` (f32) at the index and near it, and the
 * uniform `k`.
 */
export function arbitraryModule(loops: Loops): fc.Arbitrary<Module> {
  return fc.array(fc.nat(0x7fffffff), { minLength: 40, maxLength: 600, size: 'max' }).map((numbers) => {
    let next = 0;
    return generate((below) => (numbers[next++] ?? 0) % below, loops);
  });
}

type Draw = (below: number) => number;

const types: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];
const names: readonly OperationName[] = operationNames.filter((name) => name !== 'rem');

interface Scope {
  readonly visible: Operand[];
  readonly variables: Local[];
  readonly arrays: LocalArray[];
}

interface Body {
  readonly draw: Draw;
  readonly loops: Loops;
  readonly functions: readonly IrFunction[];
  readonly results: readonly ScalarType[];
  nextId: number;
  budget: number;
}

function generate(draw: Draw, loops: Loops): Module {
  const functions: IrFunction[] = [];
  for (const name of ['helper', 'second', 'entry']) {
    const isEntry = name === 'entry';
    const parameterTypes: ScalarType[] = isEntry ? ['u32'] : [pick(draw, types), pick(draw, types)];
    const parameters = parameterTypes.map((type, id): Local => ({ kind: 'local', type, id }));
    const results = Array.from({ length: isEntry ? 3 : 1 + draw(2) }, () => pick(draw, types));
    const body: Body = { draw, loops, functions: [...functions], results, nextId: 10, budget: isEntry ? 40 : 12 };
    const scope: Scope = { visible: [...parameters], variables: [], arrays: [] };
    const statements = isEntry ? reads(body, scope, parameters[0]!) : [];
    statements.push(...block(body, scope, 3, false), giveBack(body, scope));
    functions.push({ name, parameters, results, body: statements, fast: false });
  }
  const arrays = new Map<string, ScalarType>([
    ['a', 'u32'],
    ['b', 'i32'],
    ['c', 'f32'],
  ]);
  return { functions, arrays, uniforms: new Map([['k', 'u32']]) };
}

function pick<T>(draw: Draw, from: readonly T[]): T {
  return from[draw(from.length)]!;
}

function fresh(body: Body, type: ScalarType): Local {
  return { kind: 'local', type, id: body.nextId++ };
}

function reads(body: Body, scope: Scope, index: Local): Statement[] {
  const shifted = fresh(body, 'u32');
  const back: Operand = { kind: 'literal', type: 'u32', value: pick(body.draw, [1, 5, 2 ** 32 - 1]) };
  const elements = (['u32', 'i32', 'f32'] as const).map((type) => fresh(body, type));
  scope.visible.push(...elements, shifted);
  return [
    { kind: 'let', local: shifted, operation: { name: 'sub', operands: [index, back] } },
    ...elements.map((local, i): Statement => {
      return { kind: 'read', local, array: 'abc'[i]!, index: body.draw(2) === 0 ? index : shifted };
    }),
  ];
}

function operandOf(body: Body, scope: Scope, type: ScalarType): Operand {
  const candidates = scope.visible.filter((operand) => operand.type === type);
  if (candidates.length > 0 && body.draw(5) > 0) return pick(body.draw, candidates);
  if (type === 'u32' && body.draw(3) === 0) return { kind: 'uniform', type, name: 'k' };
  const value =
    type === 'bool'
      ? body.draw(2) === 0
      : type === 'f32'
        ? body.draw(9) - 4.5
        : body.draw(9) - (type === 'i32' ? 4 : 0);
  return { kind: 'literal', type, value };
}

function block(body: Body, outer: Scope, depth: number, inLoop: boolean): Statement[] {
  const scope: Scope = { visible: [...outer.visible], variables: [...outer.variables], arrays: [...outer.arrays] };
  const statements: Statement[] = [];
  const count = 1 + body.draw(6);
  for (let i = 0; i < count && body.budget > 0; i++) {
    body.budget--;
    const made = statement(body, scope, depth, inLoop);
    statements.push(...made);
    const last = made.at(-1)?.kind;
    if (last === 'break' || last === 'continue' || last === 'return') break;
  }
  return statements;
}

function statement(body: Body, scope: Scope, depth: number, inLoop: boolean): Statement[] {
  const { draw } = body;
  // Straight-line code has no arrays: those with constant indices were replaced by variables.
  if (body.loops !== 'none' && draw(5) === 0) return localArray(body, scope);
  const kind = draw(12);
  if (kind < 4) return operation(body, scope);
  if (kind === 4) {
    const local = fresh(body, pick(draw, types));
    const value = operandOf(body, scope, local.type);
    scope.visible.push(local);
    scope.variables.push(local);
    return [{ kind: 'var', local, value }];
  }
  if (kind <= 6 && scope.variables.length > 0) {
    const local = pick(draw, scope.variables);
    return [{ kind: 'set', local, value: operandOf(body, scope, local.type) }];
  }
  if (kind <= 8 && depth > 0) {
    const condition = operandOf(body, scope, 'bool');
    // Some indices may take this branch while others do not. So the branch must not contain jumps out of an `even`
    // loop.
    const jumps = inLoop && body.loops !== 'even';
    const consequent = block(body, scope, depth - 1, jumps);
    const alternative = draw(2) === 0 ? [] : block(body, scope, depth - 1, jumps);
    return [{ kind: 'if', condition, consequent, alternative }];
  }
  if (kind === 9 && depth > 0 && body.loops !== 'none') return loop(body, scope, depth);
  if (kind === 10 && body.loops === 'even') return inLoop ? evenJump(body) : [];
  if (kind === 10 && depth < 3) {
    if (inLoop && draw(3) > 0) return [{ kind: draw(2) === 0 ? 'break' : 'continue' }];
    return draw(2) === 0 ? [giveBack(body, scope)] : [];
  }
  if (kind === 11 && body.functions.length > 0) {
    const callee = pick(draw, body.functions);
    const args = callee.parameters.map(({ type }) => operandOf(body, scope, type));
    const results = callee.results.map((type) => fresh(body, type));
    scope.visible.push(...results);
    return [{ kind: 'call', callee: callee.name, args, results }];
  }
  return operation(body, scope);
}

/** Draws a local array, or a read or write of one, at an index that is known, in range or any. */
function localArray(body: Body, scope: Scope): Statement[] {
  const { draw } = body;
  if (scope.arrays.length === 0 || draw(6) === 0) {
    const { type, id } = fresh(body, pick(draw, types));
    const array: LocalArray = { kind: 'localArray', type, id, length: pick(draw, [1, 3, 4, 20]) };
    scope.arrays.push(array);
    return [{ kind: 'localArray', localArray: array, value: operandOf(body, scope, type) }];
  }
  const array = pick(draw, scope.arrays);
  const [low, local] = [fresh(body, 'u32'), fresh(body, array.type)];
  const any = operandOf(body, scope, 'u32');
  const mask: Operand = { kind: 'literal', type: 'u32', value: 3 };
  const masked: Statement = { kind: 'let', local: low, operation: { name: 'and', operands: [any, mask] } };
  const index = draw(3) === 0 ? any : low;
  if (draw(2) === 0) {
    const value = operandOf(body, scope, array.type);
    return [masked, { kind: 'writeLocal', localArray: array, index, value }];
  }
  scope.visible.push(local);
  return [masked, { kind: 'readLocal', local, localArray: array, index }];
}

function operation(body: Body, scope: Scope): Statement[] {
  const from = pick(body.draw, types);
  const to = pick(body.draw, types);
  const name = pick(body.draw, body.loops === 'any' ? [...names, 'rem' as const] : names);
  const shapes: ScalarType[][] = [[from], [from, from], [from, 'u32'], [from, from, 'bool']];
  const fitting = shapes.filter((operands) => typeOf(name, operands, to) !== undefined);
  const operands = fitting[0];
  // Front ends omit conversions of a type to itself.
  if (name === 'convert' && from === to) return [];
  // A functor that must vectorise divides only f32, because vector units cannot divide integers.
  if (operands === undefined || (name === 'div' && from !== 'f32' && body.loops !== 'any')) return [];
  const local = fresh(body, typeOf(name, operands, to)!);
  const values = operands.map((type) => operandOf(body, scope, type));
  scope.visible.push(local);
  return [{ kind: 'let', local, operation: { name, operands: values } }];
}

/** Draws the loop `for (n = 0; n < rounds; n++)`. The body of the loop may contain jumps. */
function loop(body: Body, scope: Scope, depth: number): Statement[] {
  const counter = fresh(body, 'u32');
  const more = fresh(body, 'bool');
  const next = fresh(body, 'u32');
  const rounds: Operand = { kind: 'literal', type: 'u32', value: body.draw(4) };
  const inner: Scope = { ...scope, visible: [...scope.visible, counter] };
  return [
    { kind: 'var', local: counter, value: { kind: 'literal', type: 'u32', value: 0 } },
    {
      kind: 'loop',
      body: [
        { kind: 'let', local: more, operation: { name: 'lt', operands: [counter, rounds] } },
        { kind: 'if', condition: more, consequent: [], alternative: [{ kind: 'break' }] },
        ...block(body, inner, depth - 1, true),
      ],
      step: [
        {
          kind: 'let',
          local: next,
          operation: { name: 'add', operands: [counter, { kind: 'literal', type: 'u32', value: 1 }] },
        },
        { kind: 'set', local: counter, value: next },
      ],
    },
  ];
}

/** Draws a jump that is taken either by all indices or by none. */
function evenJump(body: Body): Statement[] {
  const condition = fresh(body, 'bool');
  const k: Operand = { kind: 'uniform', type: 'u32', name: 'k' };
  const bound: Operand = { kind: 'literal', type: 'u32', value: body.draw(40) };
  return [
    { kind: 'let', local: condition, operation: { name: 'lt', operands: [k, bound] } },
    { kind: 'if', condition, consequent: [{ kind: body.draw(2) === 0 ? 'break' : 'continue' }], alternative: [] },
  ];
}

function giveBack(body: Body, scope: Scope): Statement {
  return { kind: 'return', values: body.results.map((type) => operandOf(body, scope, type)) };
}
