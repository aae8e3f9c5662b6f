import type {
  IrFunction,
  Local,
  LocalArray,
  Module,
  Operand,
  OperationName,
  ScalarType,
  Statement,
} from '../../primitives/ir/ir.ts';
import {
  componentName,
  isVector,
  type Sketch,
  type SketchExpression,
  type SketchFunction,
  type SketchStatement,
  type SketchVector,
} from './functor-sketch.ts';

/**
 * Writes a sketch (a random program) as an IR module, operation by operation. Constants are not folded, and literals
 * are not moved.
 */
export function moduleOfSketch(sketch: Sketch): Module {
  return {
    functions: sketch.functions.map((fn) => writeFunction(sketch, fn)),
    arrays: new Map(sketch.arrays.map(({ name, type }) => [name, type])),
    uniforms: new Map(sketch.uniforms.map(({ name, type }) => [name, type])),
  };
}

interface Writer {
  readonly sketch: Sketch;
  readonly locals: Map<string, Local>;
  readonly localArrays: Map<string, LocalArray>;
  readonly makeLocal: (type: ScalarType) => Local;
  readonly out: Statement[];
}

function writeFunction(sketch: Sketch, { name, parameters, results, body }: SketchFunction): IrFunction {
  let next = 0;
  const makeLocal = (type: ScalarType): Local => ({ kind: 'local', type, id: next++ });
  const locals = new Map(parameters.map((parameter) => [parameter.name, makeLocal(parameter.type)]));
  const own = [...locals.values()];
  const out: Statement[] = [];
  writeStatements({ sketch, locals, localArrays: new Map(), makeLocal, out }, body);
  return { name, parameters: own, results, body: out, fast: false };
}

/** Writes a block of statements. Names that are declared in the block go out of scope at its end. */
function writeBlock(outer: Writer, statements: readonly SketchStatement[], prologue: Statement[] = []): Statement[] {
  const scope = { locals: new Map(outer.locals), localArrays: new Map(outer.localArrays) };
  const writer = { ...outer, ...scope, out: prologue };
  writeStatements(writer, statements);
  return writer.out;
}

function writeStatements(writer: Writer, statements: readonly SketchStatement[]): void {
  for (const statement of statements) writeStatement(writer, statement);
}

function writeStatement(writer: Writer, statement: SketchStatement): void {
  const { locals, out } = writer;
  switch (statement.kind) {
    case 'let':
    case 'var': {
      const local = declare(writer, write(writer, statement.value));
      locals.set(statement.name, local);
      break;
    }
    case 'set':
      out.push({ kind: 'set', local: locals.get(statement.name)!, value: write(writer, statement.value) });
      break;
    case 'letVector':
    case 'varVector':
      for (const [at, value] of writeVector(writer, statement.value).entries()) {
        locals.set(componentName(statement.name, at), declare(writer, value));
      }
      break;
    case 'setVector': {
      // Copies first, because the value may read what is set.
      const values = writeVector(writer, statement.value).map((value) => declare(writer, value));
      for (const [at, value] of values.entries()) {
        out.push({ kind: 'set', local: locals.get(componentName(statement.name, at))!, value });
      }
      break;
    }
    case 'setComponent': {
      const local = locals.get(componentName(statement.name, statement.at))!;
      out.push({ kind: 'set', local, value: write(writer, statement.value) });
      break;
    }
    case 'array': {
      const { name, type, length } = statement;
      const value = write(writer, statement.value);
      const localArray: LocalArray = { kind: 'localArray', type, id: writer.makeLocal(type).id, length };
      writer.localArrays.set(name, localArray);
      out.push({ kind: 'localArray', localArray, value });
      break;
    }
    case 'write': {
      const localArray = writer.localArrays.get(statement.array)!;
      const index = write(writer, statement.index);
      out.push({ kind: 'writeLocal', localArray, index, value: write(writer, statement.value) });
      break;
    }
    case 'if':
      out.push({
        kind: 'if',
        condition: write(writer, statement.condition),
        consequent: writeBlock(writer, statement.consequent),
        alternative: writeBlock(writer, statement.alternative),
      });
      break;
    case 'for':
      writeFor(writer, statement);
      break;
    case 'while': {
      const head: Writer = { ...writer, out: [] };
      breakUnless(head, write(head, statement.condition));
      out.push({ kind: 'loop', body: writeBlock(writer, statement.body, head.out), step: [] });
      break;
    }
    case 'return':
      out.push({ kind: 'return', values: statement.values.map((value) => write(writer, value)) });
      break;
    default:
      out.push({ kind: statement.kind });
  }
}

function writeFor(writer: Writer, statement: SketchStatement & { readonly kind: 'for' }): void {
  const end = write(writer, statement.to);
  const fixed = end.kind === 'local' ? declare(writer, end) : end;
  const index = declare(writer, write(writer, statement.from));
  const head: Writer = { ...writer, out: [] };
  breakUnless(head, apply(head, 'bool', 'lt', [index, fixed]));
  const inside: Writer = { ...writer, locals: new Map([...writer.locals, [statement.name, index]]) };
  const body = writeBlock(inside, statement.body, head.out);
  const step: Writer = { ...writer, out: [] };
  const next = apply(step, 'u32', 'add', [index, { kind: 'literal', type: 'u32', value: 1 }]);
  step.out.push({ kind: 'set', local: index, value: next });
  writer.out.push({ kind: 'loop', body, step: step.out });
}

function breakUnless({ out }: Writer, condition: Operand): void {
  out.push({ kind: 'if', condition, consequent: [], alternative: [{ kind: 'break' }] });
}

function declare({ makeLocal, out }: Writer, value: Operand): Local {
  const local = makeLocal(value.type);
  out.push({ kind: 'var', local, value });
  return local;
}

function apply({ makeLocal, out }: Writer, type: ScalarType, name: OperationName, operands: readonly Operand[]): Local {
  const local = makeLocal(type);
  out.push({ kind: 'let', local, operation: { name, operands } });
  return local;
}

function write(writer: Writer, expression: SketchExpression): Operand {
  const { locals, makeLocal, out, sketch } = writer;
  switch (expression.kind) {
    case 'literal':
      return { kind: 'literal', type: expression.type, value: expression.value };
    case 'name':
      return locals.get(expression.name)!;
    case 'uniform':
      return { kind: 'uniform', type: expression.type, name: expression.name };
    case 'length': {
      const local = makeLocal('u32');
      out.push({ kind: 'length', local, array: expression.array });
      return local;
    }
    case 'element': {
      const index = write(writer, expression.index);
      const local = makeLocal(expression.type);
      out.push({ kind: 'read', local, array: expression.array, index });
      return local;
    }
    case 'local': {
      const index = write(writer, expression.index);
      const local = makeLocal(expression.type);
      out.push({ kind: 'readLocal', local, localArray: writer.localArrays.get(expression.array)!, index });
      return local;
    }
    case 'operation': {
      const operands = expression.operands.map((operand) => write(writer, operand));
      return apply(writer, expression.type, expression.name, operands);
    }
    case 'component':
      return writeVector(writer, expression.vector)[expression.at]!;
    case 'dot': {
      const [a, b] = expression.operands.map((vector) => writeVector(writer, vector)) as [Operand[], Operand[]];
      const products = a.map((x, at) => apply(writer, 'f32', 'mul', [x, b[at]!]));
      return products.reduce((sum, product) => apply(writer, 'f32', 'add', [sum, product]));
    }
    case 'call': {
      const args = expression.args.map((arg) => write(writer, arg));
      const callee = sketch.functions.find(({ name }) => name === expression.callee)!;
      const results = callee.results.map(makeLocal);
      out.push({ kind: 'call', callee: expression.callee, args, results });
      return results[expression.result]!;
    }
  }
}

/** Writes the components of a vector. */
function writeVector(writer: Writer, vector: SketchVector): Operand[] {
  switch (vector.kind) {
    case 'vector':
      return Array.from({ length: vector.size }, (_, at) => writer.locals.get(componentName(vector.name, at))!);
    case 'construct': {
      const parts = vector.parts.flatMap((part) => writePart(writer, part));
      return parts.length === 1 ? Array<Operand>(vector.size).fill(parts[0]!) : parts;
    }
    case 'swizzle': {
      const whole = writeVector(writer, vector.vector);
      return vector.at.map((at) => whole[at]!);
    }
    case 'byComponent': {
      const operands = vector.operands.map((operand) => writePart(writer, operand));
      const of = (at: number): Operand[] => operands.map((parts) => parts[at] ?? parts[0]!);
      return Array.from({ length: vector.size }, (_, at) => apply(writer, 'f32', vector.name, of(at)));
    }
  }
}

function writePart(writer: Writer, part: SketchExpression | SketchVector): Operand[] {
  return isVector(part) ? writeVector(writer, part) : [write(writer, part)];
}
