import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OptionSpec } from '../../cli/command-line.ts';
import { COMMANDS, type Commands } from '../../cli/commands.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';

/** All commands with their options, in whatever order. */
async function listed(commands: Commands, before = ''): Promise<[path: string, specs: readonly OptionSpec[]][]> {
  const found = await Promise.all(
    Object.entries(commands).map(async ([name, one]) =>
      'of' in one ? listed(one.of, `${before}${name} `) : [[`${before}${name}`, await one.specs()] as const],
    ),
  );
  return found.flat() as [string, readonly OptionSpec[]][];
}

const INSTALLED = ['bash', 'zsh', 'fish'].filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);

let shop: Workshop;
let folder: string;
const scripts: Record<string, string> = {};
let commands: [path: string, specs: readonly OptionSpec[]][];

beforeAll(async () => {
  shop = await openWorkshop();
  folder = await mkdtemp(join(tmpdir(), 'quadrille-completion-'));
  commands = await listed(COMMANDS);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout, exitCode } = await shop.quadrille(['completion', shell]);
    expect(exitCode).toBe(0);
    scripts[shell] = stdout;
    await writeFile(join(folder, shell), stdout);
  }
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await shop.remove();
});

describe('the completion of command lines', () => {
  test('has every command and option, in every shell', () => {
    for (const [path, specs] of commands) {
      for (const { name } of specs) {
        expect(scripts.bash, `${path} --${name}`).toMatch(new RegExp(`'${path}'\\) words='[^']*--${name}[ ']`));
        expect(scripts.zsh, `${path} --${name}`).toMatch(new RegExp(`'${path}'\\) _arguments .*[)*]--${name}[=\\[]`));
        expect(scripts.fish).toMatch(new RegExp(`__quadrille_at "${path}"' -l ${name} `));
      }
    }
  });

  test('is a script without faults of syntax', () => {
    for (const shell of INSTALLED) {
      const { status, stderr } = spawnSync(shell, ['-n', join(folder, shell)], { encoding: 'utf8' });
      expect([shell, status, stderr]).toEqual([shell, 0, '']);
    }
  });

  const asked = (lines: readonly (readonly string[])[]): string[][] => {
    const asking = lines.map((words) => `ask ${words.map((word) => `'${word}'`).join(' ')}`).join('\n');
    const program =
      `source '${join(folder, 'bash')}'; compopt() { :; }\n` +
      `ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quadrille; echo "\${COMPREPLY[*]}"; }\n${asking}\n`;
    const { stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').map((line) => line.split(' ').filter((word) => word !== ''));
  };

  test('offers commands, options and values to bash', () => {
    const [all, z, index, shells, equals, files] = asked([
      ['quadrille', ''],
      ['quadrille', 'z'],
      ['quadrille', 'index', ''],
      ['quadrille', 'completion', ''],
      ['quadrille', 'zonal', '--mask', '=', 'n'],
      ['quadrille', 'zonal', '--zones', ''],
    ]);
    expect(all).toEqual(Object.keys(COMMANDS));
    expect([z, index, shells]).toEqual([['zonal'], ['build', 'info', 'query'], ['bash', 'zsh', 'fish']]);
    expect([equals, files]).toEqual([['none'], []]);
    const options = asked(commands.map(([path]) => ['quadrille', ...path.split(' '), '--']));
    for (const [at, [path, specs]] of commands.entries()) {
      expect([path, ...options[at]!]).toEqual([path, ...specs.map(({ name }) => `--${name}`)]);
    }
    const chosen = commands.flatMap(([path, specs]) =>
      specs.filter(({ choices }) => choices !== undefined).map((spec) => [path, spec] as const),
    );
    const values = asked(chosen.map(([path, { name }]) => ['quadrille', ...path.split(' '), `--${name}`, '']));
    for (const [at, [, { choices }]] of chosen.entries()) expect(values[at]).toEqual(choices);
  });

  test('of another shell is refused', async () => {
    const { exitCode, stderr } = await shop.quadrille(['completion', 'fisch']);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Did you mean fish?')]);
    const missing = await shop.quadrille(['completion']);
    expect(missing).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('Name a shell right') });
  });
});
