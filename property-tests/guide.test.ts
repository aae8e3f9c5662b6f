import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const pages = ['README.md', ...readdirSync(join(root, 'docs', 'guide')).map((name) => join('docs', 'guide', name))];

/** The contents of a page's fenced blocks in a language, one after the other. */
function blocks(page: string, language: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, body]) => body).join('');
}

/** The page's program, which imports the sources instead of the published package. */
function programOf(page: string): string {
  const code = blocks(page, 'ts').replaceAll(/from 'quadrille(\/[^']+)?'/g, (_, entry: string | undefined) => {
    return `from '${pathToFileURL(join(root, entry ?? '', 'index.ts')).href}'`;
  });
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

describe('the code of the documentation', () => {
  test.each(pages)('of %s prints what the page says', async (page) => {
    const program = ['--import', 'tsx', '--input-type=module', '-e', programOf(page)];
    const { stdout, stderr } = await run(process.execPath, program, { cwd: root });
    expect(blocks(page, 'text')).not.toBe('');
    expect([stdout, stderr]).toEqual([blocks(page, 'text'), '']);
  });
});
