#!/usr/bin/env node
// The command behind `npm test`: runs all tests but those of the release, or those in the files named, with Node alone, on
// the adapter that QUADRILLE_ADAPTER chooses (`software` by default, or `hardware`). `--thorough` runs the files that state
// laws, or those named, and tries each law on all the cases that it asks for. The last line counts what passed and what failed.
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { configDefaults } from 'vitest/config';
import { startVitest } from 'vitest/node';
import { LongestFirst } from './longest-first.mjs';
import { ProgressReporter } from './progress-reporter.mjs';
import { endProcesses, StuckFiles, watchedForks } from './stuck-files.mjs';

/**
 * Files that take long over faults one after the other, threads and videos, and little of it over random cases: `--thorough`
 * runs them where they are named.
 */
const LEFT_OUT = [
  'capacity-checks',
  'cross-compare',
  'failover',
  'faults-prepared',
  'faults-webgpu',
  'faults-workers',
  'prepared',
  'sampling-boxes',
  'spilling-memory',
  'spilling-under-way',
  'track-cells',
  'transfers',
  'webgpu-tuning',
  'workers-backend',
  'workers-prepared',
];

/** Tests of what is published, of its documents and on pages, most of which build it first: `npm run test:release`. */
const RELEASE = 'property-tests/release/**';

/** Milliseconds that processes have to end by themselves. */
const CLOSE_LIMIT = 30_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const { positionals, values } = parseArgs({ allowPositionals: true, options: { thorough: { type: 'boolean' } } });
if (values.thorough) process.env.QUADRILLE_THOROUGH = '1';
const names = values.thorough && positionals.length === 0 ? filesOfLaws() : positionals;
const vitest = await startVitest('test', names, {
  root,
  watch: false,
  ...(names.length === 0 && { exclude: [...configDefaults.exclude, RELEASE] }),
  pool: watchedForks,
  reporters: [new ProgressReporter(), new StuckFiles()],
  sequence: { sequencer: LongestFirst },
});
const modules = vitest.state.getTestModules();
const tests = modules.flatMap((module) => [...module.children.allTests()]);
const states = tests.map((test) => test.result().state);
const count = (state) => states.filter((other) => other === state).length;
const passed = count('passed');
// A file that does not load, an error outside of any test and a test that was passed over are failures too.
const broken = modules.filter((module) => module.state() === 'failed' && moduleErrors(module) > 0).length;
const failed = states.length - passed + broken + vitest.state.getUnhandledErrors().length;
setTimeout(endProcesses, CLOSE_LIMIT).unref();
await vitest.close();
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
process.stdout.write(`${passed} passed, ${failed} failed\n`);

/** Files whose number of random cases depends on QUADRILLE_THOROUGH, but for those that are left out. */
function filesOfLaws() {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const isOfLaws = (name) =>
    /from '(@?fast-check.*|(\.\.\/)+(law-test|backends)\.ts)'/.test(readFileSync(folder + name, 'utf8'));
  const isLeftOut = (name) => LEFT_OUT.includes(basename(name, '.test.ts'));
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('release/'));
  // With their folders, as names that end alike are told apart by them.
  return names.filter((name) => !isLeftOut(name) && isOfLaws(name)).map((name) => `property-tests/${name}`);
}

function moduleErrors(module) {
  const suites = [...module.children.allSuites()];
  return module.errors().length + suites.reduce((sum, suite) => sum + suite.errors().length, 0);
}
