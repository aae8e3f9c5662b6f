/** The duration of one command. */
export interface CommandTime {
  /** The kernel and the name of its functor, such as `scan fillBits`. */
  readonly command: string;
  readonly milliseconds: number;
}
