import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
/** Folders that are copied into the package unchanged, without compilation. */
const AS_THEY_ARE = ['bench', 'docs', 'examples'];
const POLL_MS = 100;

/**
 * Returns a folder with the built package: `dist`, `cli` and `package.json`. In each run of the tests, the first caller
 * builds the package, and all other callers share the folder. Commands start much faster from this folder than from the
 * sources.
 */
export async function builtPackage(): Promise<string> {
  const folder = process.env.QUADRILLE_BUILT;
  if (folder === undefined) throw new Error('QUADRILLE_BUILT is not set: compile-workers.mjs sets it.');
  const first = await mkdir(folder).then(
    () => true,
    () => false,
  );
  if (first) await buildInto(folder);
  else await untilBuilt(folder);
  return folder;
}

/** The path of the file that starts the built command. */
export async function builtCommand(): Promise<string> {
  return join(await builtPackage(), 'cli', 'quadrille.mjs');
}

async function buildInto(folder: string): Promise<void> {
  try {
    const dist = join(folder, 'dist');
    for (const made of [join(folder, 'cli'), dist]) await mkdir(made);
    await copyFile(join(root, 'cli', 'quadrille.mjs'), join(folder, 'cli', 'quadrille.mjs'));
    await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
    for (const name of AS_THEY_ARE) await symlink(join(root, name), join(folder, name));
    await Promise.all([
      compileModules(dist),
      run('npm', ['run', 'page-worker', '--', join(dist, 'page-worker.js')], { cwd: root }),
      run('npm', ['run', 'build:command', '--', join(dist, 'command')], { cwd: root }),
    ]);
    await writeFile(join(folder, 'done'), '');
  } catch (error) {
    await writeFile(join(folder, 'failed'), `${error}`);
    throw error;
  }
}

/**
 * Compiles each module of the package to a file of its own, with esbuild. The release tests use the published package
 * instead, which TypeScript compiles in ten times as long.
 */
async function compileModules(outdir: string): Promise<void> {
  const { include } = JSON.parse(await readFile(join(root, 'tsconfig.build.json'), 'utf8')) as { include: string[] };
  // Some entries are single files. The package's own build also compiles what they import, so take their whole folder.
  const folders = new Set(include.map((name) => (name.endsWith('.ts') ? dirname(name) : name)));
  const modules = await Promise.all(Array.from(folders, modulesIn));
  await build({
    absWorkingDir: root,
    entryPoints: modules.flat(),
    outdir,
    outbase: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [separateModules],
  });
}

async function modulesIn(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: folder !== '.' });
  const isModule = (name: string): boolean => name.endsWith('.ts') && !/\.(test|config)\.ts$/.test(name);
  return names.filter(isModule).map((name) => join(folder, name));
}

/** Keeps every import as an import, and changes the extension of imported modules to that of compiled modules. */
const separateModules: Plugin = {
  name: 'separate-modules',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind === 'entry-point'
        ? undefined
        : { path: path.startsWith('.') ? path.replace(/\.ts$/, '.js') : path, external: true },
    );
  },
};

async function untilBuilt(folder: string): Promise<void> {
  while (!(await isThere(join(folder, 'done')))) {
    if (await isThere(join(folder, 'failed'))) throw new Error('Building the package failed in another test file.');
    await setTimeout(POLL_MS);
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
