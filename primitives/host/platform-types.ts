/**
 * Types of platforms (pages, Node) that public signatures name. Programs whose compiler knows neither DOM nor
 * `@types/node` can use the library too, so each is the platform's own type where there is one, and otherwise what the
 * library needs of it.
 */

/** An `AbortSignal`. */
export type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } } ? Own : AbortSignalLike;

/** Stands for `AbortSignal` in a program without DOM and `@types/node`. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** What the library needs of a `Blob` or a `File`, which also has a `name`. */
export interface BlobLike {
  readonly size: number;
  slice(start?: number, end?: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** A `URL`. */
export type Url = typeof globalThis extends { URL: { prototype: infer Own } } ? Own : { readonly href: string };

/** A `WebAssembly.Module`. */
export type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Own } } } ? Own : object;

/** A `WebAssembly.Memory`. */
export type WasmMemory = typeof globalThis extends { WebAssembly: { Memory: { prototype: infer Own } } } ? Own : object;

/**
 * What the library needs of a `ReadableStream`. The second signature stands for those with options, so that the type of
 * the items is inferred from the first.
 */
export interface ReadableStreamLike<A> {
  getReader(): ReadableStreamReaderLike<A>;
  getReader(options?: undefined): unknown;
}

/** The reader of a stream. */
export interface ReadableStreamReaderLike<A> {
  read(): Promise<{ readonly done: false; readonly value: A } | { readonly done: true; readonly value?: unknown }>;
  cancel(): Promise<void>;
  releaseLock(): void;
}
