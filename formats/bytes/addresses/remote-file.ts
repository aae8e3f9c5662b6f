import { FormatError, type QuadrilleError } from '../../../primitives/checks/errors.ts';
import { overMemory } from '../../memory.ts';
import { shownAddress } from '../file-error.ts';
import { type Address, parseAddress } from './address.ts';
import { addressError, changedError } from './address-errors.ts';
import { type Answer, askForRange, BrokenConnection, bodyOf, discard, type Version } from './answer.ts';
import { createPlaces, pause, type Watch, watchStalls } from './waiting.ts';
import { pageAmong } from './web-page.ts';

/** How patient a reader of an address is. */
export interface Patience {
  /** Milliseconds without a byte after which an answer is given up. */
  readonly stallMs: number;
  /** How often in a row next to nothing may come of a request. */
  readonly attempts: number;
  /** Milliseconds before the second of these attempts. Each further pause is twice as long. */
  readonly pauseMs: number;
}

const PATIENCE: Patience = { stallMs: 20_000, attempts: 4, pauseMs: 250 };

/** How often in a row a server may send nothing that has never answered. No work is lost with it. */
const SILENT_ATTEMPTS = 2;

/** Longest pause that a server may ask for. */
const MAX_PAUSE_MS = 10_000;

/** An answer of so many bytes, or of this share of what was asked for, is more than next to nothing. */
const MUCH_BYTES = 2 ** 16;
const MUCH_SHARE = 1 / 8;

/** The first byte of a range that no file has. */
const BEYOND = Number.MAX_SAFE_INTEGER - 1;

/** Requests that are open at the same time, of all files. */
const connections = createPlaces(8);

/** What came of a request. */
interface Outcome {
  /** How many of the first bytes of the range came. */
  readonly got: number;
  /** Why the others did not. Undefined if the answer was right, but shorter than what was asked for. */
  readonly fault?: FormatError | undefined;
  /** The pause that the server asks for. */
  readonly pauseMs?: number | undefined;
}

/**
 * A file of the web, of which ranges are read.
 *
 * Every answer is checked against what was asked for, and against the version of the first one. What is missing of a range is
 * asked for again as long as bytes come; after some requests in a row of which next to nothing comes, the last fault is
 * the error. A server that hangs and has never answered is given up after two requests, so that its user need not wait longer.
 */
export class RemoteFile {
  /** The address as messages show it. */
  readonly file: string;
  /** The whole file, if the server has sent it as the answer to a request for a range. */
  whole: Uint8Array | undefined;
  readonly #address: Address;
  readonly #maxBytes: number;
  readonly #patience: Patience;
  /** Where the address led to. */
  #url: URL;
  #version: Version = {};
  #readingWhole: Promise<void> | undefined;
  #hasAnswered = false;

  /**
   * @param maxBytes - Maximum bytes of the file if the server sends it as a whole only.
   * @throws FormatError `format/address-invalid`.
   */
  constructor(address: string, maxBytes: number, patience: Partial<Patience> = {}) {
    this.#address = parseAddress(address);
    this.#url = this.#address.url;
    this.file = this.#address.shown;
    this.#maxBytes = maxBytes;
    this.#patience = { ...PATIENCE, ...patience };
  }

  /** Undefined until bytes have been read. */
  get size(): number | undefined {
    return this.#version.size;
  }

  /** What the server says of the version; undefined if nothing. */
  get version(): string | undefined {
    return this.#version.tag ?? this.#version.modified ?? undefined;
  }

  /** Reads bytes from `start` to `end` or, if that comes before, to the end of the file. */
  async read(start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = new Uint8Array(end - start);
    let done = 0;
    let idle = 0;
    for (;;) {
      const asked = Math.min(end, this.size ?? end) - start - done;
      if (asked <= 0) return bytes.subarray(0, done);
      const outcome = await this.#ask(start + done, start + done + asked, bytes.subarray(done), signal);
      if (outcome.got > 0 && this.size === undefined) await this.#learnSize(signal);
      if (this.whole !== undefined) return this.whole.slice(start, end);
      const { got } = outcome;
      done += got;
      if (got === asked || this.size === 0) continue;
      idle = got >= Math.max(1, Math.min(MUCH_BYTES, MUCH_SHARE * asked)) ? 0 : idle + 1;
      if (idle > 0) await this.#wait(idle, outcome, () => this.#cutOff(asked, got), signal);
    }
  }

  /** Asks for what is beyond the end of the file, which servers refuse with the size. */
  async #learnSize(signal: AbortSignal): Promise<void> {
    for (let idle = 1; this.size === undefined; idle++) {
      const outcome = await this.#ask(BEYOND, BEYOND + 1, new Uint8Array(1), signal);
      if (this.size !== undefined) return;
      const none = (): FormatError =>
        addressError('range', this.file, { expected: 'the size of the file', got: 'none' });
      await this.#wait(idle, outcome, none, signal);
    }
  }

  /** Waits before the next attempt, or throws the fault if there were enough. */
  async #wait(idle: number, { fault, pauseMs = 0 }: Outcome, other: () => FormatError, signal: AbortSignal) {
    const isSilent = fault?.code === 'format/address-timeout' && !this.#hasAnswered;
    const { attempts } = this.#patience;
    if (idle >= (isSilent ? Math.min(SILENT_ATTEMPTS, attempts) : attempts)) throw fault ?? other();
    await pause(Math.max(this.#patience.pauseMs * 2 ** (idle - 1), Math.min(pauseMs, MAX_PAUSE_MS)), signal);
  }

  /** Makes one request for a range, whose bytes go to `into`. */
  async #ask(start: number, end: number, into: Uint8Array, signal: AbortSignal): Promise<Outcome> {
    const giveBack = await connections.take(signal);
    const watch = watchStalls(this.#patience.stallMs, signal);
    const read = { got: 0, hasAnswered: false };
    try {
      const answer = await this.#answer(start, end, watch.signal);
      read.hasAnswered = this.#hasAnswered = true;
      watch.touch();
      if (answer.kind === 'fault') return { got: 0, ...answer };
      if (answer.kind === 'beyond') return this.#beyond(answer, start);
      if (answer.kind === 'whole') return await this.#takeWhole(answer, watch);
      this.#check(answer);
      return await this.#takePart(answer, start, end, into, watch, read);
    } catch (error) {
      signal.throwIfAborted();
      return { got: read.got, fault: this.#faultOf(error, watch, read.hasAnswered) };
    } finally {
      watch.stop();
      giveBack();
    }
  }

  /** Asks where the address led to before, and if that is refused, the address itself. */
  async #answer(start: number, end: number, signal: AbortSignal): Promise<Answer> {
    const led = this.#url;
    const ask = (from: URL): Promise<Answer> => askForRange(this.#address, from, start, end, signal);
    const answer = await ask(led).catch((error: unknown) => {
      this.#url = this.#address.url;
      if (led === this.#url || !(error instanceof FormatError)) throw error;
      return ask(this.#url);
    });
    this.#url = answer.url;
    return answer;
  }

  /** The fault of a request that failed and may be made again. Throws what would not be another error then. */
  #faultOf(error: unknown, watch: Watch, hasAnswered: boolean): FormatError {
    if (watch.hasStalled()) {
      return addressError('timeout', this.file, { got: `for ${this.#patience.stallMs / 1000} s` });
    }
    if (!(error instanceof BrokenConnection)) throw error;
    const { message: got, cause } = error;
    if (hasAnswered) return addressError('cut-off', this.file, { got, cause });
    return addressError(isPage() ? 'other-origin' : 'unreachable', this.file, { got, cause });
  }

  #beyond({ version }: Answer, start: number): Outcome {
    if (version.size !== undefined) this.#check({ version });
    if (version.size !== undefined && (start === BEYOND || (start === 0 && version.size === 0))) return { got: 0 };
    const size = version.size === undefined ? 'a file of unknown size' : `a file of ${version.size} bytes`;
    throw addressError('range', this.file, { expected: `bytes from ${start} on`, got: `status 416, ${size}` });
  }

  async #takePart(
    answer: Extract<Answer, { kind: 'part' }>,
    start: number,
    end: number,
    into: Uint8Array,
    watch: Watch,
    read: { got: number },
  ): Promise<Outcome> {
    const asked = { expected: `bytes ${start} to ${end}` };
    if (answer.start > start || answer.end <= start) {
      discard(answer.response);
      const got = `bytes ${answer.start} to ${answer.end}`;
      return { got: 0, fault: addressError('range', this.file, { ...asked, got }) };
    }
    const stop = Math.min(end, answer.end);
    let at = answer.start;
    for await (const part of bodyOf(answer.response)) {
      watch.touch();
      const [from, to] = [Math.max(at, start), Math.min(at + part.length, stop)];
      if (from < to) into.set(part.subarray(from - at, to - at), from - start);
      at += part.length;
      read.got = Math.max(0, Math.min(at, stop) - start);
      // The rest of a wider answer is not waited for.
      if (at >= stop && answer.end > stop) break;
    }
    if (at > answer.end && stop === answer.end) {
      const got = `${at - answer.start} bytes for ${answer.end - answer.start}`;
      return { got: 0, fault: addressError('range', this.file, { ...asked, got }) };
    }
    if (at >= stop) return { got: read.got };
    return { got: read.got, fault: this.#cutOff(answer.end - answer.start, at - answer.start) };
  }

  /** Takes the whole file as the answer to a request for a part of it. Several requests share one. */
  async #takeWhole(answer: Extract<Answer, { kind: 'whole' }>, watch: Watch): Promise<Outcome> {
    if (this.#readingWhole !== undefined || this.whole !== undefined) {
      discard(answer.response);
      watch.stop();
      await this.#readingWhole;
      return { got: 0 };
    }
    this.#readingWhole = this.#readWhole(answer, watch);
    try {
      await this.#readingWhole;
    } finally {
      this.#readingWhole = undefined;
    }
    return { got: 0 };
  }

  async #readWhole(answer: Extract<Answer, { kind: 'whole' }>, watch: Watch): Promise<void> {
    const { length, response, url } = answer;
    const check = (size: number | undefined): void => this.#check({ version: { ...answer.version, size } });
    // Parts of a body of unknown length are joined when all are there.
    const allowed = length === undefined ? this.#maxBytes / 2 : this.#maxBytes;
    if ((length ?? 0) > allowed) {
      discard(response);
      throw this.#tooLarge(length!);
    }
    const parts: Uint8Array[] = [];
    let [bytes, at] = [new Uint8Array(length ?? 0), 0];
    for await (const part of bodyOf(response)) {
      watch.touch();
      if (at === 0) {
        this.refusePage(part, url);
        check(length);
      }
      if (length === undefined) parts.push(part);
      else if (at + part.length <= length) bytes.set(part, at);
      at += part.length;
      if (at > allowed) throw this.#tooLarge(at);
    }
    if (length !== undefined && at !== length) throw new BrokenConnection(`${at} bytes for ${length}`);
    if (length === undefined) {
      bytes = new Uint8Array(at);
      at = 0;
      for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
      }
    }
    check(at);
    this.whole = bytes;
  }

  /** Throws if a file begins as a web page does, such as one that asks to log in. */
  refusePage(first: Uint8Array, url: URL = this.#url): void {
    const page = pageAmong(first);
    if (page === undefined) return;
    const led = shownAddress(url.href);
    throw addressError('page', this.file, { got: led === this.file ? page : `${page}, from ${led}` });
  }

  #tooLarge(needed: number): QuadrilleError {
    const sentence =
      'The server answers a request for a part with the whole file, which is too large to be held in memory.';
    const instead = 'download the file with curl -O, and name it';
    const allowed = this.#maxBytes;
    return overMemory(sentence, { needed, what: 'its bytes', allowed, instead, place: { file: this.file } });
  }

  /** Throws if the file is another than that of the answers before. */
  #check({ version }: Pick<Answer, 'version'>): void {
    const before = this.#version;
    const differs = <T>(a: T, b: T): boolean => a != null && b != null && a !== b;
    if (differs(before.size, version.size)) {
      throw changedError(this.file, 'size', `${before.size} bytes`, `${version.size} bytes`);
    }
    if (differs(before.tag, version.tag)) throw changedError(this.file, 'ETag', before.tag!, version.tag!);
    // Servers that share a file may disagree about its time, but not about its tag.
    const hasTag = before.tag != null && version.tag != null;
    if (!hasTag && differs(before.modified, version.modified)) {
      throw changedError(this.file, 'Last-Modified', before.modified!, version.modified!);
    }
    this.#version = {
      size: before.size ?? version.size,
      tag: before.tag ?? version.tag,
      modified: before.modified ?? version.modified,
    };
  }

  #cutOff(expected: number, got: number): FormatError {
    return addressError('cut-off', this.file, { expected: `${expected} bytes`, got: `${got}` });
  }
}

function isPage(): boolean {
  return 'location' in globalThis;
}
