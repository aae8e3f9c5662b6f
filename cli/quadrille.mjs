#!/usr/bin/env node
// Runs the sources where they are (a checkout has main.ts beside this file), and the compiled files where only they
// were published.
import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// Most runs last a second or two. With V8's default budget, a third of a second of that goes into optimizing functions that
// are hardly called again.
setFlagsFromString('--interrupt-budget=600000');

const sources = new URL('./main.ts', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

if (existsSync(sources)) (await import('tsx/esm/api')).register();
const { main } = await import(existsSync(sources) ? sources.href : '../dist/cli/main.js');
process.exitCode = await main(process.argv.slice(2), version);
