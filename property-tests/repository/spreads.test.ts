import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { BOUNDED_SPREADS } from './spreads.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['.', 'algorithms', 'backends', 'bench', 'cli', 'examples', 'formats', 'graph', 'primitives'];

const paths = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== '.', withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?[jt]s$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name))),
).sort();

/** Parses a source that may contain spreads or rest parameters, for speed without its documentation. */
function parse(path: string): ts.SourceFile[] {
  const text = readFileSync(join(root, path), 'utf8');
  const options = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
  return /\.\.\.\S/.test(text) ? [ts.createSourceFile(path, text, options)] : [];
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** Functions of the language and of browsers that take any number of arguments. */
const VARIADIC = [
  ...['push', 'unshift', 'splice', 'toSpliced', 'concat', 'of', 'max', 'min', 'hypot', 'assign', 'fromCharCode'],
  ...['fromCodePoint', 'raw', 'call', 'apply', 'bind', 'append', 'prepend', 'replaceChildren', 'add', 'remove'],
  ...['log', 'warn', 'error'],
];

/** The names of all functions, methods and variables that are declared with a rest parameter. */
function variadicNames(sources: readonly ts.SourceFile[]): Set<string> {
  const names = new Set(VARIADIC);
  const seeDeclaration = (node: ts.Node, named: string | undefined): void => {
    const own = (node as ts.NamedDeclaration).name;
    const name = own !== undefined && (ts.isIdentifier(own) || ts.isPrivateIdentifier(own)) ? own.text : named;
    if (name !== undefined && ts.isParameter(node) && node.dotDotDotToken !== undefined && named !== undefined)
      names.add(named);
    ts.forEachChild(node, (child) => seeDeclaration(child, name));
  };
  for (const source of sources) seeDeclaration(source, undefined);
  return names;
}

/** The name by which a call names its function. Undefined if it computes the function. */
function calledName(call: ts.CallExpression | ts.NewExpression): string | undefined {
  let called: ts.Expression = call.expression;
  while (ts.isParenthesizedExpression(called) || ts.isNonNullExpression(called)) called = called.expression;
  if (ts.isIdentifier(called)) return called.text;
  return ts.isPropertyAccessExpression(called) ? called.name.text : undefined;
}

/** Whether an expression is a list whose elements are all written in the source, or is made from one. */
function isWritten(list: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(list) || ts.isAsExpression(list)) return isWritten(list.expression);
  if (ts.isConditionalExpression(list)) return isWritten(list.whenTrue) && isWritten(list.whenFalse);
  if (ts.isArrayLiteralExpression(list)) {
    return list.elements.every((element) => !ts.isSpreadElement(element) || isWritten(element.expression));
  }
  if (!ts.isCallExpression(list) || !ts.isPropertyAccessExpression(list.expression)) return false;
  return ['map', 'filter'].includes(list.expression.name.text) && isWritten(list.expression.expression);
}

/**
 * The spreads of a source into calls that take any number of arguments, as `function(...list)`. Functions without a
 * rest parameter are left out: their spreads are tuples, or the type check fails.
 */
function spreadsOf(source: ts.SourceFile, variadic: ReadonlySet<string>): string[] {
  const found: string[] = [];
  visit(source, (node) => {
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
    const name = calledName(node);
    if (ts.isCallExpression(node) && name !== undefined && !variadic.has(name)) return;
    for (const argument of node.arguments ?? []) {
      if (!ts.isSpreadElement(argument) || isWritten(argument.expression)) continue;
      const words = [name ?? '', '(', argument.getText(source), ')'];
      found.push(words.join('').replace(/\s+/g, ' '));
    }
  });
  return found;
}

// An argument for every element of a list ends in a RangeError when the list has some hundred thousand elements.
test('only lists whose length the program bounds are spread into calls', () => {
  const sources = paths.flatMap(parse);
  const variadic = variadicNames(sources);
  const found = sources.flatMap((source) =>
    spreadsOf(source, variadic).map((spread) => `${source.fileName}: ${spread}`),
  );
  const bounded = Object.values(BOUNDED_SPREADS).flatMap((files) =>
    Object.entries(files).flatMap(([file, spreads]) => spreads.map((spread) => `${file}: ${spread}`)),
  );
  expect([...new Set(found)].sort()).toEqual(bounded.sort());
});

test('a spread into a call is found in whatever way the call is written', () => {
  const text = `f(...a); x.push(1, ...b()); new F(...c); (d ?? e)(...f); Math.max(...[1, 2], ...g);
    fixed(...h); x.push(...(i ? [1] : [])); x.push(...[1, 2].map(j)); const f = (k, ...l) => k;`;
  const source = ts.createSourceFile('some.ts', text, ts.ScriptTarget.Latest);
  const expected = ['f(...a)', 'push(...b())', 'F(...c)', '(...f)', 'max(...g)'];
  expect(spreadsOf(source, variadicNames([source]))).toEqual(expected);
});
