import { ForksPoolWorker } from 'vitest/node';
import { minutes } from './progress-reporter.mjs';

/** A file without progress is reported again whenever this many milliseconds have passed. */
const NAMED_AFTER = 3 * 60_000;
/** Milliseconds after which the process of a file without progress is killed. */
const ENDED_AFTER = 10 * 60_000;
/**
 * Number of timeouts after which the process of a file is killed, because every later test times out too if a device
 * hangs.
 */
const MAX_TIMEOUTS = 3;
const LOOK_EVERY = 5_000;

/** For each file (by its path), the process that runs it. */
const processes = new Map();

/** Vitest's process pool, extended so that it records which process runs which file. */
export const watchedForks = { name: 'watched-forks', createPoolWorker: (options) => new WatchedFork(options) };

class WatchedFork extends ForksPoolWorker {
  name = watchedForks.name;

  send(message) {
    for (const { filepath } of message.context?.files ?? []) processes.set(filepath, this.fork);
    super.send(message);
  }
}

/** Kills the processes that are still running, because an open handle of a test can keep its process from exiting. */
export function endProcesses() {
  for (const process of processes.values()) process.kill('SIGKILL');
}

/**
 * Reports files in which no test has started or ended for a while, and finally kills their processes, because a timeout
 * cannot stop a test that blocks its process. The remaining files then run in a new process, and the run fails.
 */
export class StuckFiles {
  #log;
  #running = new Map();
  #timer;

  constructor({ log = console.log } = {}) {
    this.#log = log;
  }

  onTestRunStart() {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY);
    this.#timer.unref();
  }

  onTestModuleQueued({ moduleId, relativeModuleId }) {
    this.#running.set(moduleId, { name: relativeModuleId, test: undefined, timeouts: 0, news: now(), named: 0 });
  }

  onTestCaseReady(test) {
    this.#note(test, { test: test.fullName });
  }

  onTestCaseResult(test) {
    this.#note(test, { test: `after ${test.fullName}` });
    const file = this.#running.get(test.module.moduleId);
    const isTimeout = ({ message }) => /timed out in \d+ms/.test(message);
    if (file === undefined || !test.result().errors?.some(isTimeout)) return;
    file.timeouts++;
    if (file.timeouts === MAX_TIMEOUTS) this.#end(test.module.moduleId, file, `${MAX_TIMEOUTS} tests timed out`);
  }

  onTestModuleEnd({ moduleId }) {
    this.#running.delete(moduleId);
  }

  onTestRunEnd() {
    clearInterval(this.#timer);
  }

  #note(test, news) {
    const file = this.#running.get(test.module.moduleId);
    if (file !== undefined) Object.assign(file, news, { news: now(), named: 0 });
  }

  #look() {
    for (const [moduleId, file] of this.#running) {
      const silent = now() - file.news;
      if (silent > ENDED_AFTER) this.#end(moduleId, file, `no news for ${minutes(silent)}`);
      else if (silent > NAMED_AFTER * (file.named + 1)) {
        file.named++;
        this.#log(`No news for ${minutes(silent)}: ${placeIn(file)}`);
      }
    }
  }

  #end(moduleId, file, reason) {
    this.#log(`Ends the process of ${placeIn(file)}: ${reason}`);
    this.#running.delete(moduleId);
    processes.get(moduleId)?.kill('SIGKILL');
  }
}

function placeIn({ name, test }) {
  return test === undefined ? name : `${name}, ${test}`;
}

function now() {
  return performance.now();
}
