#!/usr/bin/env node
// The command behind `npm test`: runs all tests, or those in the files named, with Node alone, on the adapter that
// QUADRILLE_ADAPTER chooses (`software` by default, or `hardware`). Its last line counts what passed and what failed.
import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = await startVitest('test', process.argv.slice(2), { root, watch: false });
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

function moduleErrors(module) {
  const suites = [...module.children.allSuites()];
  return module.errors().length + suites.reduce((sum, suite) => sum + suite.errors().length, 0);
}
