import {
  declarationOf,
  factsOf,
  type OperationName,
  operationNames,
  type ScalarType,
  wgslOf,
} from '../../primitives/ir/operations.ts';
import {
  isVector,
  type Sketch,
  type SketchExpression,
  type SketchFunction,
  type SketchStatement,
  type SketchVector,
} from './functor-sketch.ts';

/** The functions that a text declares, because WGSL lacks an operation. */
const declared: readonly string[] = operationNames
  .filter((name) => wgslOf(name) === 'declared')
  .flatMap((name) => factsOf(name).on.map((type) => declarationOf(name, type, `${name}_${type}`)));

/**
 * Writes a sketch (a random program) as WGSL text. The last function is the entry and returns a struct with the fields
 * r0, r1 ….
 */
export function textOfSketch(sketch: Sketch): string {
  const captures = [
    ...sketch.arrays.map(({ name, type }) => `var<storage> ${name}: array<${type}>;`),
    ...sketch.uniforms.map(({ name, type }) => `var<uniform> ${name}: ${type};`),
  ];
  return [
    ...captures.map((capture, at) => `@group(0) @binding(${at}) ${capture}`),
    ...declared,
    ...sketch.functions.map(writeFunction),
  ].join('\n');
}

/**
 * The text of a sketch with variables in place of its literals. So nothing is known at compile time, where WGSL refuses
 * overflows and divisions by zero, which functors define.
 */
export function withoutConstants(text: string): string {
  const numbers = /bitcast<(f)32>\(0x7f800000u\)|(i)32\(-2147483648\)|\(-?\d[\d.e+-]*([uif])\)/g;
  const variables = ['u', 'i', 'f'].map((letter) => `var<private> any_${letter}: ${letter}32;`);
  const hidden = text.replaceAll(numbers, (_, f = '', i = '', suffix = '') => `any_${f}${i}${suffix}`);
  return [...variables, 'var<private> any_b: bool;', hidden.replaceAll(/\b(?:true|false)\b/g, 'any_b')].join('\n');
}

const resultName = (name: string): string => `Result_${name}`;

function writeFunction({ name, parameters, results, body }: SketchFunction): string {
  const fields = results.map((type, i) => `r${i}: ${type}`).join(', ');
  const list = parameters.map((parameter) => `${parameter.name}: ${parameter.type}`).join(', ');
  const result = resultName(name);
  return `struct ${result} { ${fields} }\nfn ${name}(${list}) -> ${result} ${writeBlock(result, body)}`;
}

function writeBlock(result: string, statements: readonly SketchStatement[]): string {
  return `{\n${statements.map((statement) => writeStatement(result, statement)).join('\n')}\n}`;
}

function writeStatement(result: string, statement: SketchStatement): string {
  switch (statement.kind) {
    case 'let':
    case 'var':
      return `${statement.kind} ${statement.name} = ${write(statement.value)};`;
    case 'set':
      return writeAssignment(statement.name, statement.value);
    case 'letVector':
    case 'varVector':
      return `${statement.kind.slice(0, 3)} ${statement.name} = ${writeVector(statement.value)};`;
    case 'setVector':
      return writeVectorAssignment(statement.name, statement.value);
    case 'setComponent':
      return `${statement.name}.${letters([statement.at])} = ${write(statement.value)};`;
    case 'array':
      return writeArray(statement);
    case 'write':
      return `${statement.array}[${writeLocalIndex(statement.index)}] = ${write(statement.value)};`;
    case 'if': {
      const otherwise = statement.alternative.length === 0 ? '' : ` else ${writeBlock(result, statement.alternative)}`;
      return `if ${write(statement.condition)} ${writeBlock(result, statement.consequent)}${otherwise}`;
    }
    case 'for':
      return writeFor(result, statement);
    case 'while':
      return `while (${write(statement.condition)}) ${writeBlock(result, statement.body)}`;
    case 'return':
      return `return ${result}(${statement.values.map(write).join(', ')});`;
    default:
      return `${statement.kind};`;
  }
}

/** Writes the declaration of an array. Arrays that begin with zeros have no value. */
function writeArray({ name, type, length, value }: SketchStatement & { readonly kind: 'array' }): string {
  if (value.kind === 'literal' && (Object.is(value.value, 0) || value.value === false)) {
    return `var ${name}: array<${type}, ${length}>;`;
  }
  const first = `let ${name}_first = ${write(value)};`;
  return `${first}\nvar ${name} = array<${type}, ${length}>(${Array(length).fill(`${name}_first`).join(', ')});`;
}

const compound: Partial<Record<OperationName, string>> = { add: '+', sub: '-', mul: '*', div: '/', and: '&', or: '|' };

/**
 * Writes an assignment. If its value has the form `v + e`, writes `v += e`, so that tests cover both kinds of
 * assignment.
 */
function writeAssignment(name: string, value: SketchExpression): string {
  if (value.kind === 'operation') {
    const [first, second] = value.operands;
    const operator = compound[value.name];
    if (operator !== undefined && first?.kind === 'name' && first.name === name)
      return `${name} ${operator}= ${write(second!)};`;
  }
  return `${name} = ${write(value)};`;
}

/** Writes a counting loop, alternately as a `for` and as a `loop` with `continuing`. */
function writeFor(result: string, { name, from, to, body }: SketchStatement & { readonly kind: 'for' }): string {
  const end = `${name}_end`;
  const head = `let ${end} = ${write(to)};`;
  if (Number(name.slice(1)) % 2 === 0) {
    return `${head}\nfor (var ${name} = ${write(from)}; ${name} < ${end}; ${name}++) ${writeBlock(result, body)}`;
  }
  const rounds = `if ${name} >= ${end} { break; }\n${writeBlock(result, body)}`;
  return `${head}\n{ var ${name} = ${write(from)};\nloop { ${rounds}\ncontinuing { ${name} = ${name} + 1; } } }`;
}

const logical: Partial<Record<OperationName, string>> = { and: '&&', or: '||', xor: '!=' };

function write(expression: SketchExpression): string {
  switch (expression.kind) {
    case 'literal':
      return writeLiteral(expression.type, expression.value);
    case 'name':
    case 'uniform':
      return expression.name;
    case 'length':
      return `arrayLength(&${expression.array})`;
    case 'local':
      return `${expression.array}[${writeLocalIndex(expression.index)}]`;
    case 'element':
      return `${expression.array}[${write(expression.index)}]`;
    case 'operation':
      return writeOperation(expression.name, expression.type, expression.operands);
    case 'component':
      return `${writeVector(expression.vector)}.${letters([expression.at])}`;
    case 'dot':
      return `dot(${expression.operands.map(writeVector).join(', ')})`;
    case 'call':
      return `${expression.callee}(${expression.args.map(write).join(', ')}).r${expression.result}`;
  }
}

/** Writes an index of a local array. A number that the array does not have is an error, unless it is computed. */
function writeLocalIndex(index: SketchExpression): string {
  return index.kind === 'literal' ? `u32(${write(index)})` : write(index);
}

function writeLiteral(type: ScalarType, value: number | boolean): string {
  if (type === 'bool') return String(value);
  if (value === Infinity) return 'bitcast<f32>(0x7f800000u)';
  if (type === 'f32') return Object.is(value, -0) ? '(-0f)' : `(${value}f)`;
  return value === -2147483648 ? 'i32(-2147483648)' : `(${value}${type === 'u32' ? 'u' : 'i'})`;
}

function writeOperation(name: OperationName, type: ScalarType, operands: readonly SketchExpression[]): string {
  const args = operands.map(write);
  const from = operands[0]!.type;
  if (name === 'convert') return `${type}(${args[0]})`;
  if (name === 'bits') return `bitcast<${type}>(${args[0]})`;
  if (name === 'not') return `(${from === 'bool' ? '!' : '~'}${args[0]})`;
  if (name === 'neg') return from === 'u32' ? `(0u - ${args[0]})` : `(-${args[0]})`;
  if (wgslOf(name) === 'declared') return `${name}_${from}(${args.join(', ')})`;
  const wgsl = (from === 'bool' ? logical[name] : undefined) ?? factsOf(name).wgsl;
  return wgslOf(name) === 'function' ? `${wgsl}(${args.join(', ')})` : `(${args[0]} ${wgsl} ${args[1]})`;
}

/** The letters of components, of either of both sets. */
function letters(at: readonly number[]): string {
  const set = at[0]! % 2 === at.length % 2 ? 'rgba' : 'xyzw';
  return at.map((component) => set[component]).join('');
}

function writeVectorAssignment(name: string, value: SketchVector): string {
  const [first, second] = value.kind === 'byComponent' ? value.operands : [];
  const operator = value.kind === 'byComponent' ? compound[value.name] : undefined;
  const isChange = operator !== undefined && first?.kind === 'vector' && first.name === name;
  return isChange ? `${name} ${operator}= ${writePart(second!)};` : `${name} = ${writeVector(value)};`;
}

const writePart = (part: SketchExpression | SketchVector): string => (isVector(part) ? writeVector(part) : write(part));

function writeVector(vector: SketchVector): string {
  switch (vector.kind) {
    case 'vector':
      return vector.name;
    case 'construct': {
      const type = vector.size % 2 === 0 ? `vec${vector.size}f` : `vec${vector.size}<f32>`;
      return `${type}(${vector.parts.map(writePart).join(', ')})`;
    }
    case 'swizzle':
      return `${writeVector(vector.vector)}.${letters(vector.at)}`;
    case 'byComponent': {
      const args = vector.operands.map(writePart);
      if (vector.name === 'neg') return `(-${args[0]})`;
      const { wgsl } = factsOf(vector.name);
      return wgslOf(vector.name) === 'function' ? `${wgsl}(${args.join(', ')})` : `(${args[0]} ${wgsl} ${args[1]})`;
    }
  }
}
