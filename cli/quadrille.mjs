#!/usr/bin/env node
// Runs the sources if they exist (a checkout has main.ts next to this file), else the build, if only that was
// published.
import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// Most runs last a second or two. With the default budget of V8 in Node 20, a third of a second of that goes into optimizing
// functions that are hardly called again. Later versions count otherwise, and refuse the flag.
if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=600000');

const sources = new URL('./main.ts', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const args = process.argv.slice(2);

async function load() {
  if (existsSync(sources)) {
    (await import('tsx/esm/api')).register();
    return import(sources.href);
  }
  // Commands that measure run from the library's modules, which users' experiments also import. Other commands run from
  // a bundle.
  if (args[0] === 'bench' || args[0] === 'tune') return import('../dist/cli/main.js');
  return import('../dist/command/main.js');
}

const { main } = await load();
process.exitCode = await main(args, version);
