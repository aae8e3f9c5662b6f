import { readFileSync, writeFileSync } from 'node:fs';

// A module for `node --import`: when the process exits, the module writes the peak resident bytes of the process to the
// file named by PEAK_MEMORY_FILE. The figure comes from /proc, because getrusage may include the parent's memory from
// before exec.
process.once('exit', () => writeFileSync(process.env.PEAK_MEMORY_FILE, String(1024 * peakKibibytes())));

function peakKibibytes() {
  try {
    return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
