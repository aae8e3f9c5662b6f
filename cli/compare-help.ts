import { describe } from './command-line.ts';
import { COMPARE_SPECS } from './compare-arguments.ts';

/** The page of `quadrille compare --help`. */
export const COMPARE_HELP: string = `quadrille compare A B [options]

Compares two sets of polygons of the same image, such as two segmentations: prints J′, the mean ratio of intersection to
union of all pairs of polygons with common area, and says on stderr how many polygons miss a counterpart and how many
match one to one. Areas are exact, in pixels: a pixel belongs to a polygon where its centre does, so that sloped edges are
sampled at the centres of pixels, and polygons along the grid keep their own area. Vertices between the corners of pixels
are moved to the nearest corner, which is noted; a smaller --pixel-size comes closer.

A and B are files, or folders with a file for every tile of the image; tiles of the same name are compared. They may be
GeoJSON, WKT, CSV with a column of WKT, lines of text as id x,y x,y …, label images (PNG), label volumes (NIfTI, slice by
slice) or COCO JSON, and need not be of the same format.

A polygon is the union of its parts, the polygons of a multipolygon or of a COCO segmentation, each of them even-odd; parts
that overlap are noted. With --fill even-odd, all rings of a polygon are taken together, and what two parts cover is outside.

${describe(COMPARE_SPECS)}

What is written:
  J′ on stdout, from 0 to 1; NaN where no pair has common area. With an output that is -, that instead.
  --out      figures of both sets, matches, histogram, tiles left out, notes.
  --pairs    tile,a,b,area_a,area_b,intersection,union,iou,matched: a row for every pair with common area.
  --tiles    tile,polygons_a,polygons_b,missing_a,missing_b,candidates,pairs,similarity,matches
  --missing  tile,set,id: set is a or b. A polygon smaller than any pixel is missing too.
  Precision is matches by polygons of B, recall matches by polygons of A: A is the truth, where one is.
  A tile of one set alone has all its polygons missing.

  quadrille compare human/ model/ --out figures.json --missing missing.csv --plot ratios.svg --report report.html
`;
