import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { UsageError } from '../usage-error.ts';

/**
 * The layer of a file that is read: the one that is asked for, else the only one; undefined if the file has none.
 *
 * @throws UsageError `usage/layer-required` if there are several and none is asked for, `usage/unknown-layer` if there is no
 * such layer.
 */
export function chooseLayer(names: readonly string[], layer: string | undefined, file: string): string | undefined {
  if (layer === undefined && names.length > 1) {
    throw new UsageError('usage/layer-required', `The file has ${names.length} layers: ${listNames(names, 20)}.`, {
      remedy: NAME_ONE,
      place: { file },
    });
  }
  if (layer === undefined || names.includes(layer)) return layer ?? names[0];
  if (names.length === 0) throw unknownLayer(layer, file, 'no layer: the file has none', 'Name another file.');
  throw unknownLayer(layer, file, `one of ${listNames(names, 20)}`, NAME_ONE);
}

const NAME_ONE = 'Name one of them with --layer.';

/** The error that a file has no layer of a name. By default, its format has no layers. */
export function unknownLayer(
  layer: string,
  file: string,
  expected = 'no layers: its format has none',
  remedy = 'Leave the layer out.',
): UsageError {
  const got = quoteName(layer);
  return new UsageError('usage/unknown-layer', `The file has no layer ${got}.`, {
    expected,
    got,
    remedy,
    place: { file },
  });
}
