import type { CountRef, DeviceBuffer, KernelCommand } from '../contract/kernel-commands.ts';

/**
 * The commands of a pipeline as data, in order. Their buffers are {@link ScriptBuffer}s, which every call replaces by
 * actual buffers.
 */
export interface Script {
  readonly steps: readonly ScriptStep[];
  /** Buffers that every call provides: those of its arguments, and those of captured columns. */
  readonly inputs: readonly ScriptBuffer[];
  readonly results: readonly ScriptBuffer[];
  /** Indices of the block's words that are lengths of tables. */
  readonly tables: readonly number[];
  /** One word for every length and uniform that changes from call to call. */
  readonly block: ScriptBuffer;
  /**
   * Only in rounds of a loop: the input whose first word is the gate. If the word is not 0, all steps except the last
   * do nothing. Only `play` supports this.
   */
  readonly gate?: number;
}

export type ScriptStep =
  | { readonly kind: 'allocate'; readonly buffer: ScriptBuffer }
  | { readonly kind: 'release'; readonly buffer: ScriptBuffer }
  | { readonly kind: 'write'; readonly buffer: ScriptBuffer; readonly word: number; readonly data: Uint32Array }
  | KernelCommand;

/** A buffer in a script. */
export interface ScriptBuffer extends DeviceBuffer {
  /**
   * The role of the buffer: `temporary` within a call, or provided by the call; then `at` is its index among the
   * buffers of that role.
   */
  role: 'temporary' | 'input' | 'result' | 'block';
  at: number;
}

/** The buffers and data of one call of a script. */
export interface ScriptCall {
  readonly inputs: readonly ScriptInput[];
  readonly results: readonly DeviceBuffer[];
  /** The words of the block, except those that only the device knows. */
  readonly block: Uint32Array;
  /** The lengths that only the device knows, and the words of the block that they are written to. */
  readonly counts: readonly { readonly word: number; readonly length: CountRef }[];
  /** Whether the same object will be played again, so that caching what is learned about it pays. */
  readonly isRepeated?: boolean;
}

/** The replacement of an input: `capacity` elements of a buffer, starting at element `offset`. */
export interface ScriptInput {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
}
