import { DefaultReporter } from 'vitest/node';

/** Files between two lines of progress. */
const EVERY = 10;
/** How many of the slowest files are named. */
const NAMED = 20;

/** Vitest's own reporter, which also says how many files are done as the run goes on, and which took longest at its end. */
export class ProgressReporter extends DefaultReporter {
  #start = 0;
  #files = 0;
  #done = 0;

  onTestRunStart(specifications) {
    super.onTestRunStart(specifications);
    this.#start = performance.now();
    this.#files = specifications.length;
  }

  onTestModuleEnd(module) {
    super.onTestModuleEnd(module);
    this.#done++;
    if (this.#done % EVERY === 0 || this.#done === this.#files)
      this.log(`${this.#done} of ${this.#files} files after ${minutes(performance.now() - this.#start)}`);
  }

  onTestRunEnd(modules, errors, reason) {
    super.onTestRunEnd(modules, errors, reason);
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, milliseconds: durationOf(module) }))
      .sort((a, b) => b.milliseconds - a.milliseconds)
      .slice(0, NAMED);
    this.log('Slowest files:');
    for (const { name, milliseconds } of slowest)
      this.log(`${(milliseconds / 1000).toFixed(1).padStart(7)} s  ${name}`);
  }
}

function durationOf(module) {
  const { collectDuration, duration, setupDuration } = module.diagnostic();
  return collectDuration + duration + setupDuration;
}

/** A duration as minutes and seconds. */
export function minutes(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`;
}
