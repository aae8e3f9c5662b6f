import { FormatError } from '../../primitives/checks/errors.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import type { ByteWindow } from './byte-window.ts';
import { type LayerInput, platformOf } from './layer-input.ts';
import type { OpenedFormat } from './layer-reading.ts';
import type { PolygonLayerFormat, PolygonLayerOptions } from './polygon-layer.ts';

/** Number of bytes at the start of a file that are used to detect the format. */
export const HEAD_BYTES = 65_536;

/** What is known of a file before its format is. */
export interface FileStart {
  /** The first bytes of the file: at least {@link HEAD_BYTES}, if the file has so many. */
  readonly head: Uint8Array;
  /** Where its text begins, behind a byte order mark and white space. */
  readonly start: number;
  /** Its extension in lower case, without that of gzip. */
  readonly ending: string;
  /** The kind of the JSON object with which the text begins; undefined if it begins otherwise. */
  readonly json: 'topology' | 'single' | 'collection' | undefined;
  readonly window: ByteWindow;
}

/**
 * A format of polygon layers. `polygon-formats.ts` lists all of them, and everything that reads polygons goes by this list.
 */
export interface PolygonFormat {
  readonly name: PolygonLayerFormat;
  /** What users call it, with an article where it needs one. */
  readonly title: string;
  /** Extensions of its files, in lower case. They decide if the content does not. */
  readonly endings: readonly string[];
  /** Whether its reader needs the exact file size, so that a file cannot be gzipped. Default: false. */
  readonly isBinary?: boolean;
  /** Whether its layers have names, of which the option `layer` chooses. Default: false. */
  readonly isLayered?: boolean;
  /** Whether layers of points are read too, as points of `index` and `neighbours`. Default: false. */
  readonly hasPoints?: boolean;
  /** Whether its geometries are in a column, which the option `geometryColumn` names. Default: false. */
  readonly hasColumns?: boolean;
  /**
   * Whether it is only read from a file, as its reader looks for companions of the file or waits for a module of its own.
   * Default: false.
   */
  readonly needsFile?: boolean;
  /** Whether a file is of this format, judged by its content. */
  tells(file: FileStart): boolean | Steps<boolean>;
  open(input: LayerInput, options: PolygonLayerOptions): Steps<OpenedFormat>;
}

/** Opens a format whose reader needs Node. */
export function openOnNode(name: PolygonLayerFormat): PolygonFormat['open'] {
  return function* (input, options) {
    const load = platformOf(input).readers[name];
    if (load === undefined) {
      throw new FormatError('format/needs-node', `Pages do not read ${name}.`, {
        expected: 'GeoJSON, TopoJSON, FlatGeobuf, a Shapefile, WKT or CSV',
        got: name,
        remedy: 'Convert it, for example with ogr2ogr, or read it in Node.',
        place: { file: input.file },
      });
    }
    const open = (yield* wait(load())) as PolygonFormat['open'];
    return yield* open(input, options);
  };
}
