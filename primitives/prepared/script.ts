import type { CountRef, DeviceBuffer, KernelCommand } from '../contract/kernel-commands.ts';

/**
 * The recorded commands of a pipeline, in order. They refer to placeholder buffers ({@link ScriptBuffer}), which every
 * call replaces by actual buffers.
 */
export interface Script {
  readonly steps: readonly ScriptStep[];
  /** Placeholders for the buffers of argument columns and of captured columns. */
  readonly inputs: readonly ScriptBuffer[];
  readonly results: readonly ScriptBuffer[];
  /** Indices of the words of `block` that contain lengths of tables. */
  readonly tables: readonly number[];
  /** The block: a buffer with one word for every length and uniform that may differ from call to call. */
  readonly block: ScriptBuffer;
  /**
   * Only in the rounds of a loop: index of the input whose first word is the gate. If the gate is not 0, the loop has
   * ended, and all steps except the last do nothing. Only `play` supports gates.
   */
  readonly gate?: number;
}

export type ScriptStep =
  | { readonly kind: 'allocate'; readonly buffer: ScriptBuffer }
  | { readonly kind: 'release'; readonly buffer: ScriptBuffer }
  | { readonly kind: 'write'; readonly buffer: ScriptBuffer; readonly word: number; readonly data: Uint32Array }
  | KernelCommand;

/** A placeholder for a buffer in a script. */
export interface ScriptBuffer extends DeviceBuffer {
  /**
   * What the buffer is: `temporary` memory within a call, or a buffer that the call provides. In the second case,
   * `at` is the index of the provided buffer among the call's buffers of the same role.
   */
  role: 'temporary' | 'input' | 'result' | 'block';
  at: number;
}

/** The buffers and data for one call of a script. */
export interface ScriptCall {
  readonly inputs: readonly ScriptInput[];
  readonly results: readonly DeviceBuffer[];
  /** The contents of the block. Words for lengths that only the device knows are filled in on the device. */
  readonly block: Uint32Array;
  /** The lengths that only the device knows, each with the index of the word of `block` to which it is copied. */
  readonly counts: readonly { readonly word: number; readonly length: CountRef }[];
  /**
   * Whether this same object will be passed to `play` again. If so, a backend may cache what it derives from the
   * object.
   */
  readonly isRepeated?: boolean;
}

/** The actual memory for an input: `capacity` elements of a buffer, starting at element `offset`. */
export interface ScriptInput {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
}
