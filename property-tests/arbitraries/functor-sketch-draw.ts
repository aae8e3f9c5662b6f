import { factsOf, type OperationName, operationNames, type ScalarType } from '../../primitives/ir/operations.ts';
import { toF32 } from '../../primitives/ir/semantics.ts';
import type {
  Named,
  Sketch,
  SketchExpression,
  SketchFunction,
  SketchOptions,
  SketchStatement,
} from './functor-sketch.ts';
import { drawOfVector, drawVectorStatement, type VectorName } from './functor-sketch-vectors.ts';

/** Draws a number from 0 to bound − 1. At the end of the tape (the recorded random numbers), the draw is always 0. */
export type Draw = (bound: number) => number;

export function drawFrom(tape: ArrayLike<number>): Draw {
  let at = 0;
  return (bound) => (at < tape.length ? tape[at++]! % bound : 0);
}

/** One way to compute a value: an operation and its operand types. */
interface Production {
  readonly name: OperationName;
  readonly operands: readonly ScalarType[];
}

/** The operations with a given signature that accept a type. */
function operationsOn(type: ScalarType, signature: string): OperationName[] {
  return operationNames.filter((name) => factsOf(name).signature === signature && factsOf(name).on.includes(type));
}

/**
 * Integer operations that are left out without `integerDivision`: with random operands, divisors are often zero, and
 * results vary little.
 */
const divisions: readonly OperationName[] = ['div', 'rem'];

function productionsOf(type: ScalarType, options: SketchOptions): Production[] {
  const { integerDivision } = options;
  const floats = options.floats !== 'none';
  const of = (names: readonly OperationName[], ...operands: ScalarType[]): Production[] =>
    names.map((name) => ({ name, operands }));
  const numeric: readonly ScalarType[] = floats ? ['u32', 'i32', 'f32'] : ['u32', 'i32'];
  const selection = of(['select'], type, type, 'bool');
  if (type === 'bool') {
    return [
      ...numeric.flatMap((operand) => of(operationsOn(operand, 'comparison'), operand, operand)),
      ...of([...operationsOn('bool', 'binary'), ...operationsOn('bool', 'comparison')], 'bool', 'bool'),
      ...of(operationsOn('bool', 'unary'), 'bool'),
      ...numeric.flatMap((operand) => of(['convert'], operand)),
      ...selection,
    ];
  }
  if (type === 'f32') {
    const arithmetic = of([...operationsOn('f32', 'binary'), 'add', 'sub', 'mul', 'div'], 'f32', 'f32');
    const conversions = [...of(['convert'], 'u32'), ...of(['convert'], 'i32'), ...of(['convert'], 'bool')];
    // `bits` turns the bits of a u32 into an f32. With random bits, arithmetic rarely stays within range, so `bits` is
    // left out if `floats` is `mostly`.
    const bits = options.floats === 'some' ? of(['bits'], 'u32') : [];
    return [...arithmetic, ...of(operationsOn('f32', 'unary'), 'f32'), ...conversions, ...bits, ...selection];
  }
  const other = type === 'u32' ? 'i32' : 'u32';
  const from: readonly ScalarType[] = floats ? [other, 'f32', 'bool'] : [other, 'bool'];
  return [
    ...of(
      operationsOn(type, 'binary').filter((name) => integerDivision || !divisions.includes(name)),
      type,
      type,
    ),
    ...of(operationsOn(type, 'shift'), type, 'u32'),
    ...of(operationsOn(type, 'unary'), type),
    ...from.flatMap((operand) => of(['convert'], operand)),
    ...of(['bits'], other),
    ...of(floats ? ['bits'] : [], 'f32'),
    ...selection,
  ];
}

const literals: Record<ScalarType, readonly (number | boolean)[]> = {
  u32: [0, 1, 2, 0xffffffff, 3, 5, 31, 32, 255, 65535, 0x7fffffff, 0x80000000, 0xfffffffe],
  i32: [0, 1, -1, 2, -2, 7, 31, 32767, -65536, 2147483647, -2147483648],
  f32: [0, 1, -0, -1, 0.5, 2, 1.5, -3.25, 16777216, 1e10, 0.1, 1e-10, -1e20, Infinity].map(toF32),
  bool: [true, false],
};

/** The functions and variables that are in scope at a statement or an expression. */
interface Surroundings {
  readonly sketch: { readonly functions: SketchFunction[]; readonly arrays: Named[]; readonly uniforms: Named[] };
  readonly options: SketchOptions;
  readonly draw: Draw;
  readonly types: readonly ScalarType[];
  readonly names: readonly Named[];
  readonly variables: readonly Named[];
  readonly localArrays: readonly LocalArray[];
  readonly vectors: readonly VectorName[];
  readonly results: readonly ScalarType[];
  readonly inLoop: boolean;
  readonly fresh: () => string;
}

interface LocalArray extends Named {
  readonly length: number;
}

const typesOf: Record<SketchOptions['floats'], readonly ScalarType[]> = {
  none: ['u32', 'i32', 'bool'],
  some: ['u32', 'i32', 'f32', 'bool'],
  mostly: ['f32', 'f32', 'f32', 'f32', 'u32', 'i32', 'bool'],
};

/** Draws a well-typed program, in which every loop ends after a few iterations. */
export function drawSketch(draw: Draw, options: SketchOptions): Sketch {
  const types = typesOf[options.floats];
  const captures = options.boolCaptures ? types : types.filter((type) => type !== 'bool');
  const some = (prefix: string, pool: readonly ScalarType[], max: number): Named[] =>
    Array.from({ length: draw(max + 1) }, (_, i) => ({ name: `${prefix}${i}`, type: pool[draw(pool.length)]! }));
  const sketch = {
    functions: [] as SketchFunction[],
    arrays: options.reads ? some('xs', captures, 2) : [],
    uniforms: some('n', captures, 2),
  };
  const helpers = draw(3);
  for (let i = 0; i <= helpers; i++) {
    let names = 0;
    const isEntry = i === helpers;
    const numeric = [...new Set(types)].filter((type) => type !== 'bool');
    const required = isEntry ? numeric : [types[draw(types.length)]!];
    const parameters = [...required.map((type, at) => ({ name: `q${at}`, type })), ...some('p', types, 3)];
    const ofVectors: readonly ScalarType[] = options.vectors ? ['f32', 'f32', 'f32', 'f32'] : [];
    const results: ScalarType[] = ['u32', ...ofVectors, ...some('r', types, 3).map(({ type }) => type)];
    const fresh = (): string => `v${names++}`;
    const surroundings = {
      sketch,
      options,
      draw,
      types,
      names: parameters,
      variables: [],
      localArrays: [],
      vectors: [],
      results,
      inLoop: false,
      fresh,
    };
    const body = drawBlock(surroundings, isEntry ? 3 : 1, true);
    sketch.functions.push({ name: isEntry ? 'entry' : `helper${i}`, parameters, results, body });
  }
  return sketch;
}

function drawBlock(outer: Surroundings, depth: number, returns: boolean): SketchStatement[] {
  let at = outer;
  const statements: SketchStatement[] = [];
  for (let left = depth === 3 ? 3 + outer.draw(9) : 1 + outer.draw(3); left > 0; left--) {
    const drawn = drawStatement(at, depth);
    statements.push(...drawn.statements);
    at = drawn.after;
  }
  if (returns) statements.push({ kind: 'return', values: drawResults(at, 3) });
  return statements;
}

/**
 * Draws the results of a function. The first is a u32 that depends on every visible variable, except those of type f32.
 * Where there are vectors, all f32 are computed of them.
 */
function drawResults(at: Surroundings, depth: number): SketchExpression[] {
  const [first, ...rest] = at.results.map((type) => {
    return at.options.vectors && type === 'f32' ? drawOfVector(at, drawExpression, 1) : drawExpression(at, type, depth);
  });
  const trace = at.names.reduce<SketchExpression>((all, { name, type }) => {
    if (type === 'f32') return all;
    const seen: SketchExpression = { kind: 'name', type, name };
    const word = type === 'u32' ? seen : operation('u32', 'convert', seen);
    return operation('u32', 'add', operation('u32', 'mul', all, small(31)), word);
  }, first!);
  return [trace, ...rest];
}

interface Drawn {
  readonly statements: readonly SketchStatement[];
  readonly after: Surroundings;
}

function drawStatement(at: Surroundings, depth: number): Drawn {
  const { draw, options, inLoop } = at;
  const only = (statement: SketchStatement): Drawn => ({ statements: [statement], after: at });
  if (options.vectors && draw(4) === 0) {
    const { statement, vectors } = drawVectorStatement(at, drawExpression);
    return { statements: [statement], after: { ...at, vectors } };
  }
  const isOfArray = options.localArrays && draw(5) === 0;
  if (isOfArray) return at.localArrays.length > 0 && draw(3) > 0 ? only(drawWrite(at)) : drawLocalArray(at);
  switch (draw(depth > 0 ? 10 : 4)) {
    case 0:
      return drawDeclaration(at, 'let');
    case 1:
      return drawDeclaration(at, 'var');
    case 2:
    case 3:
      return drawAssignment(at);
    case 4:
    case 5:
      return only(drawIf(at, depth));
    case 6:
      return options.loops ? only(drawFor(at, depth)) : drawAssignment(at);
    case 7:
      return options.loops ? drawWhile(at, depth) : drawDeclaration(at, 'var');
    case 8:
      return only(drawGuarded(at, { kind: 'return', values: drawResults(at, 2) }));
    default:
      return inLoop ? only(drawGuarded(at, { kind: draw(2) === 0 ? 'break' : 'continue' })) : drawAssignment(at);
  }
}

function drawDeclaration(at: Surroundings, kind: 'let' | 'var'): Drawn {
  const type = at.types[at.draw(at.types.length)]!;
  const value = at.draw(3) === 0 ? drawLeaf(at, type) : drawExpression(at, type, 3);
  const named = { name: at.fresh(), type };
  const variables = kind === 'var' ? [...at.variables, named] : at.variables;
  return { statements: [{ kind, name: named.name, value }], after: { ...at, names: [...at.names, named], variables } };
}

/** Mostly short arrays, so that an element that was written is often read. */
const LENGTHS: readonly number[] = [1, 2, 3, 4, 4, 5, 8, 17];

function drawLocalArray(at: Surroundings): Drawn {
  const type = at.types[at.draw(at.types.length)]!;
  const value = drawExpression(at, type, 2);
  const array = { name: at.fresh(), type, length: LENGTHS[at.draw(LENGTHS.length)]! };
  const statement: SketchStatement = { kind: 'array', ...array, value };
  return { statements: [statement], after: { ...at, localArrays: [...at.localArrays, array] } };
}

function drawWrite(at: Surroundings): SketchStatement {
  const array = at.localArrays[at.draw(at.localArrays.length)]!;
  const index = drawLocalIndex(at, array, 2);
  return { kind: 'write', array: array.name, index, value: drawExpression(at, array.type, 2) };
}

/** Draws the index of an element of a local array: a constant, an index in its range, or any. */
function drawLocalIndex(at: Surroundings, { length }: LocalArray, depth: number): SketchExpression {
  const choice = at.draw(6);
  if (choice < 2) return small(at.draw(length));
  const index = drawExpression(at, 'u32', depth);
  return choice === 2 ? index : operation('u32', 'and', index, small(choice === 3 ? 7 : 3));
}

function drawAssignment(at: Surroundings): Drawn {
  const target = at.variables[at.draw(Math.max(1, at.variables.length))];
  if (target === undefined) return drawDeclaration(at, 'var');
  return { statements: [{ kind: 'set', name: target.name, value: drawExpression(at, target.type, 3) }], after: at };
}

/** Draws a branch. Often its condition is a variable, which the branches may set: what they run is decided before. */
function drawIf(at: Surroundings, depth: number): SketchStatement {
  const flags = at.variables.filter(({ type }) => type === 'bool');
  const flag = at.draw(2) === 0 ? flags[at.draw(Math.max(1, flags.length))] : undefined;
  const condition: SketchExpression = flag ? { kind: 'name', ...flag } : drawExpression(at, 'bool', 2);
  const branch = (): SketchStatement[] => {
    const block = drawBlock(at, depth - 1, false);
    if (flag === undefined || at.draw(2) === 0) return block;
    return [{ kind: 'set', name: flag.name, value: drawExpression(at, 'bool', 2) }, ...block];
  };
  return { kind: 'if', condition, consequent: branch(), alternative: at.draw(2) === 0 ? [] : branch() };
}

function drawGuarded(at: Surroundings, statement: SketchStatement): SketchStatement {
  return { kind: 'if', condition: drawExpression(at, 'bool', 2), consequent: [statement], alternative: [] };
}

const small = (value: number): SketchExpression => ({ kind: 'literal', type: 'u32', value });
const operation = (type: ScalarType, name: OperationName, ...operands: SketchExpression[]): SketchExpression => ({
  kind: 'operation',
  type,
  name,
  operands,
});

function drawFor(at: Surroundings, depth: number): SketchStatement {
  const to = at.draw(2) === 0 ? small(at.draw(5)) : operation('u32', 'and', drawExpression(at, 'u32', 2), small(3));
  const index: Named = { name: at.fresh(), type: 'u32' };
  const inside = { ...at, names: [...at.names, index], inLoop: true };
  return { kind: 'for', name: index.name, from: small(at.draw(2)), to, body: drawBlock(inside, depth - 1, false) };
}

/** Draws a loop with a condition. A countdown variable, which no other statement assigns, ends the loop. */
function drawWhile(at: Surroundings, depth: number): Drawn {
  const fuel: Named = { name: at.fresh(), type: 'u32' };
  const left: SketchExpression = { kind: 'name', ...fuel };
  const inside = { ...at, names: [...at.names, fuel], inLoop: true };
  const condition = operation(
    'bool',
    'and',
    operation('bool', 'gt', left, small(0)),
    drawExpression(inside, 'bool', 2),
  );
  const burn: SketchStatement = { kind: 'set', name: fuel.name, value: operation('u32', 'sub', left, small(1)) };
  const body = [burn, ...drawBlock(inside, depth - 1, false)];
  const start: SketchStatement = { kind: 'var', name: fuel.name, value: small(1 + at.draw(4)) };
  return { statements: [start, { kind: 'while', condition, body }], after: { ...at, names: inside.names } };
}

function drawExpression(at: Surroundings, type: ScalarType, depth: number): SketchExpression {
  const { draw, options, sketch } = at;
  if (options.vectors && type === 'f32' && depth > 0 && draw(3) === 0) return drawOfVector(at, drawExpression, depth);
  if (depth === 0 || draw(4) === 0) return drawLeaf(at, type);
  const arrays = sketch.arrays.filter((array) => array.type === type);
  if (arrays.length > 0 && draw(4) === 0) {
    return { kind: 'element', type, array: arrays[draw(arrays.length)]!.name, index: drawIndex(at, depth - 1) };
  }
  const locals = at.localArrays.filter((array) => array.type === type);
  if (locals.length > 0 && draw(2) === 0) {
    const array = locals[draw(locals.length)]!;
    return { kind: 'local', type, array: array.name, index: drawLocalIndex(at, array, depth - 1) };
  }
  const callees = sketch.functions.filter(({ results }) => results.includes(type));
  if (callees.length > 0 && draw(6) === 0) {
    const { name, parameters, results } = callees[draw(callees.length)]!;
    const args = parameters.map((parameter) => drawExpression(at, parameter.type, depth - 1));
    return { kind: 'call', type, callee: name, args, result: results.indexOf(type) };
  }
  const productions = productionsOf(type, options);
  const { name, operands } = productions[draw(productions.length)]!;
  const first = drawExpression(at, operands[0]!, depth - 1);
  const rest = operands.slice(1).map((operand) => drawOther(at, first, operand, depth - 1));
  return operation(type, name, first, ...rest);
}

/** Draws a second operand: a literal, the first operand again, or any expression. */
function drawOther(at: Surroundings, first: SketchExpression, type: ScalarType, depth: number): SketchExpression {
  const choice = at.draw(8);
  if (choice === 0 && first.type === type) return first;
  return choice > 5 ? drawLiteral(at.draw, type) : drawExpression(at, type, depth);
}

/** Draws an array index that is often within the bounds of a short array. */
function drawIndex(at: Surroundings, depth: number): SketchExpression {
  const index = drawExpression(at, 'u32', depth);
  return at.draw(3) === 0 ? index : operation('u32', 'and', index, small(7));
}

function drawLeaf({ draw, names, sketch }: Surroundings, type: ScalarType): SketchExpression {
  const visible = names.filter((named) => named.type === type);
  const uniforms = sketch.uniforms.filter((uniform) => uniform.type === type);
  const choice = draw(6);
  if (visible.length > 0 && choice < 4) {
    // The larger of two draws tends to select a recent variable, so a value that was just written is often read.
    const at = Math.max(draw(visible.length), draw(visible.length));
    return { kind: 'name', type, name: visible[at]!.name };
  }
  if (uniforms.length > 0 && choice < 5) return { kind: 'uniform', type, name: uniforms[draw(uniforms.length)]!.name };
  const [array] = sketch.arrays;
  if (type === 'u32' && array !== undefined && choice < 5) return { kind: 'length', type, array: array.name };
  return drawLiteral(draw, type);
}

/** Draws a literal, often one of the first in the list, to which algebraic identities apply. */
function drawLiteral(draw: Draw, type: ScalarType): SketchExpression {
  const pool = literals[type];
  return { kind: 'literal', type, value: pool[draw(2) === 0 ? draw(Math.min(4, pool.length)) : draw(pool.length)]! };
}
