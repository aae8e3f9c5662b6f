import type { Local, Operand, Statement } from '../../ir/ir.ts';
import { MAX_LENGTH } from '../local-arrays.ts';
import { append, block, declareArray, literal, use, writeLocal } from '../recorder.ts';
import { declare } from '../variables.ts';
import { evaluate, fieldIndex, memberOf, noArray, type Place, placeIn, readPlace, unresolved } from './expressions.ts';
import { fallsThrough } from './flow.ts';
import { coerce, coerceScalar, concrete } from './numbers.ts';
import { applyBinary } from './operators.ts';
import { type Context, childOf, lookUp } from './scope.ts';
import { errorAt, type Position } from './source.ts';
import type {
  ArrayDeclaration,
  Assignment,
  Block,
  Declaration,
  Expression,
  For,
  Loop,
  Member,
  TextIf,
  TextStatement,
} from './syntax.ts';
import {
  isAbstract,
  leafTypesOf,
  leavesOf,
  type Struct,
  type TextType,
  type TextValue,
  typeName,
  valueOfLeaves,
  zeroOf,
} from './values.ts';
import { componentIndices, isVector, isVectorType, typeOfComponents } from './vectors.ts';

/** Records statements in the scope of the context. Unreachable statements are checked but not recorded. */
export function writeStatements(context: Context, statements: Block): void {
  const end = statements.findIndex((statement) => !fallsThrough(statement)) + 1;
  const reached = end === 0 ? statements.length : end;
  for (const statement of statements.slice(0, reached)) writeStatement(context, statement);
  block(() => {
    for (const statement of statements.slice(reached)) writeStatement(context, statement);
  });
}

/** Records the statements of a block in a new scope. */
function writeBlock(context: Context, statements: Block): void {
  writeStatements({ ...context, scope: childOf(context.scope) }, statements);
}

function writeStatement(context: Context, statement: TextStatement): void {
  switch (statement.kind) {
    case 'declaration':
      writeDeclaration(context, statement);
      break;
    case 'arrayDeclaration':
      declareLocalArray(context, statement);
      break;
    case 'assignment':
      writeAssignment(context, statement);
      break;
    case 'block':
      writeBlock(context, statement.body);
      break;
    case 'if':
      writeIf(context, statement);
      break;
    case 'while':
      writeLoop(context, statement.condition, statement.body, undefined);
      break;
    case 'for':
      writeFor(context, statement);
      break;
    case 'loop':
      writeEndless(context, statement);
      break;
    case 'return':
      writeReturn(context, statement.position, statement.value);
      break;
    default:
      writeJump(context, statement.kind, statement.position);
  }
}

function writeDeclaration(context: Context, { keyword, name, type, value, position }: Declaration): void {
  const { scope, variables } = context;
  if (scope.names.has(name)) {
    throw errorAt(position, 'declaration', `${name} is declared twice in a block.`);
  }
  const declared = type === undefined ? undefined : context.program.typeOf(type);
  const given = value === undefined ? zeroOf(declared!) : evaluate(context, value);
  const at = value?.position ?? position;
  if (keyword === 'const') {
    scope.names.set(name, { kind: 'value', isConst: true, value: constantValue(at, name, given, declared) });
    return;
  }
  const typed = typedValue(at, name, given, declared);
  const bound = keyword === 'var' ? asVariable(typed, variables) : withoutVariables(typed, variables);
  scope.names.set(name, { kind: keyword === 'var' ? 'var' : 'value', value: bound });
}

function typedValue(
  position: Position,
  name: string,
  value: TextValue,
  type: TextType | undefined,
): Exclude<TextValue, { value: unknown }> {
  return type === undefined ? concrete(position, value) : coerce(position, value, type, name);
}

/**
 * The value of a `const`, which must be known at compile time. If no type is declared and the expression has no type
 * (only numbers without a suffix), the constant has no type either.
 */
export function constantValue(
  position: Position,
  name: string,
  given: TextValue,
  type: TextType | undefined,
): TextValue {
  const value = type === undefined ? given : coerce(position, given, type, name);
  if (isAbstract(value) || leavesOf(value).every(({ kind }) => kind === 'literal')) return value;
  throw errorAt(position, 'constant', `The constant ${name} has no value that can be computed at compile time.`, {
    remedy: 'Use let, in a function.',
  });
}

function asVariable(value: Exclude<TextValue, { value: unknown }>, variables: Set<Local>): TextValue {
  const leaves = leavesOf(value).map((operand) => {
    const local = declare(operand);
    variables.add(local);
    return local;
  });
  return withLeaves(value.type, leaves);
}

/**
 * Replaces the variables in a value by copies of their current values, so that assigning to the variables does not
 * change the value.
 */
function withoutVariables(value: Exclude<TextValue, { value: unknown }>, variables: ReadonlySet<Local>): TextValue {
  return withLeaves(
    value.type,
    leavesOf(value).map((operand) => (isVariable(operand, variables) ? declare(operand) : operand)),
  );
}

function isVariable(operand: Operand, variables: ReadonlySet<Local>): boolean {
  return operand.kind === 'local' && variables.has(operand);
}

function withLeaves(type: TextType, leaves: readonly Operand[]): TextValue {
  let next = 0;
  return valueOfLeaves(type, () => leaves[next++]!);
}

function writeAssignment(context: Context, { target, operator, value, position }: Assignment): void {
  const { variables } = context;
  const given = evaluate(context, value);
  if (target.kind === 'name' && target.name === '_' && operator === undefined) return;
  const element = elementAt(context, target);
  if (element !== undefined) {
    requireDistinct(target, element.arrays);
    const result = operator === undefined ? given : changed(position, operator, readPlace(element), given);
    const typed = coerce(value.position, result, element.type, 'The assigned value');
    for (const [leaf, operand] of leavesOf(typed).entries()) writeLocal(element.arrays[leaf]!, element.index, operand);
    return;
  }
  const variable = variableAt(context, target) as Exclude<TextValue, { value: unknown }>;
  const result = operator === undefined ? given : changed(position, operator, variable, given);
  const typed = coerce(value.position, result, variable.type, 'The assigned value');
  const targets = leavesOf(variable) as Local[];
  requireDistinct(target, targets);
  const sources = targets.length > 1 ? withoutVariables(typed, variables) : typed;
  leavesOf(sources).forEach((operand, leaf) => {
    append({ kind: 'set', local: use(targets[leaf]!), value: use(operand) });
  });
}

/** Requires that an assignment to several components, such as those of `v.xy`, names each once. */
function requireDistinct({ position }: Expression, targets: readonly unknown[]): void {
  if (new Set(targets).size === targets.length) return;
  throw errorAt(position, 'assignment', 'A component is assigned to twice.', { remedy: 'Name each component once.' });
}

/** What a compound assignment, `++` or `--` makes of a value. */
function changed(position: Position, operator: string, value: TextValue, by: TextValue): TextValue {
  if (operator !== '++' && operator !== '--') return applyBinary(position, operator, value, by);
  if (!isVector(value) && value.type !== 'f32') return applyBinary(position, operator[0]!, value, by);
  throw errorAt(position, 'type', `Operator ${operator} is not defined for ${typeName(value.type)}.`, {
    remedy: `Write ${operator[0]}= 1.`,
  });
}

function declareLocalArray(context: Context, { name, types, elements, position }: ArrayDeclaration): void {
  const { program, scope } = context;
  if (scope.names.has(name)) throw errorAt(position, 'declaration', `${name} is declared twice in a block.`);
  const [first, second] = types.map(({ element, length }) => ({
    type: program.typeOf(element),
    length: lengthOf(context, length),
  }));
  const { type, length } = first!;
  if (second !== undefined && (second.type !== type || second.length !== length)) {
    throw errorAt(types[1]!.position, 'type', `The value of ${name} has the wrong type.`, {
      expected: `array<${typeName(type)}, ${length}>`,
      got: `array<${typeName(second.type)}, ${second.length}>`,
    });
  }
  if (elements.length > 0 && elements.length !== length) {
    throw errorAt(position, 'arguments', `The value of ${name} has the wrong number of elements.`, {
      expected: length,
      got: elements.length,
    });
  }
  const values = elements.map((element) => {
    return leavesOf(coerce(element.position, evaluate(context, element), type, `An element of ${name}`));
  });
  const arrays = leavesOf(zeroOf(type)).map((zero) => declareArray(length, zero));
  for (const [k, leaves] of values.entries()) {
    for (const [leaf, operand] of leaves.entries()) writeLocal(arrays[leaf]!, literal('u32', k), operand);
  }
  scope.names.set(name, { kind: 'localArray', type, length, arrays });
}

function lengthOf(context: Context, length: Expression): number {
  const number = wholeNumberOf(evaluate(context, length));
  if (number !== undefined && number >= 1 && number <= MAX_LENGTH) return number;
  throw errorAt(length.position, 'argument', 'The length of an array must be known at compile time.', {
    expected: `a whole number from 1 to ${MAX_LENGTH}`,
    got: number ?? 'a value that is computed',
  });
}

/** The value of a whole number that is known at compile time; undefined for other values. */
function wholeNumberOf(value: TextValue): number | undefined {
  if (value.type === 'abstract-int') return Number(value.value);
  if (value.type !== 'u32' && value.type !== 'i32') return undefined;
  return value.operand.kind === 'literal' ? Number(value.operand.value) : undefined;
}

/** The element of an array of the function, or the field of one, to which a statement assigns; undefined for others. */
function elementAt(context: Context, target: Expression): Place | undefined {
  const fields: Member[] = [];
  let base = target;
  for (; base.kind === 'member'; base = base.object) fields.unshift(base);
  if (base.kind !== 'index' || base.array.kind !== 'name') return undefined;
  const { name, position } = base.array;
  const entry = lookUp(context, name, position);
  if (entry?.kind !== 'localArray') return undefined;
  return fields.reduce(fieldOf, placeIn(context, entry, name, base.index));
}

function fieldOf(place: Place, { position, field }: Member): Place {
  if (isVectorType(place.type)) {
    const indices = componentIndices(position, place.type, field);
    return { ...place, type: typeOfComponents(indices.length), arrays: indices.map((at) => place.arrays[at]!) };
  }
  const index = fieldIndex(position, place.type, field);
  const { fields } = place.type as Struct;
  const { type } = fields[index]!;
  const from = fields.slice(0, index).reduce((sum, each) => sum + leafTypesOf(each.type).length, 0);
  return { ...place, type, arrays: place.arrays.slice(from, from + leafTypesOf(type).length) };
}

/** The variable, or the field of a variable, to which a statement assigns. */
function variableAt(context: Context, target: Expression): TextValue {
  const fields: Member[] = [];
  let base = target;
  for (; base.kind === 'member'; base = base.object) fields.push(base);
  return fields.reduceRight(
    (value, { position, field }) => memberOf(position, value, field),
    wholeVariableAt(context, base),
  );
}

function wholeVariableAt(context: Context, target: Expression): TextValue {
  if (target.kind === 'index') {
    const { array } = target;
    const indexed = array.kind === 'name' ? lookUp(context, array.name, array.position) : undefined;
    if (array.kind === 'name' && indexed === undefined) throw unresolved(context, array.position, array.name);
    if (indexed?.kind !== 'array') throw noArray(array.position);
    throw errorAt(target.position, 'assignment', 'A functor cannot write to an array of var<storage>.', {
      remedy: 'Return the value: a primitive stores it. Arrays of the function are var name: array<type, length>.',
    });
  }
  if (target.kind !== 'name') throw errorAt(target.position, 'assignment', 'Only a var can be assigned to.');
  const entry = lookUp(context, target.name, target.position);
  if (entry?.kind === 'var') return entry.value;
  if (entry === undefined) throw errorAt(target.position, 'unresolved', `There is no ${target.name}.`);
  throw errorAt(target.position, 'assignment', `${target.name} cannot be assigned to.`, {
    remedy: `Copy ${target.name} into a var.`,
  });
}

function writeIf(context: Context, { condition, consequent, alternative }: TextIf): void {
  append({
    kind: 'if',
    condition: conditionOf(context, condition, 'if'),
    consequent: block(() => writeBlock(context, consequent)),
    alternative: block(() => writeBlock(context, alternative)),
  });
}

function conditionOf(context: Context, condition: Expression, of: string): Operand {
  const value = evaluate(context, condition);
  const { operand } = coerceScalar(condition.position, value, 'bool', `The condition of ${of}`);
  return use(operand);
}

function writeFor(context: Context, { start, condition, step, body }: For): void {
  const inner = { ...context, scope: childOf(context.scope) };
  if (start !== undefined) writeStatement(inner, start);
  if (step?.kind === 'declaration') {
    throw errorAt(step.position, 'syntax', 'The step of a for must not declare anything.');
  }
  writeLoop(inner, condition, body, step);
}

function writeLoop(
  context: Context,
  condition: Expression | undefined,
  body: Block,
  step: TextStatement | undefined,
): void {
  const inner = {
    ...context,
    loop: { continuing: undefined, scope: context.scope, declares: [] },
    inContinuing: false,
  };
  append({
    kind: 'loop',
    body: block(() => {
      if (condition !== undefined) append(breakUnless(conditionOf(context, condition, 'a loop')));
      writeBlock(inner, body);
    }),
    step: block(() => {
      if (step !== undefined) writeStatement(context, step);
    }),
  });
}

function breakUnless(condition: Operand): Statement {
  return { kind: 'if', condition, consequent: [], alternative: [{ kind: 'break' }] };
}

/**
 * Records a `loop` statement. The `continuing` block is recorded at each `continue` and at the end of the loop's body.
 * At each of these places, the block can use the names that the body has declared so far.
 */
function writeEndless(context: Context, { body, continuing }: Loop): void {
  const scope = childOf(context.scope);
  const declares = body.flatMap((statement) => (statement.kind === 'declaration' ? [statement.name] : []));
  const inner: Context = { ...context, scope, loop: { continuing, scope, declares }, inContinuing: false };
  append({
    kind: 'loop',
    body: block(() => {
      writeStatements(inner, body);
      const ends = block(() => writeContinuing(inner));
      if (body.every(fallsThrough)) ends.forEach(append);
    }),
    step: [],
  });
}

function writeContinuing(context: Context): void {
  const { continuing, scope, declares } = context.loop!;
  if (continuing === undefined) return;
  const later = childOf(scope);
  for (const name of declares) if (!scope.names.has(name)) later.names.set(name, { kind: 'skipped' });
  const inner: Context = { ...context, scope: childOf(later), loop: undefined, inContinuing: true };
  writeStatements(inner, continuing.body);
  if (continuing.breakIf === undefined) return;
  append({
    kind: 'if',
    condition: conditionOf(inner, continuing.breakIf, 'break if'),
    consequent: [{ kind: 'break' }],
    alternative: [],
  });
}

function writeJump(context: Context, kind: 'break' | 'continue', position: Position): void {
  if (context.loop === undefined) {
    const where = context.inContinuing ? 'must not leave a continuing' : 'must be inside a loop';
    throw errorAt(position, 'outside-loop', `A ${kind} ${where}.`);
  }
  if (kind === 'continue') writeContinuing(context);
  append({ kind });
}

function writeReturn(context: Context, position: Position, value: Expression | undefined): void {
  if (context.inContinuing) throw errorAt(position, 'outside-loop', 'A return must not leave a continuing.');
  if (value === undefined) {
    throw errorAt(position, 'no-return', 'A return must give a value.', {
      remedy: 'Write return and a value.',
    });
  }
  const given = coerce(value.position, evaluate(context, value), context.result!, 'The returned value');
  append({ kind: 'return', values: leavesOf(given).map(use) });
}
