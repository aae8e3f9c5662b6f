import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { Context } from '../primitives/context.ts';

const root = join(import.meta.dirname, '..');
const files = readdirSync(join(root, 'primitives'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(root, 'primitives', file));

interface Example {
  readonly file: string;
  /** What is documented, as far as the line behind the docstring names it. */
  readonly name: string;
  readonly line: number;
  readonly text: string;
}

/** Every `@example` of a file's docstrings, without the stars and fences. */
function examplesIn(file: string): Example[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((docstring) => {
    const behind = source.slice(docstring.index + docstring[0].length);
    const name = /^\s*export (?:async )?(?:function|const|class|interface|type) (\w+)/.exec(behind)?.[1] ?? '?';
    return [...docstring[0].matchAll(/@example\n([\s\S]*?)(?=\n\s*\* @\w|\s*\*\/$)/g)].map((example) => ({
      file: relative(root, file),
      name,
      line: source.slice(0, docstring.index + example.index).split('\n').length,
      text: example[1]!.replaceAll(/^\s*\* ?/gm, '').replaceAll(/^```.*$/gm, ''),
    }));
  });
}

interface Runnable {
  /** The body of an asynchronous function that returns the value of the last expression. */
  readonly body: string;
  /** What the comment behind it says that this is; undefined where there is none. */
  readonly expected: string | undefined;
}

function runnableOf(text: string): Runnable {
  const source = ts.createSourceFile('example.ts', text, ts.ScriptTarget.Latest, true);
  const last = source.statements.at(-1);
  if (last === undefined || !ts.isExpressionStatement(last)) return { body: text, expected: undefined };
  const behind = text.slice(last.end).trim();
  const comment = behind.split('\n').map((line) => line.replace(/^\s*\/\/ ?/, ''));
  const typed = `${text.slice(0, last.getStart())}return (${last.expression.getText()});`;
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return {
    body: ts.transpileModule(`async function example() {${typed}}`, { compilerOptions }).outputText,
    expected: behind.startsWith('//') ? comment.join('\n') : undefined,
  };
}

/** A value as Node prints it: `Uint32Array [1, 2]` and so on. */
function parseValue(text: string): unknown {
  const code = text.replaceAll(/(\w+Array) \[([^\]]*)\]/g, '$1.from([$2])');
  return new Function(`return (${code});`)();
}

/** All that the modules of the primitives export, by name. */
async function exportsOfPrimitives(): Promise<Record<string, unknown>> {
  const modules = await Promise.all(files.map((file) => import(file) as Promise<Record<string, unknown>>));
  return Object.assign({}, ...modules) as Record<string, unknown>;
}

describe('the examples of the docstrings', () => {
  const examples = files.flatMap(examplesIn);

  test('are all found', () => {
    const mentions = files.flatMap((file) => readFileSync(file, 'utf8').match(/@example/g) ?? []);
    expect(examples.length).toBe(mentions.length);
    expect(examples.length).toBeGreaterThan(40);
  });

  test.each(examples)('$file:$line of $name gives what it says', async ({ text }) => {
    const { body, expected } = runnableOf(text);
    expect(expected, 'the last line must be an expression with its value in a comment behind it').toBeDefined();
    const scope = await exportsOfPrimitives();
    const context = new Context(createReferenceBackend());
    const names = Object.keys(scope);
    const run = new Function('ctx', ...names, `${body}; return example();`) as (...args: unknown[]) => Promise<unknown>;
    const value = await run(context, ...names.map((name) => scope[name]));
    expect(value).toEqual(parseValue(expected!));
    await context.close();
  });
});
