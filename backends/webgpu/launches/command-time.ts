/** The time that a command took on the device. */
export interface CommandTime {
  /** The name of the kernel and of its functor, such as `scan fillBits`. */
  readonly command: string;
  readonly milliseconds: number;
  /** The milliseconds of each of the command's launches, in order. */
  readonly launches: readonly number[];
}
