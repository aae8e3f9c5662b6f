import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');

/** A folder of a user's project that depends on the package, as it is built. */
export interface Project {
  readonly folder: string;
  /** Writes a file of the project. */
  write(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/** Builds the package into a project within the repository, where its dependencies are found. */
export async function createProject(): Promise<Project> {
  await mkdir(join(root, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(root, '.cache', 'project-'));
  const home = join(folder, 'node_modules', 'quadrille');
  const dist = join(home, 'dist');
  const run = promisify(execFile);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // Types are the business of npm run check.
  const options = ['--noCheck', '--declaration', 'false', '--isolatedDeclarations', 'false', '--outDir', dist];
  await run(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...options]);
  await run(process.execPath, [join(root, 'backends/workers/page-worker-build.mjs'), join(dist, 'page-worker.js')]);
  await copyFile(join(root, 'package.json'), join(home, 'package.json'));
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await write('package.json', '{ "type": "module", "private": true }');
  // Its own, as esbuild would take that of the repository, whose paths lead to the sources.
  await write('tsconfig.json', '{}');
  return { folder, write, remove: () => rm(folder, { recursive: true, force: true }) };
}
