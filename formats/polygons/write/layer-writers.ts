import type { MakeLayerWriter } from './layer-writer.ts';

/** The formats in which layers are written, by the endings of their files. */
const WRITERS: { readonly [ending in LayerEnding]: () => Promise<MakeLayerWriter> } = {
  geojson: async () => (await import('./geojson.ts')).geojsonWriter,
  fgb: async () => (await import('./flatgeobuf.ts')).flatgeobufWriter,
};

/** The ending of the file of a layer: GeoJSON and FlatGeobuf. */
export type LayerEnding = 'geojson' | 'fgb';

/** Loads what writes layers to files with this ending. */
export function loadLayerWriter(ending: LayerEnding): Promise<MakeLayerWriter> {
  return WRITERS[ending]();
}
