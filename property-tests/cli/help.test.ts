import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import type { OptionSpec } from '../../cli/command-line.ts';
import { COMMANDS, type Commands } from '../../cli/commands.ts';
import { helpWidth, wrapHelp } from '../../cli/help-text.ts';
import { ZONAL_SPECS } from '../../cli/zonal-arguments.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';

/** The names of all commands in a table of them, and those of families. */
function namesOf(commands: Commands, before = ''): string[] {
  return Object.entries(commands).flatMap(([name, command]) =>
    'of' in command ? namesOf(command.of, `${before}${name} `) : [`${before}${name}`],
  );
}

function specsOf(command: string): Promise<readonly OptionSpec[]> {
  const [first, second] = command.split(' ');
  const one = COMMANDS[first!]!;
  const leaf = 'of' in one ? one.of[second!]! : one;
  return 'specs' in leaf ? leaf.specs() : Promise.resolve([]);
}

let shop: Workshop;
const texts: string[] = [];
beforeAll(async () => {
  shop = await openWorkshop();
  for (const command of [...namesOf(COMMANDS), '', 'index', 'raster', 'queue']) {
    for (const all of [[], ['all']]) texts.push(await told(...command.split(' ').filter(Boolean), '--help', ...all));
  }
});
afterAll(() => shop.remove());

async function told(...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await shop.quadrille(words);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

const wordsOf = (text: string): string[] => text.split(/\s+/);

describe('the help of commands', () => {
  plainTest.each(namesOf(COMMANDS))('lists every option of %s once, below its group', async (command) => {
    const lines = (await told(...command.split(' '), '--help', 'all')).split('\n');
    const listed = new Map<string, string[]>();
    for (const [at, line] of lines.entries()) {
      const name = /^ {2}(?:-\w, )?--([a-z-]+)( \S+)? {2,}\S|^ {2}(?:-\w, )?--([a-z-]+)( \S+)?$/.exec(line);
      if (name === null) continue;
      const heading = lines.slice(0, at).findLast((each) => /^\S/.test(each));
      if (heading === 'What is written:' || heading === 'Questions:' || heading?.endsWith('queries:')) continue;
      const option = (name[1] ?? name[3])!;
      listed.set(option, [...(listed.get(option) ?? []), heading!]);
    }
    const specs = await specsOf(command);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(specs.map(({ name, group }) => [name, [`${group}:`]])),
    );
  });

  test.prop([fc.nat(), fc.integer({ min: 40, max: 130 })], { numRuns: caseCount(2000) })(
    'fits on any terminal, word for word',
    (which, width) => {
      const text = texts[which % texts.length]!;
      const wrapped = wrapHelp(text, width);
      expect(wordsOf(wrapped)).toEqual(wordsOf(text));
      const [beforeExamples, examples = ''] = wrapped.split(/^(?=Examples?:$)/m);
      for (const line of beforeExamples!.split('\n')) {
        // A word that is too long stands alone, or beside the name of its entry.
        if (line.length > width) expect(line).toMatch(/^( *\S+(?: \S+)* {2,}| +)?\S+$/);
      }
      const verbatim = text.split(/^(?=Examples?:$)/m)[1] ?? '';
      expect(examples.split('\n\n')[0]).toBe(verbatim.split('\n\n')[0]);
    },
  );

  plainTest('of zonal is one screen, and names what is said with all', async () => {
    const page = await told('zonal', '--help');
    for (const [width, height] of [
      [80, 40],
      [60, 62],
    ] as const) {
      const lines = wrapHelp(page, width).trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(height);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    }
    for (const told of [
      'quadrille zonal --help all',
      '--layer NAME',
      'brought to the coordinate system of the rasters',
    ])
      expect(page.replaceAll(/\s+/g, ' ')).toContain(told);
    for (const [, name] of page.matchAll(/--([a-z-]+)/g)) expect(ZONAL_SPECS.map((spec) => spec.name)).toContain(name);
  });

  plainTest.each(namesOf(COMMANDS))('calls the options of %s as those of all others', async (command) => {
    const specs = await specsOf(command);
    const shortOf = Object.fromEntries(specs.map(({ name, short }) => [name, short]));
    const common = { out: 'o', quiet: 'q', help: 'h' };
    for (const [name, short] of Object.entries(common)) {
      expect([command, name, shortOf[name] ?? short]).toEqual([command, name, short]);
    }
    const isSilent = ['devices', 'completion'].includes(command);
    expect([command, 'quiet' in shortOf, 'json-log' in shortOf]).toEqual([command, !isSilent, !isSilent]);
    // A worker serves until it is stopped; the outputs of tune and completion are for programs anyway.
    expect([command, 'json' in shortOf]).toEqual([command, !['worker', 'tune', 'completion'].includes(command)]);
  });

  plainTest('is also that of the command help', async () => {
    expect(await told('help', 'zonal')).toBe(await told('zonal', '--help'));
    expect(await told('help', 'zonal', 'all')).toBe(await told('zonal', '-h', 'all'));
    expect(await told('help', 'index', 'build')).toBe(await told('index', 'build', '--help'));
    expect(await told('help', 'index')).toBe(await told('index', '--help'));
    expect(await told('help')).toBe(await told('--help'));
    expect(await shop.quadrille(['help', 'zonl'])).toMatchObject({ exitCode: 2, stdout: '' });
  });

  plainTest('is as wide as the terminal or COLUMNS says, at most 100', () => {
    expect(helpWidth({ columns: 60 }, {})).toBe(60);
    expect(helpWidth({ columns: 60 }, { COLUMNS: '80' })).toBe(80);
    expect(helpWidth({ columns: 200 }, { COLUMNS: '' })).toBe(100);
    expect(helpWidth({}, { COLUMNS: 'wide' })).toBe(100);
    expect(helpWidth({ columns: 10 }, {})).toBe(40);
  });
});
