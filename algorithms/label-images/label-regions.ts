import { anInstance, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';

/**
 * The regions of a label image, as runs of pixels: each run is in one row and belongs to one region. Pixels in no run
 * are background. Regions are numbered from 0.
 */
export interface LabelRegions {
  readonly width: number;
  readonly height: number;
  /** The runs of row y, from left to right, are `rowRuns[y] … rowRuns[y + 1] − 1`. */
  readonly rowRuns: Uint32Array;
  /** First column of each run. `end` is the column after the last column of the run. */
  readonly start: Uint32Array;
  readonly end: Uint32Array;
  /** Region of each run. */
  readonly region: Uint32Array;
  /** Boxes of the regions, half-open: columns left … right − 1, rows top … bottom − 1. */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
  /** Number of pixels of each region. */
  readonly area: BigUint64Array;
}

export const someLabelRegions: Kind = aRecord<LabelRegions>({
  width: aWhole(),
  height: aWhole(),
  rowRuns: anInstance(Uint32Array),
  start: anInstance(Uint32Array),
  end: anInstance(Uint32Array),
  region: anInstance(Uint32Array),
  left: anInstance(Int32Array),
  top: anInstance(Int32Array),
  right: anInstance(Int32Array),
  bottom: anInstance(Int32Array),
  area: anInstance(BigUint64Array),
});

/** An image without regions. */
export const NO_REGIONS: LabelRegions = {
  width: 0,
  height: 0,
  rowRuns: Uint32Array.of(0),
  start: new Uint32Array(0),
  end: new Uint32Array(0),
  region: new Uint32Array(0),
  left: new Int32Array(0),
  top: new Int32Array(0),
  right: new Int32Array(0),
  bottom: new Int32Array(0),
  area: new BigUint64Array(0),
};

/** Bytes of one run in its three columns. */
export const BYTES_PER_RUN = 12;

/** Two label images of the same place. */
export interface LabelPair {
  readonly p: LabelRegions;
  readonly q: LabelRegions;
}
