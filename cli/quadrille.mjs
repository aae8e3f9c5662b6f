#!/usr/bin/env node
// If main.ts is next to this file, as in a checkout, runs the TypeScript sources. Otherwise runs the built files,
// because the published package contains only built files.
import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// Most runs take a second or two. With the default `--interrupt-budget` of Node 20, V8 spends a third of a second on
// optimizing functions that are hardly called again. Later versions of Node compute the budget differently, and reject
// this flag.
if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=600000');

const sources = new URL('./main.ts', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const args = process.argv.slice(2);

async function load() {
  if (existsSync(sources)) {
    (await import('tsx/esm/api')).register();
    return import(sources.href);
  }
  // These commands load the unbundled modules of the library, because users' experiments and modules import the same
  // modules. All other commands load a bundle.
  if (['bench', 'tune', 'worker'].includes(args[0])) return import('../dist/cli/main.js');
  return import('../dist/command/main.js');
}

const { main } = await load();
process.exitCode = await main(args, version);
// Modules that a worker was given may keep the process alive: timers, connections, functions that were given up.
if (args[0] === 'worker') setTimeout(() => process.exit(), 1000).unref();
