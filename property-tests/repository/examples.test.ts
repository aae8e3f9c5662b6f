import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import * as rxjs from 'rxjs';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { entries } from '../support/entry-sources.ts';
import { hasRedis, startRedis, type TestRedis } from '../support/redis-server.ts';

const root = join(import.meta.dirname, '..', '..');

/** The source files of the entry points in package.json. */
const entryPoints = entries().map(({ source }) => source);

const files = [
  'primitives',
  'backends',
  'graph',
  'queues',
  'algorithms',
  'formats',
  'bench',
  'property-tests',
  '.',
].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.config.ts'))
    .map((file) => join(root, folder, file)),
);

interface Example {
  readonly file: string;
  /** The name of the documented export, or `?` if the docstring is not followed by a named export. */
  readonly name: string;
  readonly line: number;
  readonly text: string;
}

/** All `@example` blocks in a file's docstrings, without stars and fences. */
function examplesIn(file: string): Example[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((docstring) => {
    const behind = source.slice(docstring.index + docstring[0].length);
    const name = /^\s*export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/.exec(behind)?.[1] ?? '?';
    return [...docstring[0].matchAll(/@example\n([\s\S]*?)(?=\n\s*\* @\w|\s*\*\/$)/g)].map((example) => ({
      file: relative(root, file),
      name,
      line: source.slice(0, docstring.index + example.index).split('\n').length,
      text: example[1]!.replaceAll(/^\s*\* ?/gm, '').replaceAll(/^```.*$/gm, ''),
    }));
  });
}

interface Runnable {
  /** The body of an async function that returns the value of the example's last expression. */
  readonly body: string;
  /**
   * The expected value, which is stated in the comment after the last expression. Undefined if there is no such
   * comment.
   */
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

/** Parses a value in the form in which Node prints it, such as `Uint32Array [1, 2]`. */
function parseValue(text: string): unknown {
  const code = text.replaceAll(/(\w+Array) \[([^\]]*)\]/g, '$1.from([$2])');
  return new Function(`return (${code});`)();
}

/** The exports of each entry point. */
const modules = await Promise.all(entryPoints.map(importAll));
/** The names that all examples may use: the package's exports, fast-check, and some functions of Node. */
const shared = { fc, assert, join, tmpdir, mkdtemp, readFile, writeFile, ...Object.assign({}, ...modules) };

function importAll(path: string): Promise<Record<string, unknown>> {
  return import(path);
}

/**
 * The values of all names that an example uses. An example may also use RxJS, and the exports of the file in which it
 * is.
 */
async function scopeOf({ file, text }: Example): Promise<Record<string, unknown>> {
  const exported = { ...shared, ...(await importAll(join(root, file))) };
  // If the package and RxJS export the same name, examples of the graph mean the export of RxJS.
  const all: Record<string, unknown> = file.startsWith('graph/') ? { ...exported, ...rxjs } : { ...rxjs, ...exported };
  const used = new Set(text.match(/[\w$]+/g));
  return Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
}

/** The functions that package.json exports, functors included, by name. */
function exportedFunctions(): Map<string, unknown> {
  const isFunction = (value: unknown): boolean => typeof value === 'function' && !/^class\b/.test(String(value));
  return new Map(modules.flatMap((module) => Object.entries(module).filter(([, value]) => isFunction(value))));
}

describe('the examples of the docstrings', () => {
  const examples = files.flatMap(examplesIn);

  test('are all found', () => {
    const mentions = files.flatMap((file) => readFileSync(file, 'utf8').match(/^ *\* @example$/gm) ?? []);
    expect(examples.length).toBe(mentions.length);
  });

  test('exist for every function that the package exports', async () => {
    const functions = exportedFunctions();
    expect(functions.size).toBeGreaterThan(150);
    const documented = new Set(
      await Promise.all(examples.map(async ({ file, name }) => (await importAll(join(root, file)))[name])),
    );
    expect([...functions].filter(([, value]) => !documented.has(value)).map(([name]) => name)).toEqual([]);
  });

  let server: TestRedis | undefined;
  beforeAll(async () => {
    if (!hasRedis) return;
    server = await startRedis();
    // The examples of queues read the address of their server from the environment.
    vi.stubEnv('QUADRILLE_QUEUE', server.url);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server?.[Symbol.asyncDispose]();
  });
  const runnable = examples.filter(({ file }) => hasRedis || !file.startsWith('queues/'));

  test.each(runnable)('$file:$line of $name evaluates to the value in its comment', async (example) => {
    const { body, expected } = runnableOf(example.text);
    expect(expected, 'the last line must be an expression with its value in a comment behind it').toBeDefined();
    const scope = await scopeOf(example);
    const context = new Context(createReferenceBackend());
    const names = Object.keys(scope);
    const run = new Function('ctx', ...names, `${body}; return example();`) as (...args: unknown[]) => Promise<unknown>;
    const value = await run(context, ...names.map((name) => scope[name]));
    expect(value).toEqual(parseValue(expected!));
    await context.close();
  });
});
