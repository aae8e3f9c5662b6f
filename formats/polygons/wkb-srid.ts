import { FormatError } from '../../primitives/checks/errors.ts';
import { isGeographicCrs, sameCrs } from '../crs.ts';
import type { Reading } from './layer-reading.ts';

/**
 * Takes the numbers of coordinate systems that geometries in EWKB state. The first one is that of the layer, if nothing else
 * states one. 0 stands for an unknown system. If the user names a system, the numbers do not count.
 *
 * @param stated - The coordinate system that the file states.
 * @throws FormatError `format/mixed-crs` if a number is not that of the layer. A system without a number is not compared.
 */
export function sridTaker(reading: Reading, stated: string | null | undefined): (srid: number, record: number) => void {
  const { options, columns, input } = reading;
  let known = stated ?? undefined;
  return (srid, record) => {
    if (srid <= 0 || options.crs !== undefined) return;
    const named = `EPSG:${srid}`;
    if (known === undefined) {
      known = named;
      reading.stated = named;
      columns.mayJump = isGeographicCrs(named);
    }
    if (sameCrs(named, known) || !/^[A-Z]+:\w+$/.test(known) || known.endsWith(`:${srid}`)) return;
    throw new FormatError('format/mixed-crs', 'A geometry is in another coordinate system than its layer.', {
      expected: known,
      got: named,
      remedy: 'Transform the geometries into one system, or name the right one (--assume-crs).',
      place: { file: input.file, record },
    });
  };
}
