import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test('the declarations compile for a program that has the library of ES2022, and no types of Node', async () => {
  const declared = await declarations();
  const entry = join(root, 'user.ts');
  const files = new Map([...declared, [entry, "import { open } from './index.js';\nvoid open;\n"]]);
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    noEmit: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile: read, getSourceFile } = host;
  const isSource = (name: string): boolean => name.endsWith('.ts') && !relative(root, name).includes('node_modules');
  host.fileExists = (name) => files.has(name) || (!isSource(name) && fileExists(name));
  host.readFile = (name) => files.get(name) ?? read(name);
  host.getSourceFile = (name, version, ...rest) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile(name, version, ...rest) : ts.createSourceFile(name, text, version);
  };
  const program = ts.createProgram([entry], options, host);
  const said = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file === undefined ? '' : relative(root, file.fileName)}: ${text}`;
  });
  expect(said).toEqual([]);
  expect(program.getSourceFile(join(root, 'primitives/context.d.ts'))).toBeDefined();
}, 60_000);

/** What `tsc` declares of every module that `open` stands on. */
async function declarations(): Promise<Map<string, string>> {
  const folders = ['primitives', 'backends', 'graph', 'algorithms', 'formats'];
  const inFolders = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((name) => join(folder, name)),
    ),
  );
  const sources = [
    'index.ts',
    'on-node.ts',
    'open.ts',
    'devices.ts',
    'platform.ts',
    ...inFolders.flat().filter((name) => name.endsWith('.ts')),
  ];
  const compilerOptions: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    isolatedDeclarations: true,
    rewriteRelativeImportExtensions: true,
  };
  const entries = sources.map(async (name): Promise<[string, string]> => {
    const fileName = join(root, name);
    const { outputText } = ts.transpileDeclaration(await readFile(fileName, 'utf8'), { fileName, compilerOptions });
    return [`${fileName.slice(0, -'.ts'.length)}.d.ts`, outputText.replace(TWICE, '')];
  });
  return new Map(await Promise.all(entries));
}

/** Alone with a module, the compiler declares a method that is named by a symbol as a property, too. */
const TWICE = /^ +\[Symbol\.\w+\]: \(\) => .+;$/gm;
