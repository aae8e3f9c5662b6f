/** How long one command took. */
export interface CommandTime {
  /** The kernel and the name of the functor that it ran: `scan fillBits`. */
  readonly command: string;
  readonly milliseconds: number;
}
