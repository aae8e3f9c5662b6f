import { expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';

/** Opens a file and reads a part of it. Any outcome except cells or an error of the library fails the test. */
export async function readOrRefuse(bytes: Uint8Array): Promise<'read' | 'refused'> {
  try {
    const source = await openGeoTiff(bytes, { maxBlockBytes: 2 ** 24 });
    const columns = Math.min(source.width, 64);
    const rows = Math.min(source.height, 64);
    await source.read({ column: source.width - columns, row: source.height - rows, columns, rows });
    return 'read';
  } catch (error) {
    expect(error).toBeInstanceOf(QuadrilleError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(format|usage)\//), remedy: expect.any(String) });
    return 'refused';
  }
}
