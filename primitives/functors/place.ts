import type { ErrorPlace } from '../errors.ts';

/** The file, line and column at the end of a stack frame: `at name (file:1:2)`, `at file:1:2` or `name@file:1:2`. */
const frame = /(?:\(|@|at (?:async )?)([^()]+):(\d+):(\d+)\)?$/;
const own = /[\\/]primitives[\\/](functors|columns)[\\/]/;

/**
 * The line of the caller's code that is being executed: the first stack frame outside the builder. The runtime maps it
 * to the source file where it knows how.
 */
export function callerPlace(): ErrorPlace | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 40;
  const lines = (new Error().stack ?? '').split('\n').slice(1);
  Error.stackTraceLimit = limit;
  for (const line of lines) {
    const match = frame.exec(line);
    if (match === null || own.test(match[1]!) || match[1]!.startsWith('node:')) continue;
    return { file: match[1]!.replace(/^file:\/\//, ''), line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}
