import { listNames } from '../../algorithms/quoted-names.ts';
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
      remedy: 'Name one of them with --layer.',
      place: { file },
    });
  }
  if (layer === undefined || names.includes(layer)) return layer ?? names[0];
  throw new UsageError('usage/unknown-layer', `The file has no layer ${JSON.stringify(layer)}.`, {
    expected: names.length === 0 ? 'no layer: the file has none' : `one of ${listNames(names, 20)}`,
    got: JSON.stringify(layer),
    remedy: names.length === 0 ? 'Name another file.' : 'Name one of them with --layer.',
    place: { file },
  });
}
