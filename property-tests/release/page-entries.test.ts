import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { entries } from '../support/entry-sources.ts';

const root = join(import.meta.dirname, '..', '..');
const forPages = entries().filter(({ pageSource }) => pageSource !== undefined);

describe('entry points for pages', () => {
  test.each(forPages.map(({ name, source, pageSource }) => [name, source, pageSource!]))(
    '%s has the same exports on pages as in Node',
    async (_, source, pageSource) => {
      const [inNode, onPage] = await Promise.all([import(source), import(pageSource)]);
      expect(Object.keys(onPage)).toEqual(Object.keys(inNode));
    },
  );

  test.each(['iife', 'esm'] as const)(
    'import no module of Node, and bundle with esbuild without warnings: %s',
    async (format) => {
      const { warnings, metafile } = await build({
        entryPoints: forPages.map(({ pageSource }) => pageSource!),
        bundle: true,
        write: false,
        outdir: root,
        format,
        // For this platform, bundlers reject imports of Node's modules.
        platform: 'browser',
        metafile: true,
        logLevel: 'silent',
      });
      expect(warnings).toEqual([]);
      const inputs = Object.keys(metafile.inputs);
      expect(inputs).toContain('backends/workers/page-threads.ts');
      expect(inputs.filter((file) => /node-(threads|gpu)|(^|\/)formats\//.test(file))).toEqual([]);
    },
  );

  test('compile without the types of Node', () => {
    const file = join(root, 'tsconfig.json');
    const { config } = ts.readConfigFile(file, ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(file));
    const sources = forPages.map(({ pageSource }) => pageSource!);
    const program = ts.createProgram(sources, {
      ...options,
      types: [],
      isolatedDeclarations: false,
      declaration: false,
    });
    const said = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, '\n');
      return `${file === undefined ? '' : relative(root, file.fileName)}: ${text}`;
    });
    expect(said).toEqual([]);
    const files = program.getSourceFiles().map(({ fileName }) => relative(root, fileName));
    expect(files).toContain('backends/workers/page.ts');
    expect(files.filter((name) => name.includes('@types/node'))).toEqual([]);
  }, 60_000);
});
