#!/usr/bin/env node
// The command behind `npm test`: runs all tests, or those in the files named, with Node alone, on the adapter that
// QUADRILLE_ADAPTER chooses (`software` by default, or `hardware`). `--thorough` runs the files that state laws, and tries
// each law on all the cases that it asks for. The last line counts what passed and what failed.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';
import { LongestFirst } from './longest-first.mjs';
import { ProgressReporter } from './progress-reporter.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { positionals, values } = parseArgs({ allowPositionals: true, options: { thorough: { type: 'boolean' } } });
if (values.thorough) process.env.QUADRILLE_THOROUGH = '1';
const names = values.thorough && positionals.length === 0 ? filesOfLaws() : positionals;
const vitest = await startVitest('test', names, {
  root,
  watch: false,
  reporters: [new ProgressReporter()],
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
await vitest.close();
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
process.stdout.write(`${passed} passed, ${failed} failed\n`);

/** Files whose number of random cases depends on QUADRILLE_THOROUGH. */
function filesOfLaws() {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const isOfLaws = (name) =>
    /\bfast-check\b|law-test|from '\.\/backends\.ts'/.test(readFileSync(folder + name, 'utf8'));
  return readdirSync(folder).filter((name) => name.endsWith('.test.ts') && isOfLaws(name));
}

function moduleErrors(module) {
  const suites = [...module.children.allSuites()];
  return module.errors().length + suites.reduce((sum, suite) => sum + suite.errors().length, 0);
}
