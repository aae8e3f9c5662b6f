import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { builtCommand } from '../support/built-package.ts';

/** The file that starts the command from its sources. Starting takes four times as long as from the build. */
const UNBUILT = fileURLToPath(new URL('../../cli/quadrille.mjs', import.meta.url));
const BIN = await builtCommand();

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-cli-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function quadrille(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return ended(start(args, env));
}

function start(
  args: readonly string[],
  env: Record<string, string> = {},
  node: readonly string[] = [],
  bin = BIN,
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [...node, bin, ...args], { cwd: folder, env: { ...process.env, ...env } });
}

function ended(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (output.stdout += chunk));
    child.stderr.on('data', (chunk) => (output.stderr += chunk));
    child.on('error', reject);
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal, ...output }));
  });
}

const ZONAL = ['zonal', '--zones', 'zones.json', '--raster', 'raster.tif'];

describe('quadrille', () => {
  test('is committed as an executable file', async () => {
    await expect(access(UNBUILT, constants.X_OK)).resolves.toBeUndefined();
    expect(await readFile(UNBUILT, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  test('runs the bundle when the sources are not published, and measuring commands from the library', async () => {
    await mkdir(join(folder, 'cli'));
    await copyFile(UNBUILT, join(folder, 'cli', 'quadrille.mjs'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "version": "7.8.9" }');
    for (const built of ['command', 'cli']) {
      await mkdir(join(folder, 'dist', built), { recursive: true });
      const main = `export const main = async (args, version) => (console.log('${built}', args, version), 2);`;
      await writeFile(join(folder, 'dist', built, 'main.js'), main);
    }
    for (const [name, built] of [
      ['zonal', 'command'],
      ['bench', 'cli'],
      ['tune', 'cli'],
    ]) {
      const end = await ended(spawn(process.execPath, [join(folder, 'cli', 'quadrille.mjs'), name!, '--x']));
      expect(end).toMatchObject({ exitCode: 2, stdout: `${built} [ '${name}', '--x' ] 7.8.9\n`, stderr: '' });
    }
  });

  test('prints its version and its help on stdout', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    for (const bin of [BIN, UNBUILT]) {
      const end = await ended(start(['--version'], {}, [], bin));
      expect(end).toMatchObject({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
    }
    const help = await quadrille(['zonal', '--help', 'all']);
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    for (const option of ['--zones', '--bins', '--stats', '--assume-crs', '--json-log'])
      expect(help.stdout).toContain(option);
    for (const said of [
      /zone,lower,upper,count/,
      /nodata/,
      /below/,
      /above/,
      /lower <= value < upper/,
      /index .*from 0/,
    ])
      expect(help.stdout.replaceAll(/\s+/g, ' ')).toMatch(said);
    expect((await quadrille(['devices', '--help'])).stdout).toMatch(/--verbose.*binding .*workgroups .*buffers /s);
  });

  test.each([
    [[], 'No command is given. See --help.'],
    [['zonl'], 'There is no command zonl. Did you mean zonal?'],
    [['frobnicate'], 'There is no command frobnicate. See --help for the commands.'],
    [['devices', '--jsn'], 'There is no option --jsn. Did you mean --json?'],
    [[...ZONAL, '--unique', '--otu', 'x'], 'There is no option --otu. Did you mean --out?'],
    [ZONAL, 'The bins are missing. Give one of --bins lo:hi:width, --edges a,b,c and --unique, or --stats FILE alone.'],
    [
      [...ZONAL, '--stats', '-', '--format', 'json'],
      'There are no bins for --format. Give one of --bins lo:hi:width, --edges a,b,c and --unique, or leave --format out: --stats alone needs no bins.',
    ],
    [
      [...ZONAL, '--stats', 's.csv', '--out', 'o.csv', '--plot', 'p.svg'],
      'There are no bins for --out and --plot. Give one of --bins lo:hi:width, --edges a,b,c and --unique, or leave --out and --plot out: --stats alone needs no bins.',
    ],
    [
      [...ZONAL, '--bins', '1:0:0.1', '--out', 'o.csv'],
      '--bins 1:0:0.1: the lower end 1 is not below the upper end 0. Put the lower end first.',
    ],
    [
      [...ZONAL, '--unique', '--plot', 'p.png'],
      '--plot p.png would hold SVG, which does not match .png. Name a file that ends in .svg; browsers and rsvg-convert can convert it.',
    ],
    [
      [...ZONAL, '--unique', '--out', 'o.xlsx'],
      '--out o.xlsx would hold CSV or JSON or Arrow, which does not match .xlsx. Name a file that ends in .csv, .json or .arrow, or keep the name and give --format csv, json or arrow.',
    ],
  ])('answers %j with exit code 2 and one line on stderr', async (args, line) => {
    expect(await quadrille(args)).toMatchObject({ exitCode: 2, stdout: '', stderr: `quadrille: ${line}\n` });
    expect(await readdir(folder)).toEqual([]);
  });

  test('prints command-line errors as JSON with --json-log', async () => {
    const { exitCode, stderr } = await quadrille([...ZONAL, '--unique', '--band', 'x', '--json-log']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ event: 'error', code: 'usage/not-a-count', exitCode: 2 });
  });

  test('shows the stack of an error only when debugging', async () => {
    expect((await quadrille(['zonl'])).stderr).not.toContain('    at ');
    expect((await quadrille(['zonl'], { QUADRILLE_DEBUG: '1' })).stderr).toContain('    at ');
  });
});

describe('quadrille zonal', () => {
  test('names the missing file, and writes nothing', async () => {
    const { exitCode, stdout, stderr } = await quadrille([...ZONAL, '--unique', '--out', 'out.csv']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toBe('quadrille: zones.json: There is no such file. Check the path.\n');
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses an output that cannot be written before it reads the input', async () => {
    await writeFile(join(folder, 'zones.json'), 'not even JSON');
    const { exitCode, stderr } = await quadrille([...ZONAL, '--unique', '--out', 'missing/out.csv']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^quadrille: missing\/out\.csv cannot be written: its folder does not exist\. .+\n$/);
  });

  test('ends at once at the second Ctrl-C, even during a read that hangs, and leaves no file', async () => {
    execFileSync('mkfifo', [join(folder, 'zones.json')]);
    // The module prints a word for each signal, because a second signal is lost until the first has been handled.
    await writeFile(join(folder, 'seen.mjs'), "process.on('SIGINT', () => process.stderr.write('seen '));");
    const child = start([...ZONAL, '--unique', '--out', 'out.csv'], {}, ['--import', join(folder, 'seen.mjs')]);
    const end = ended(child);
    await vi.waitUntil(async () => (await readdir(folder)).some((name) => name.endsWith('.tmp')), { timeout: 60_000 });
    child.kill('SIGINT');
    await once(child.stderr, 'data');
    child.kill('SIGINT');
    expect(await end).toMatchObject({ signal: 'SIGINT', stdout: '', stderr: 'seen seen ' });
    expect((await readdir(folder)).sort()).toEqual(['seen.mjs', 'zones.json']);
  });
});
