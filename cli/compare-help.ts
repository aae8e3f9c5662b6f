import { describe } from './command-line.ts';
import { COMPARE_SPECS } from './compare-arguments.ts';

/** The help text of `quadrille compare --help`. */
export const COMPARE_HELP: string = `quadrille compare A B [options]

Compares two sets of polygons of the same image, such as two segmentations. It prints J′, the mean ratio of intersection to
union (IoU) over all pairs of polygons that share area. On stderr it says how many polygons have no counterpart and how many
match one to one.

Areas are counted exactly, in pixels: a pixel belongs to a polygon if its centre is inside. So sloped edges are sampled at the
centres of pixels, and polygons along the grid keep their exact area. Vertices that are not corners of pixels are moved to the
nearest corner, and a note says so; a smaller --pixel-size comes closer.

A and B are files, or folders with one file per tile of the image; tiles with the same name are compared. The formats are
GeoJSON, TopoJSON, FlatGeobuf, Shapefile (also in a ZIP archive), GeoParquet, GeoPackage, WKT, CSV with a column of WKT, lines
of text as id x,y x,y …, label images (PNG), label volumes (NIfTI, slice by slice) and COCO JSON. A and B may have different
formats.

A polygon is the union of its parts: the polygons of a multipolygon or of a COCO segmentation, each filled by the even-odd
rule. A note says if parts overlap. With --fill even-odd, the rule applies to all rings of a polygon together, so that an area
covered by two parts is outside.

${describe(COMPARE_SPECS)}

What is written:
  J′ on stdout, from 0 to 1; NaN if no pair shares area. If an output is -, stdout holds that output instead.
  --out      figures of both sets, matches, histogram, skipped tiles, notes.
  --pairs    tile,a,b,area_a,area_b,intersection,union,iou,matched: a row for every pair that shares area.
  --tiles    tile,polygons_a,polygons_b,missing_a,missing_b,candidates,pairs,similarity,matches
  --missing  tile,set,id: set is a or b. Polygons too small to hold the centre of a pixel are missing too.
  Precision is matches / polygons of B, recall is matches / polygons of A. Pass the ground truth, if there is one, as A.
  If only one set has a tile, all its polygons there are missing.

Example:
  quadrille compare human/ model/ --out figures.json --missing missing.csv --plot ratios.svg --report report.html
`;
