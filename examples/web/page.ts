// The user interface of the page. The computation is in scene.ts.
import { type DeviceEntry, listDevices } from '../../page.ts';
import { compareBackends } from './compare.ts';
import { STEPS, type StepTimes } from './frame.ts';
import { type Controls, SIDE } from './scene.ts';
import { type Session, type Shown, startSession } from './session.ts';

function element<E extends HTMLElement = HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

const canvas = element<HTMLCanvasElement>('picture');
const drawing = canvas.getContext('2d', { alpha: false })!;
const threshold = element<HTMLInputElement>('threshold');
const pause = element<HTMLButtonElement>('pause');
const compare = element<HTMLButtonElement>('compare');
const dark = matchMedia('(prefers-color-scheme: dark)');

let push: Controls['push'];
let session: Session | undefined;
let isPaused = matchMedia('(prefers-reduced-motion: reduce)').matches;

function controls(): Controls {
  return { threshold: threshold.valueAsNumber, push, background: dark.matches ? 'dark' : 'light' };
}

function tell(message: string, isWarning = false): void {
  element('message').textContent = message;
  element('message').classList.toggle('warning', isWarning);
}

/** Creates an object that keeps the last `max` of the added numbers and computes the median of the kept numbers. */
function lately(max: number): { add(number: number): void; median(): number | undefined; clear(): void } {
  let numbers: number[] = [];
  return {
    add: (number) => {
      numbers = [...numbers, number].slice(-max);
    },
    median: () => numbers.toSorted((a, b) => a - b)[numbers.length >> 1],
    clear: () => {
      numbers = [];
    },
  };
}

function format(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return '–';
  return milliseconds.toFixed(milliseconds < 100 ? 1 : 0);
}

const computed = lately(31);
const intervals = lately(31);
const drawn = lately(31);
let lastShown: number | undefined;

function show(frame: Shown): void {
  const start = performance.now();
  const bytes = new Uint8ClampedArray(frame.pixels.buffer as ArrayBuffer, frame.pixels.byteOffset, SIDE * SIDE * 4);
  drawing.putImageData(new ImageData(bytes, SIDE), 0, 0);
  drawn.add(performance.now() - start);
  if (lastShown !== undefined && !isPaused) intervals.add(start - lastShown);
  lastShown = start;
  if (frame.computed !== undefined) computed.add(frame.computed);
  if (frame.steps !== undefined) showSteps(frame.steps);
  const interval = intervals.median();
  element('computed').textContent = `${format(computed.median())} ms`;
  element('rate').textContent = interval === undefined ? '–' : (1000 / interval).toFixed(interval < 100 ? 0 : 1);
  element('components').textContent = frame.components.toLocaleString('en');
  element('checksum').textContent = hex(frame.checksum);
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}

const TITLES: Record<(typeof STEPS)[number] | 'draw', string> = {
  move: 'Move the points',
  density: 'Density on the grid',
  components: 'Components',
  colours: 'Colours, checksum',
  read: 'Read back',
  draw: 'Draw',
};

function showSteps(times: StepTimes | undefined): void {
  const all = [...STEPS.map((step) => [step, times?.[step]] as const), ['draw', drawn.median()] as const];
  const longest = Math.max(...all.map(([, ms]) => ms ?? 0));
  const bars = all.map(([step, milliseconds]) => {
    const bar = document.createElement('meter');
    bar.max = longest || 1;
    bar.value = milliseconds ?? 0;
    bar.ariaLabel = TITLES[step];
    return rowOf([TITLES[step], format(milliseconds), bar]);
  });
  element('steps').replaceChildren(...bars);
}

function rowOf([title, ...cells]: readonly [string, ...(string | HTMLElement)[]]): HTMLTableRowElement {
  const row = document.createElement('tr');
  const head = document.createElement('th');
  head.scope = 'row';
  head.append(title);
  row.append(head);
  for (const cell of cells) row.insertCell().append(cell);
  return row;
}

const inputs = [...document.querySelectorAll<HTMLInputElement>('#backends input')];

/**
 * Returns the entry of a backend in the list of devices. For WebGPU, which may have two adapters, returns the first
 * available one.
 */
function entryOf(entries: readonly DeviceEntry[], backend: string): DeviceEntry {
  const all = entries.filter((entry) => entry.backend === backend);
  return all.find(({ unavailable }) => unavailable === undefined) ?? all[0]!;
}

function describe({ backend, adapter, device, unavailable }: DeviceEntry): string {
  if (unavailable !== undefined) return 'not here';
  if (backend === 'webgpu' && adapter === 'software') return `${device}, on the CPU`;
  return device!;
}

let taking: Promise<void> = Promise.resolve();

/** Closes the current backend, then starts a session (a series of frames) on another backend. */
function take(entry: DeviceEntry, message = ''): Promise<void> {
  taking = taking.then(() => begin(entry, message));
  return taking;
}

async function begin(entry: DeviceEntry, message: string): Promise<void> {
  for (const input of inputs) input.checked = input.value === entry.backend;
  tell(message, message !== '');
  const before = session;
  session = undefined;
  await before?.stop();
  for (const list of [computed, intervals, drawn]) list.clear();
  lastShown = undefined;
  showSteps(undefined);
  for (const figure of ['computed', 'rate', 'components', 'checksum']) element(figure).textContent = '–';
  delete document.documentElement.dataset.backend;
  const fail = (error: unknown): void => tell(messageOf(error), true);
  try {
    session = await startSession({ entry, paused: isPaused, controls, show, fail });
    document.documentElement.dataset.backend = entry.backend;
  } catch (error) {
    fail(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function setPaused(paused: boolean): void {
  isPaused = paused;
  pause.textContent = paused ? 'Play' : 'Pause';
  lastShown = undefined;
  if (session !== undefined) session.paused = paused;
}

function pushAt({ offsetX, offsetY }: PointerEvent): void {
  const cells = SIDE / canvas.clientWidth;
  push = { x: Math.round(offsetX * cells), y: Math.round(offsetY * cells) };
}

/** Computes the same frames on all backends and shows the results in a table. */
async function compareAll(entries: readonly DeviceEntry[]): Promise<void> {
  const table = element<HTMLTableElement>('comparison');
  const [body, caption] = [table.tBodies[0]!, table.caption!];
  const wasPaused = isPaused;
  setPaused(true);
  compare.disabled = true;
  body.replaceChildren();
  table.hidden = false;
  caption.textContent = 'Computing the same five frames on each …';
  const sums = new Set<number>();
  try {
    for await (const { entry, milliseconds, components, checksum } of compareBackends(entries)) {
      sums.add(checksum);
      body.append(rowOf([entry.backend, format(milliseconds), `${components}`, hex(checksum)]));
    }
    caption.textContent = sums.size === 1 ? 'After five frames: the same bytes.' : 'After five frames: bytes differ!';
  } catch (error) {
    caption.textContent = messageOf(error);
  }
  compare.disabled = false;
  setPaused(wasPaused);
}

async function start(): Promise<void> {
  showSteps(undefined);
  setPaused(isPaused);
  const { auto, entries } = await listDevices();
  const found = ['webgpu', 'workers', 'reference'].map((backend) => entryOf(entries, backend));
  const usable = found.filter(({ unavailable }) => unavailable === undefined);
  for (const [i, entry] of found.entries()) {
    const input = inputs[i]!;
    input.disabled = entry.unavailable !== undefined;
    input.labels![0]!.title = entry.unavailable ?? '';
    input.labels![0]!.querySelector('small')!.textContent = describe(entry);
    input.addEventListener('change', () => void take(entry));
  }
  pause.disabled = false;
  compare.disabled = false;
  pause.addEventListener('click', () => setPaused(!isPaused));
  compare.addEventListener('click', () => void compareAll(usable));
  threshold.addEventListener('input', () => {
    element('threshold-value').textContent = threshold.valueAsNumber.toFixed(2);
  });
  for (const event of ['pointerdown', 'pointermove'] as const) canvas.addEventListener(event, pushAt);
  for (const event of ['pointerleave', 'pointercancel'] as const) {
    canvas.addEventListener(event, () => {
      push = undefined;
    });
  }
  const chosen = entries[auto]!;
  await take(
    chosen,
    chosen.adapter === 'hardware'
      ? ''
      : `On ${chosen.backend}, as WebGPU was not taken: ${firstSentence(entries[0]!.unavailable ?? '')}.`,
  );
}

/** Maximum time, in milliseconds, that the page waits for its service worker to become ready. */
const PATIENCE = 3000;

try {
  await isolate();
  await start();
} catch (error) {
  tell(messageOf(error), true);
}

/**
 * Workers can share memory only if two HTTP headers isolate the page. If the host does not send these headers, installs
 * a service worker that adds them and reloads the page.
 */
async function isolate(): Promise<void> {
  const { serviceWorker } = navigator;
  if (crossOriginIsolated || serviceWorker === undefined || sessionStorage.getItem('isolating') !== null) return;
  sessionStorage.setItem('isolating', 'tried');
  const patience = new Promise<false>((resolve) => setTimeout(resolve, PATIENCE, false));
  const isReady = serviceWorker.register('isolate.js').then(() => serviceWorker.ready);
  // If the service worker does not become ready, the page continues without the workers backend and says so.
  if (!(await Promise.race([isReady, patience]).catch(() => false))) return;
  location.reload();
  await new Promise(() => {});
}

/**
 * Returns the first sentence of an error message. This sentence says what is wrong; the sentences after it are remedies
 * for programmers.
 */
function firstSentence(text: string): string {
  return text.split('. ', 1)[0]!.replace(/\.$/, '');
}
