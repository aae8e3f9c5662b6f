import { readFileSync, writeFileSync } from 'node:fs';

// For `node --import`: on exit, writes the peak resident bytes of the process to the file named by PEAK_MEMORY_FILE.
// Linux tracks this figure for the program itself; that of getrusage may include the parent's from before exec.
process.once('exit', () => writeFileSync(process.env.PEAK_MEMORY_FILE, String(1024 * peakKibibytes())));

function peakKibibytes() {
  try {
    return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
