import { readFileSync, writeFileSync } from 'node:fs';

// For `node --import`: on exit, writes the most bytes that the process has had resident to the file that PEAK_MEMORY_FILE
// names. Linux keeps that figure for the program itself; getrusage's, taken elsewhere, may include the parent's from
// before exec.
process.once('exit', () => writeFileSync(process.env.PEAK_MEMORY_FILE, String(1024 * peakKibibytes())));

function peakKibibytes() {
  try {
    return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
