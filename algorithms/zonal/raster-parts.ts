import type { Context } from '../../primitives/index.ts';
import type { RasterSource } from '../geometry/raster.ts';
import { type BinEdges, type Classifier, createClassifier, type Slots } from './binning.ts';
import { columnsOfEdges, uploadEdges } from './edge-table.ts';
import { uploadLines } from './fractions/line-table.ts';
import type { PlacedOverlay } from './overlay.ts';
import type { Pixels } from './pixels.ts';
import type { PlacedZones } from './placement.ts';
import type { PlacedRaster } from './surface-places.ts';
import { type CountJob, type PartWindow, partWindows, type RasterPart } from './zonal.ts';

/** The rasters of a job, one after the other. */
export interface RasterParts {
  /** The windows of all rasters. What the windows of a raster share is made when the first of them is asked for. */
  windows(): Generator<PartWindow>;
  /** Frees what the windows of a raster share when the last of them has been counted. */
  onCounted(window: PartWindow): void;
  /** Frees everything, and waits for all calls of `onDone`. */
  close(): Promise<void>;
}

/** What the parts are made of. */
export interface PartsOptions {
  readonly rasters: readonly RasterSource[];
  readonly places: readonly (PlacedRaster & Pick<RasterPart, 'number' | 'firstRow'>)[];
  readonly edges: BinEdges;
  readonly slots: Slots;
  place(at: number): PlacedZones;
  /** Called when all windows of a raster have been counted. */
  onDone(raster: RasterSource): void | Promise<void>;
}

/**
 * Makes the parts of a job. While the last windows of a raster are being counted, those of the next are planned and read,
 * so that nothing waits between rasters.
 */
export function createParts(context: Context, job: CountJob, options: PartsOptions): RasterParts {
  const { rasters, places, edges, slots, place, onDone } = options;
  const { overlay, fill = 'union', pixels = 'center' } = job;
  const classifiers = new Map<RasterSource['nodata'], Classifier>();
  /** For each raster under way, the number of its windows that are not counted yet, and of those that are not planned. */
  const open = new Map<RasterPart, { waiting: number; isPlanned: boolean }>();
  const ending: Promise<void>[] = [];
  // Rasters of a surface agree in everything else that a classifier is made of.
  const classifierOf = (raster: RasterSource): Classifier => {
    const classifier = classifiers.get(raster.nodata) ?? createClassifier(context, raster, edges, slots);
    classifiers.set(raster.nodata, classifier);
    return classifier;
  };
  const end = (part: RasterPart): void => {
    const { waiting, isPlanned } = open.get(part)!;
    if (waiting > 0 || !isPlanned) return;
    open.delete(part);
    if (part.kept === undefined) context.dispose(columnsOfEdges(part.edges));
    const done = Promise.resolve(onDone(part.raster));
    // An error is thrown when the parts are closed.
    done.catch(() => undefined);
    ending.push(done);
  };
  return {
    *windows() {
      let before = 0;
      for (const [at, raster] of rasters.entries()) {
        const make = (): Pick<PlacedOverlay, 'placed' | 'edges'> => placeEdges(context, place(at), raster, pixels);
        const kept = overlay?.placedOn(context, raster, places[at]!, [fill, pixels], make);
        const { placed, edges: table } = kept ?? make();
        const { taken, number, firstRow } = places[at]!;
        const own = { raster, number, firstRow, taken, boxes: placed.boxes };
        const part = { ...own, edges: table, classifier: classifierOf(raster), kept };
        const state = { waiting: 0, isPlanned: false };
        open.set(part, state);
        for (const window of partWindows(job, part)) {
          state.waiting++;
          yield { ...window, part, passedCells: before + window.passedCells };
        }
        before += raster.width * raster.height;
        state.isPlanned = true;
        end(part);
      }
    },
    onCounted({ part }) {
      open.get(part)!.waiting--;
      end(part);
    },
    async close() {
      for (const { kept, edges } of open.keys()) if (kept === undefined) context.dispose(columnsOfEdges(edges));
      for (const { captures } of classifiers.values()) context.dispose(...Object.values(captures));
      await Promise.all(ending);
    },
  };
}

/** Uploads the edges of zones that are placed on a raster. */
function placeEdges(
  context: Context,
  placed: PlacedZones,
  raster: RasterSource,
  pixels: Pixels,
): Pick<PlacedOverlay, 'placed' | 'edges'> {
  const edges = uploadEdges(context, placed, raster);
  const lines = pixels === 'center' ? undefined : uploadLines(context, placed, raster);
  return { placed, edges: { ...edges, lines } };
}
