import { DefaultReporter } from 'vitest/node';

/** Number of files after which a line of progress is printed. */
const EVERY = 10;
/** Number of slowest files to list. */
const NAMED = 20;

/** Vitest's default reporter, extended by progress lines during the run and a list of the slowest files at its end. */
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

/** Formats a duration as minutes and seconds. */
export function minutes(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`;
}
