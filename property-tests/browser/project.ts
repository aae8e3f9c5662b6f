import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtPackage } from '../support/built-package.ts';

const root = join(import.meta.dirname, '..', '..');

/** The folder of a user's project that depends on the built package. */
export interface Project {
  readonly folder: string;
  /** Writes a file of the project. */
  write(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Makes a new project with the built package. The folder is inside the repository, so that imports of packages resolve.
 */
export async function createProject(): Promise<Project> {
  await mkdir(join(root, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(root, '.cache', 'project-'));
  const home = join(folder, 'node_modules', 'quadrille');
  const built = await builtPackage();
  for (const name of ['dist', 'package.json']) await cp(join(built, name), join(home, name), { recursive: true });
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await write('package.json', '{ "type": "module", "private": true }');
  // Without this file, esbuild would use the tsconfig of the repository, whose paths lead to the sources.
  await write('tsconfig.json', '{}');
  return { folder, write, remove: () => rm(folder, { recursive: true, force: true }) };
}
