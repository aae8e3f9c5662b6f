import { parseArguments, parseExpression, parsePrimary, parseType } from './parse-expression.ts';
import type { Reader } from './reader.ts';
import type {
  ArrayDeclaration,
  ArrayType,
  Assignment,
  Block,
  Continuing,
  Declaration,
  Expression,
  Loop,
  TextIf,
  TextStatement,
} from './syntax.ts';

const compound = new Set(['+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=']);

/** Parses a block of statements in braces. `after` says in error messages what precedes the block. */
export function parseBlock(reader: Reader, after: string): Block {
  reader.expect('{', after);
  const block: TextStatement[] = [];
  while (!reader.is('}')) {
    if (!reader.accept(';')) block.push(parseStatement(reader));
  }
  reader.expect('}', 'after a block');
  return block;
}

const parseStatement = (reader: Reader): TextStatement => reader.nested(readStatement);

function readStatement(reader: Reader): TextStatement {
  const { text, position } = reader.peek();
  switch (text) {
    case '{':
      return { kind: 'block', position, body: parseBlock(reader, 'here') };
    case 'if':
      return parseIf(reader);
    case 'for':
      return parseFor(reader);
    case 'while':
      reader.next();
      return { kind: 'while', position, condition: parseExpression(reader), body: parseBlock(reader, 'after while') };
    case 'loop':
      return parseLoop(reader);
    case 'break':
    case 'continue':
      reader.next();
      return ended(reader, { kind: text, position });
    case 'return':
      reader.next();
      return ended(reader, { kind: 'return', position, value: reader.is(';') ? undefined : parseExpression(reader) });
    case 'switch':
    case 'discard':
    case 'const_assert':
      throw reader.error(position, `${text} is not supported in functors.`);
    default:
      return ended(reader, parseSimple(reader));
  }
}

function ended<S>(reader: Reader, statement: S): S {
  reader.expect(';', 'after a statement');
  return statement;
}

/** Parses a declaration, an assignment, `++` or `--`: the statements that are allowed in the head of a `for` loop. */
function parseSimple(reader: Reader): Declaration | ArrayDeclaration | Assignment {
  const { text } = reader.peek();
  const isDeclared = text === 'let' || text === 'var' || text === 'const';
  if (isDeclared && declaresArray(reader)) return parseArrayDeclaration(reader);
  if (isDeclared) return parseDeclaration(reader);
  const target = parseExpression(reader);
  const { text: operator, position } = reader.next();
  if (operator === '=' && reader.is('array')) {
    throw reader.error(position, 'An array cannot be assigned as a whole.', 'Write its elements one by one.');
  }
  if (operator === '=')
    return { kind: 'assignment', position, target, operator: undefined, value: parseExpression(reader) };
  if (compound.has(operator)) {
    return { kind: 'assignment', position, target, operator: operator.slice(0, -1), value: parseExpression(reader) };
  }
  if (operator === '++' || operator === '--') {
    const value: Expression = { kind: 'number', position, text: '1' };
    return { kind: 'assignment', position, target, operator, value };
  }
  throw reader.error(position, `Expected an assignment, got ${operator}.`, 'Calls are only allowed in expressions.');
}

/** Parses a `let`, `var` or `const` declaration, up to but not including the semicolon. */
export function parseDeclaration(reader: Reader): Declaration {
  const keyword = reader.next().text as Declaration['keyword'];
  if (reader.is('<')) {
    throw reader.error(
      reader.peek().position,
      'A variable of a function must not have an address space.',
      'Write var alone.',
    );
  }
  const { text: name, position } = reader.name(`a ${keyword}`);
  const type = reader.accept(':') ? parseType(reader) : undefined;
  const value = reader.accept('=') ? parseExpression(reader) : undefined;
  if (value === undefined && (keyword !== 'var' || type === undefined)) {
    throw reader.error(position, `The ${keyword} ${name} must have a value.`, 'Write = and a value.');
  }
  return { kind: 'declaration', position, keyword, name, type, value };
}

/** Whether a declaration declares an array: by its type, or by the value that follows. */
function declaresArray(reader: Reader): boolean {
  const sign = reader.peek(2).text;
  return (sign === ':' || sign === '=') && reader.peek(3).text === 'array';
}

function parseArrayDeclaration(reader: Reader): ArrayDeclaration {
  const keyword = reader.next();
  if (keyword.text !== 'var') {
    const sentence = `An array of a function must be a var, not a ${keyword.text}.`;
    throw reader.error(keyword.position, sentence, 'Write var name = array<type, length>(…).');
  }
  const { text: name, position } = reader.name('a var');
  const types: ArrayType[] = [];
  if (reader.accept(':')) {
    types.push(parseArrayType(reader));
    if (!reader.accept('=')) return { kind: 'arrayDeclaration', position, name, types, elements: [] };
  } else {
    reader.next();
  }
  if (types.length === 0 || reader.peek(1).text === '<') types.push(parseArrayType(reader));
  else reader.expect('array', 'before the elements of an array');
  reader.expect('(', 'before the elements of an array');
  return { kind: 'arrayDeclaration', position, name, types, elements: parseArguments(reader) };
}

/** Parses `array<type, length>`. */
function parseArrayType(reader: Reader): ArrayType {
  const { position } = reader.expect('array', 'before the type of its elements');
  reader.expect('<', 'after array');
  const element = parseType(reader);
  reader.expect(',', 'and a length after the type of the elements');
  const length = parsePrimary(reader);
  reader.expect('>', 'after the length of an array');
  return { position, element, length };
}

function parseIf(reader: Reader): TextIf {
  const { position } = reader.next();
  const condition = parseExpression(reader);
  const consequent = parseBlock(reader, 'after if');
  if (!reader.accept('else')) return { kind: 'if', position, condition, consequent, alternative: [] };
  const alternative = reader.is('if') ? [parseStatement(reader)] : parseBlock(reader, 'after else');
  return { kind: 'if', position, condition, consequent, alternative };
}

function parseFor(reader: Reader): TextStatement {
  const { position } = reader.next();
  reader.expect('(', 'after for');
  const start = reader.is(';') ? undefined : parseSimple(reader);
  reader.expect(';', 'after the start of a for');
  const condition = reader.is(';') ? undefined : parseExpression(reader);
  reader.expect(';', 'after the condition of a for');
  const step = reader.is(')') ? undefined : parseSimple(reader);
  reader.expect(')', 'after the head of a for');
  return { kind: 'for', position, start, condition, step, body: parseBlock(reader, 'after for') };
}

function parseLoop(reader: Reader): Loop {
  const { position } = reader.next();
  reader.expect('{', 'after loop');
  const body: TextStatement[] = [];
  let continuing: Continuing | undefined;
  while (!reader.is('}')) {
    if (reader.accept(';')) continue;
    if (continuing !== undefined) {
      throw reader.error(reader.peek().position, 'No statement may follow continuing.', 'Put continuing last.');
    }
    if (reader.is('continuing')) continuing = parseContinuing(reader);
    else body.push(parseStatement(reader));
  }
  reader.expect('}', 'after a loop');
  return { kind: 'loop', position, body, continuing };
}

function parseContinuing(reader: Reader): Continuing {
  const { position } = reader.next();
  reader.expect('{', 'after continuing');
  const body: TextStatement[] = [];
  let breakIf: Expression | undefined;
  while (!reader.is('}')) {
    if (reader.accept(';')) continue;
    if (breakIf !== undefined) {
      throw reader.error(reader.peek().position, 'No statement may follow break if.', 'Put break if last.');
    }
    if (reader.is('break') && reader.peek(1).text === 'if') {
      reader.next();
      reader.next();
      breakIf = ended(reader, parseExpression(reader));
    } else {
      body.push(parseStatement(reader));
    }
  }
  reader.expect('}', 'after continuing');
  return { position, body, breakIf };
}
