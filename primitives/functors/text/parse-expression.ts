import type { Reader } from './reader.ts';
import type { Expression, TypeName, Unary } from './syntax.ts';
import type { Token } from './tokens.ts';

const bitwise = new Set(['&', '|', '^']);
const logical = new Set(['&&', '||']);
const relational = new Set(['<', '>', '<=', '>=', '==', '!=']);
const shifts = new Set(['<<', '>>']);
const sums = new Set(['+', '-']);
const products = new Set(['*', '/', '%']);
const binary = new Set([...bitwise, ...logical, ...relational, ...shifts, ...sums, ...products]);

/**
 * Parses an expression by the grammar of WGSL. The grammar requires parentheses where it defines no precedence: between
 * a bitwise operator and any other binary operator, between `&&` and `||`, and between shifts and arithmetic.
 */
export function parseExpression(reader: Reader): Expression {
  const first = parseUnary(reader);
  const expression = bitwise.has(reader.peek().text)
    ? parseChain(reader, first, parseUnary)
    : parseLogical(reader, parseRelational(reader, first));
  const { kind, text, position } = reader.peek();
  if (kind === 'operator' && binary.has(text)) {
    throw reader.error(position, `The precedence of ${text} is not defined here.`, 'Put parentheses.');
  }
  return expression;
}

function parseLogical(reader: Reader, first: Expression): Expression {
  if (!logical.has(reader.peek().text)) return first;
  return parseChain(reader, first, () => parseRelational(reader, parseUnary(reader)));
}

/**
 * Parses the rest of a chain of operands that are joined by the same operator. `first` is the first operand, which is
 * already parsed.
 */
function parseChain(reader: Reader, first: Expression, operand: (reader: Reader) => Expression): Expression {
  const { text } = reader.peek();
  return parseLeft(reader, new Set([text]), first, operand);
}

function parseRelational(reader: Reader, first: Expression): Expression {
  const left = parseShift(reader, first);
  if (!relational.has(reader.peek().text)) return left;
  return binaryOf(reader.next(), left, parseShift(reader, parseUnary(reader)));
}

function parseShift(reader: Reader, first: Expression): Expression {
  if (shifts.has(reader.peek().text)) return binaryOf(reader.next(), first, parseUnary(reader));
  return parseLeft(reader, sums, parseLeft(reader, products, first, parseUnary), (inner) =>
    parseLeft(inner, products, parseUnary(inner), parseUnary),
  );
}

function parseLeft(
  reader: Reader,
  operators: ReadonlySet<string>,
  first: Expression,
  operand: (reader: Reader) => Expression,
): Expression {
  let left = first;
  while (operators.has(reader.peek().text)) left = binaryOf(reader.next(), left, operand(reader));
  return left;
}

function binaryOf({ text, position }: Token, left: Expression, right: Expression): Expression {
  return { kind: 'binary', position, operator: text, left, right };
}

const parseUnary = (reader: Reader): Expression => reader.nested(readUnary);

function readUnary(reader: Reader): Expression {
  const { text, position } = reader.peek();
  if (text !== '-' && text !== '!' && text !== '~' && text !== '&') return parsePostfix(reader);
  reader.next();
  return { kind: 'unary', position, operator: text satisfies Unary['operator'], operand: parseUnary(reader) };
}

function parsePostfix(reader: Reader): Expression {
  let expression = parsePrimary(reader);
  for (;;) {
    const { position } = reader.peek();
    if (reader.accept('.')) {
      expression = { kind: 'member', position, object: expression, field: reader.name('a field').text };
    } else if (reader.accept('[')) {
      expression = { kind: 'index', position, array: expression, index: parseExpression(reader) };
      reader.expect(']', 'after an index');
    } else {
      return expression;
    }
  }
}

/** Parses a number, a name, a call or an expression in parentheses. */
export function parsePrimary(reader: Reader): Expression {
  const { kind, text, position } = reader.next();
  if (kind === 'number') return { kind: 'number', position, text };
  if (text === 'true' || text === 'false') return { kind: 'bool', position, value: text === 'true' };
  if (text === '(') {
    const inner = parseExpression(reader);
    reader.expect(')', 'after an expression in parentheses');
    return inner;
  }
  if (kind !== 'name') throw reader.error(position, `Expected an expression, got ${text}.`);
  const template = text === 'bitcast' ? parseTemplate(reader) : undefined;
  const callee = namesTemplate(reader, text) ? `${text}${parseElementType(reader, text)}` : text;
  if (reader.accept('(')) return { kind: 'call', position, callee, template, args: parseArguments(reader) };
  return { kind: 'name', position, name: text };
}

function parseTemplate(reader: Reader): TypeName {
  reader.expect('<', 'after bitcast');
  const type = parseType(reader);
  reader.expect('>', 'after the type of a bitcast');
  return type;
}

/** Whether a name begins a call such as `vec2<f32>(…)`, and no comparison. */
function namesTemplate(reader: Reader, name: string): boolean {
  return ofElements.test(name) && reader.is('<') && reader.peek(2).text === '>' && reader.peek(3).text === '(';
}

/** Vectors and matrices, whose names are completed by the type of their elements. */
const ofElements = /^(?:vec[234]|mat[234]x[234])$/;

/** Parses the type of the elements of a vector or matrix, in `<` and `>`. */
function parseElementType(reader: Reader, name: string): string {
  reader.expect('<', `after ${name}`);
  const { kind, text, position } = reader.next();
  if (kind !== 'name') throw reader.error(position, `Expected a type, got ${text}.`);
  reader.expect('>', `after the type of the elements of ${name}`);
  return `<${text}>`;
}

/** Parses the arguments of a call after its opening parenthesis, and the closing one. */
export function parseArguments(reader: Reader): Expression[] {
  const args: Expression[] = [];
  while (!reader.is(')')) {
    args.push(parseExpression(reader));
    if (!reader.accept(',')) break;
  }
  reader.expect(')', 'after the arguments of a call');
  return args;
}

/** Parses the name of a type. */
export function parseType(reader: Reader): TypeName {
  const { kind, text, position } = reader.next();
  if (kind !== 'name') throw reader.error(position, `Expected a type, got ${text}.`);
  if (!reader.is('<')) return { name: text, position };
  if (ofElements.test(text)) return { name: `${text}${parseElementType(reader, text)}`, position };
  throw reader.error(
    position,
    `The type ${text}<…> is not allowed here.`,
    'Use u32, i32, f32, bool, vec2f, vec3f, vec4f or a struct of these.',
  );
}
