import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, describe, expect, test } from 'vitest';
import { builtCommand, builtPackage } from '../support/built-package.ts';
import { blocks, codeOf, pages, pagesWith } from './guide-pages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

/**
 * The program that the code blocks of a page form, as a reader pastes them into one file. It imports the package that
 * was built for the tests. Only the programs of pages that name such a file `.mts` are TypeScript; all others run in
 * Node as they are.
 */
function programOf(page: string, built: string): string {
  const code = codeOf(page).replaceAll(/from 'quadrille(\/[^']+)?'/g, (_, entry: string | undefined) => {
    return `from '${pathToFileURL(join(built, 'dist', entry ?? '', 'index.js')).href}'`;
  });
  if (!readFileSync(join(root, page), 'utf8').includes('.mts`')) return code;
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

/** What the program of a page prints. */
function text(page: string): string {
  return blocks(page, 'text').join('');
}

/**
 * The commands of a terminal session: lines that start with `$ `, with their continuation lines, which start with `> `.
 */
function commandsOf(session: string): string[] {
  return [...session.matchAll(/^\$ .*\n(?:> .*\n)*/gm)].map(([lines]) => lines);
}

/**
 * A shell script that prints every command before its output, as a terminal would. In this script, npx runs the built
 * command.
 */
function shellScript(session: string, cli: string): string {
  const start = `exec 2>&1\nnpx() { shift; '${process.execPath}' '${cli}' "$@"; }\n`;
  const steps = commandsOf(session).map((shown) => {
    const command = shown.replaceAll(/^[$>] /gm, '');
    return `cat <<'SHOWN'\n${shown}SHOWN\n${command}`;
  });
  return start + steps.join('');
}

/** Removes the time and the device from a session, because they differ between runs. */
function withoutTimes(session: string): string {
  return session.replaceAll(/[\d.]+ s on .+\.$/gm, '… s.');
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Files that the commands on the pages read, by their paths in a clone. */
const DATA = [
  'property-tests/fixtures/result-sets',
  'examples/counties-10m.json',
  'examples/bench-dot-product.mjs',
  'examples/leukocytes.tif',
  'examples/relief.tif',
];

/** Makes a folder with the files of {@link DATA}, in which commands can run. */
function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quadrille-guide-'));
  folders.push(folder);
  for (const path of DATA) cpSync(join(root, path), join(folder, path), { recursive: true });
  return folder;
}

function filesIn(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path));
  return paths.filter((path) => statSync(path).isFile());
}

/** Those of some new files of a clone that git would list there. Who follows a page finds nothing new in `git status`. */
async function unignored(files: readonly string[]): Promise<string[]> {
  const own = files.filter((file) => !DATA.some((path) => file.startsWith(path)));
  if (own.length === 0) return [];
  // Exits with 1 if git ignores none of them.
  const ignored = await run('git', ['check-ignore', '--no-index', ...own], { cwd: root }).catch((error) => error);
  const names = new Set((ignored.stdout as string).split('\n'));
  return own.filter((file) => !names.has(file));
}

describe('the code of the documentation', () => {
  test.each(pagesWith('ts'))('of %s prints what the page shows', async (page) => {
    const program = ['--input-type=module', '-e', programOf(page, await builtPackage())];
    const { stdout, stderr } = await run(process.execPath, program, { cwd: root });
    expect(text(page)).not.toBe('');
    expect([stdout, stderr]).toEqual([text(page), '']);
  });

  test.each(pagesWith('console'))('of %s reproduces the sessions on the page', async (page) => {
    const folder = clone();
    const session = blocks(page, 'console').join('');
    const { stdout } = await run('bash', ['-c', shellScript(session, await builtCommand())], { cwd: folder });
    expect(withoutTimes(stdout)).toBe(withoutTimes(session));
    // The images on the page must be equal to those that its commands draw.
    for (const file of filesIn(folder)) {
      const shown = join(root, 'docs', basename(file));
      if (existsSync(shown)) expect(readFileSync(file, 'utf8')).toBe(readFileSync(shown, 'utf8'));
    }
    expect(await unignored(filesIn(folder).map((file) => relative(folder, file)))).toEqual([]);
  });

  test.each(pages)('exists in %s', (page) => {
    expect([...blocks(page, 'ts'), ...blocks(page, 'console')]).not.toEqual([]);
  });

  test.each(pagesWith('ts'))('of %s imports at the top, so that no later block looks as if it ran alone', (page) => {
    const [first, ...others] = blocks(page, 'ts');
    expect(first).toMatch(/^import /);
    expect(others.filter((block) => /^import /m.test(block))).toEqual([]);
  });
});

test('the README names every entry point of the package', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object };
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
  const missing = entries.filter((entry) => !readme.includes(`\`${entry.replace('.', 'quadrille')}\``));
  expect(missing).toEqual([]);
});
