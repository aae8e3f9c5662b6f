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
/** What a fresh clone does not have, and what no published file is made of. */
const NOT_CLONED = new Set(['node_modules', 'dist', '.git', '.device', '.cache', join('docs', 'site')]);

/** The package as `npm pack` makes it of a fresh clone. */
export interface Packed {
  /** A folder of its own, for the tests that use the package; to be removed. */
  readonly folder: string;
  readonly tarball: Uint8Array;
  /** What is in it, by paths from the package's root. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What `npm publish --dry-run` says but for its list of the files. */
  readonly said: string;
}

/** Copies what a clone has, builds and packs it there, and lets npm tell what publishing it would do. */
export async function pack(): Promise<Packed> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quadrille-package-')));
  const clone = join(folder, 'clone');
  cpSync(root, clone, { recursive: true, filter: (path) => !NOT_CLONED.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], clone);
  // No registry is asked: there is none at this address, and a version that is published already is no matter here.
  const nowhere = ['--registry', 'http://127.0.0.1:9/', '--fetch-retries', '0'];
  const { stderr } = await run('npm', ['publish', '--dry-run', '--ignore-scripts', ...nowhere], clone);
  const tarball = readFileSync(join(folder, `quadrille-${manifest.version}.tgz`));
  const entries = [...tarFiles(gunzipSync(tarball))].map(({ name, bytes }) => [name.replace('package/', ''), bytes]);
  return { folder, tarball, files: new Map(entries as [string, Uint8Array][]), said: stderr };
}

let projects = 0;

/**
 * An empty project that has the package installed, with its dependencies and with the packages named, and nothing else: those
 * lie in the clone, so that no registry is asked.
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

/** As npm does, so that scripts of a package.json find the commands. */
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

/** What a program said and how it ended. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node in a folder. */
export function node(folder: string, args: readonly string[]): Promise<Said> {
  return runToEnd(process.execPath, args, folder);
}

/** Runs a script of a project's package.json. */
export function npmRun(project: string, name: string): Promise<Said> {
  return runToEnd('npm', ['run', name], project);
}

/** Runs the package's command in a project that has it. */
export function quadrille(project: string, ...args: readonly string[]): Promise<Said> {
  return node(project, [join('node_modules', 'quadrille', manifest.bin.quadrille), ...args]);
}

/** Runs the text of a module in a folder. */
export function script(folder: string, text: string): Promise<Said> {
  return node(folder, ['--input-type=module', '-e', text]);
}

async function runToEnd(command: string, args: readonly string[], cwd: string): Promise<Said> {
  return run(command, args, cwd).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  // What npm or vitest set for this process is not for the user's: npm's own settings, loaders, colours.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|VITEST|FORCE_COLOR$)/i.test(name)),
  );
  return promisify(execFile)(command, args, { cwd, env: { ...env, NO_COLOR: '1' }, maxBuffer: 2 ** 26 });
}
