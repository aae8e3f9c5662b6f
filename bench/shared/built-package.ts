import { spawnSync } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The package as it is published, so that no TypeScript loader is part of what is measured. */
export interface BuiltPackage {
  /** The file of the command. */
  readonly command: string;
  /** Imports a module of the library, given by its path in the project. */
  load<T>(file: string): Promise<T>;
}

/** Builds the package in a folder. */
export async function builtPackage(folder: string): Promise<BuiltPackage> {
  const outDir = join(folder, 'dist');
  run('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', outDir, '--noCheck', '--incremental', 'false']);
  run(process.execPath, ['cli/command-build.mjs', join(outDir, 'command')]);
  for (const file of ['cli/quadrille.mjs', 'package.json']) await cp(join(project, file), join(folder, file));
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'));
  return {
    command: join(folder, 'cli/quadrille.mjs'),
    load: (file) => import(join(outDir, file.replace(/ts$/, 'js'))) as Promise<never>,
  };
}

function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The package cannot be built: ${stdout}${stderr}`);
}
