import { readFileSync, writeFileSync } from 'node:fs';

// A module for `node --import`: when the process exits, the module writes the peak resident bytes of the process to the
// file named by the environment variable PEAK_MEMORY_FILE. The bytes come from /proc if possible: the maximum reported
// by getrusage may include memory of the parent process, from between fork and exec.
process.once('exit', () => writeFileSync(process.env.PEAK_MEMORY_FILE, String(1024 * peakKibibytes())));

function peakKibibytes() {
  try {
    return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
