import { anInstance, aRecord, type Kind } from '../primitives/kinds.ts';

/** Texts as columns: text `i` is the UTF-8 in `bytes[starts[i] … starts[i + 1] − 1]`; `starts` has one entry more. */
export interface TextColumn {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
}

export const aTextColumn: Kind = aRecord<TextColumn>({
  bytes: anInstance(Uint8Array),
  starts: anInstance(Uint32Array),
});
