import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { tarFiles } from '../../backends/webgpu-node/tar-files.ts';
import manifest from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');
/** Paths that a fresh clone does not contain. No published file is built from them. */
const NOT_CLONED = new Set(['node_modules', 'dist', '.git', '.device', '.cache', join('docs', 'site')]);

/** The result of `npm pack` in a fresh clone. */
export interface Packed {
  /** A temporary folder in which tests may install the package. The tests must remove this folder. */
  readonly folder: string;
  readonly tarball: Uint8Array;
  /** The files of the package, by their paths from its root. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What `npm publish --dry-run` prints, except for its list of files. */
  readonly said: string;
}

/** Copies the files that a clone has, builds and packs them, and runs `npm publish --dry-run`. */
export async function pack(): Promise<Packed> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quadrille-package-')));
  const clone = join(folder, 'clone');
  cpSync(root, clone, { recursive: true, filter: (path) => !NOT_CLONED.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], clone);
  // The address of a registry that does not exist, because `npm publish` would fail if the version were already
  // published.
  const nowhere = ['--registry', 'http://127.0.0.1:9/', '--fetch-retries', '0'];
  const { stderr } = await run('npm', ['publish', '--dry-run', '--ignore-scripts', ...nowhere], clone);
  const tarball = readFileSync(join(folder, `quadrille-${manifest.version}.tgz`));
  const entries = [...tarFiles(gunzipSync(tarball))].map(({ name, bytes }) => [name.replace('package/', ''), bytes]);
  return { folder, tarball, files: new Map(entries as [string, Uint8Array][]), said: stderr };
}

let projects = 0;

/**
 * Makes an empty project in which the package, its dependencies and the named packages are installed. Dependencies and
 * named packages are links into the repository's node_modules, so that no registry is needed.
 */
export function installIn({ folder, files }: Packed, packages: readonly string[] = []): string {
  const project = join(folder, `project-${++projects}`);
  const modules = join(project, 'node_modules');
  for (const [path, bytes] of files) {
    const target = join(modules, 'quadrille', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes);
  }
  for (const name of [...Object.keys(manifest.dependencies), ...packages]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
    linkCommands(modules, name);
  }
  linkCommands(modules, 'quadrille');
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  return project;
}

/**
 * Links the commands of the package `name` into the project's `.bin` folder, where scripts of a package.json find them.
 */
function linkCommands(modules: string, name: string): void {
  const { bin = {} } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
  const commands = Object.entries<string>(typeof bin === 'string' ? { [basename(name)]: bin } : bin);
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const [command, file] of commands) {
    if (existsSync(join(modules, '.bin', command))) continue;
    chmodSync(join(modules, name, file), 0o755);
    symlinkSync(join('..', name, file), join(modules, '.bin', command));
  }
}

/** What a program printed, and its exit code. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node in a folder. */
export function node(folder: string, args: readonly string[]): Promise<Said> {
  return runToEnd(process.execPath, args, folder);
}

/**
 * What a compiler prints of a program in a project: its errors. By default, the program has the libraries ES2022 and
 * DOM.
 */
export async function compilerErrors(
  project: string,
  compiler: string,
  program: string,
  options: object,
): Promise<string> {
  writeFileSync(join(project, 'program.ts'), program);
  const compilerOptions = { target: 'es2022', lib: ['es2022', 'dom'], types: [], strict: true, noEmit: true };
  const config = { compilerOptions: { ...compilerOptions, ...options }, files: ['program.ts'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  return (await node(project, [join('node_modules', compiler, 'bin', 'tsc'), '-p', '.'])).stdout;
}

/** Runs a script of a project's package.json. */
export function npmRun(project: string, name: string): Promise<Said> {
  return runToEnd('npm', ['run', name], project);
}

/** Runs the package's command in a project where it is installed. */
export function quadrille(project: string, ...args: readonly string[]): Promise<Said> {
  return node(project, [join('node_modules', 'quadrille', manifest.bin.quadrille), ...args]);
}

/** Runs Node in a folder. Node executes `text` as a module. */
export function script(folder: string, text: string): Promise<Said> {
  return node(folder, ['--input-type=module', '-e', text]);
}

/** Runs a program in a folder to its end, whatever its exit code. */
export async function runToEnd(command: string, args: readonly string[], cwd: string): Promise<Said> {
  return run(command, args, cwd).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  // The environment of a user, without the variables that npm and vitest set for this process. Such variables set
  // options of npm, loaders of Node, and colours.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|VITEST|FORCE_COLOR$)/i.test(name)),
  );
  return promisify(execFile)(command, args, { cwd, env: { ...env, NO_COLOR: '1' }, maxBuffer: 2 ** 26 });
}
