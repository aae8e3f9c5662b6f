import { parseType } from './parse-expression.ts';
import { parseBlock, parseDeclaration } from './parse-statement.ts';
import { createReader, type Reader } from './reader.ts';
import type { SourceText } from './source.ts';
import type { CaptureDeclaration, Field, FunctionDeclaration, StructDeclaration, TextModule } from './syntax.ts';

/** Parses a text that consists of structs, functions, constants, `var<storage>` and `var<uniform>` declarations. */
export function parseModule(source: SourceText): TextModule {
  const reader = createReader(source);
  const module = {
    structs: [] as StructDeclaration[],
    functions: [] as FunctionDeclaration[],
    captures: [] as CaptureDeclaration[],
    constants: [] as TextModule['constants'][number][],
  };
  while (reader.peek().kind !== 'end') {
    if (reader.accept(';')) continue;
    skipBindings(reader);
    const { text, position } = reader.peek();
    if (text === 'struct') module.structs.push(parseStruct(reader));
    else if (text === 'fn') module.functions.push(parseFunction(reader));
    else if (text === 'var') module.captures.push(parseCapture(reader));
    else if (text === 'const') {
      module.constants.push(parseDeclaration(reader));
      reader.expect(';', 'after a constant');
    } else {
      throw reader.error(position, `${text} cannot begin a declaration.`, 'Write struct, fn, const or var<…>.');
    }
  }
  return module;
}

/** Skips attributes such as `@group(0) @binding(1)`, which locate a buffer in WGSL. Here buffers are bound by name. */
function skipBindings(reader: Reader): void {
  while (reader.is('@')) {
    const { position } = reader.peek();
    const { text } = reader.peek(1);
    if (text !== 'group' && text !== 'binding') {
      throw reader.error(position, `The attribute @${text} is not supported in functors.`, 'Leave it out.');
    }
    reader.next();
    reader.next();
    reader.expect('(', `after @${text}`);
    reader.next();
    reader.expect(')', `after @${text}`);
  }
}

function parseStruct(reader: Reader): StructDeclaration {
  reader.next();
  const { text: name, position } = reader.name('a struct');
  reader.expect('{', 'after the name of a struct');
  const fields = parseFields(reader, '}', 'a field');
  if (fields.length === 0) throw reader.error(position, `The struct ${name} has no fields.`);
  return { kind: 'struct', name, position, fields };
}

function parseFields(reader: Reader, end: string, what: string): Field[] {
  const fields: Field[] = [];
  while (!reader.is(end)) {
    const { text: name, position } = reader.name(what);
    reader.expect(':', `after the name of ${what}`);
    fields.push({ name, position, type: parseType(reader) });
    if (!reader.accept(',')) break;
  }
  reader.expect(end, `after ${what}`);
  const names = new Set<string>();
  for (const { name, position } of fields) {
    if (names.has(name)) throw reader.error(position, `${name} is declared twice.`);
    names.add(name);
  }
  return fields;
}

function parseFunction(reader: Reader): FunctionDeclaration {
  reader.next();
  const { text: name, position } = reader.name('a function');
  reader.expect('(', 'after the name of a function');
  const parameters = parseFields(reader, ')', 'a parameter');
  if (!reader.accept('->')) {
    throw reader.error(
      position,
      `The function ${name} must return something.`,
      'Write -> and a type: functors are pure.',
    );
  }
  const result = parseType(reader);
  const body = parseBlock(reader, 'after the type of a function');
  return { kind: 'function', name, position, parameters, result, body, end: reader.peek(-1).position };
}

function parseCapture(reader: Reader): CaptureDeclaration {
  const { position: start } = reader.next();
  reader.expect('<', 'after var of a module');
  const space = reader.next().text;
  const access = reader.accept(',') ? reader.next().text : 'read';
  reader.expect('>', 'after the address space');
  if (space !== 'storage' && space !== 'uniform') {
    throw reader.error(start, `Functors have no ${space} variables.`, 'Use var<storage> or var<uniform>.');
  }
  if (access !== 'read') {
    throw reader.error(start, 'A functor cannot write to an array.', 'Return the value: a primitive stores it.');
  }
  const { text: name, position } = reader.name('a variable');
  reader.expect(':', 'after the name of a variable');
  const capture: CaptureDeclaration =
    space === 'uniform'
      ? { kind: 'uniform', name, position, type: parseType(reader) }
      : { kind: 'array', name, position, type: parseArrayType(reader, name) };
  reader.expect(';', 'after a variable');
  return capture;
}

function parseArrayType(reader: Reader, name: string): CaptureDeclaration['type'] {
  const { text, position } = reader.next();
  if (text !== 'array') {
    throw reader.error(position, `${name} in storage must be an array.`, `Write array<${text}>, or var<uniform>.`);
  }
  reader.expect('<', 'after array');
  const type = parseType(reader);
  reader.expect('>', 'after the type of an array');
  return type;
}
