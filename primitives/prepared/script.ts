import type { CountRef, DeviceBuffer, KernelCommand } from '../kernel-commands.ts';

/**
 * The commands of a pipeline as data, in order. Their buffers are {@link ScriptBuffer}s: every call says what stands for
 * them.
 */
export interface Script {
  readonly steps: readonly ScriptStep[];
  /** Buffers that every call gives: those of its columns, and others that never change. */
  readonly inputs: readonly ScriptBuffer[];
  readonly results: readonly ScriptBuffer[];
  /** The words of the block that are lengths of tables. */
  readonly tables: readonly number[];
  /** One word for every length and uniform that changes from call to call. */
  readonly block: ScriptBuffer;
  /**
   * Of a round of a loop: where the first word of an input is not 0, none of the steps does anything but the last. Only `play`
   * sees to that.
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
  /** What it is: one that a call gives, its number among these, or one that lives within the call. */
  role: 'temporary' | 'input' | 'result' | 'block';
  at: number;
}

/** What one call of a script works on. */
export interface ScriptCall {
  readonly inputs: readonly ScriptInput[];
  readonly results: readonly DeviceBuffer[];
  /** The words of the block, but for those that only the device knows. */
  readonly block: Uint32Array;
  /** The lengths that only the device knows, and the words of the block that they go to. */
  readonly counts: readonly { readonly word: number; readonly length: CountRef }[];
  /** Whether the same object is played again and again, so that what is found out about it is worth remembering. */
  readonly isRepeated?: boolean;
}

/** What stands for an input: `capacity` elements of a buffer from element `offset` on. */
export interface ScriptInput {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
}
