#!/usr/bin/env node
// The command behind `npm test`. It runs the named test files, or by default all tests except the release tests. Only
// Node is needed. QUADRILLE_ADAPTER chooses the adapter: `software` (the default) or `hardware`.
//
// `--thorough` tries each law on all of its cases. If no files are named, `--thorough` runs only the files that
// `filesOfLaws` returns. The last line of the output states how many tests passed and failed.
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
 * Files that `--thorough` runs only if they are named. They spend their time on fault injection, threads and videos,
 * and not on random cases.
 */
const LEFT_OUT = [
  'capacity-checks',
  'cross-compare',
  'failover',
  'faults-prepared',
  'faults-webgpu',
  'faults-workers',
  'sampling-boxes',
  'transfers',
  'workers-backend',
  'workers-prepared',
];

/** Tests of the published package, its documentation and pages: `npm run test:release`. Most build the package. */
const RELEASE = 'property-tests/release/**';

/** Milliseconds after which processes that have not exited are killed. */
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
// Files that cannot be loaded, errors outside of any test, and skipped tests also count as failures.
const broken = modules.filter((module) => module.state() === 'failed' && moduleErrors(module) > 0).length;
const failed = states.length - passed + broken + vitest.state.getUnhandledErrors().length;
setTimeout(endProcesses, CLOSE_LIMIT).unref();
await vitest.close();
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
process.stdout.write(`${passed} passed, ${failed} failed\n`);

/** The files that contain cases whose number depends on QUADRILLE_THOROUGH, except the files in LEFT_OUT. */
function filesOfLaws() {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const isOfLaws = (name) =>
    /from '(@?fast-check.*|(\.\.\/)+(law-test|backends|cases)\.ts)'/.test(readFileSync(folder + name, 'utf8'));
  const isLeftOut = (name) => LEFT_OUT.includes(basename(name, '.test.ts'));
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('release/'));
  // The folder is included, because Vitest selects all files whose path contains the given text.
  return names.filter((name) => !isLeftOut(name) && isOfLaws(name)).map((name) => `property-tests/${name}`);
}

function moduleErrors(module) {
  const suites = [...module.children.allSuites()];
  return module.errors().length + suites.reduce((sum, suite) => sum + suite.errors().length, 0);
}
