#!/usr/bin/env node
// Runs the sources where they are (a checkout has main.ts beside this file), and the compiled files where only they
// were published.
import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// Most runs are over before optimized code of what is not called often pays for being compiled: with V8's own budget, a run
// of a second spends a third of one on it.
setFlagsFromString('--interrupt-budget=600000');

const sources = new URL('./main.ts', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

if (existsSync(sources)) (await import('tsx/esm/api')).register();
const { main } = await import(existsSync(sources) ? sources.href : '../dist/cli/main.js');
process.exitCode = await main(process.argv.slice(2), version);
