import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { IncompleteRecord } from '../left-out.ts';
import { describeFeature, type FeaturePlace, isJsonObject } from '../polygons/feature.ts';

/** The class of an object, which old versions of QuPath write as the id of every feature. */
const CLASS_OF_QUPATH = /^Path\w*Object$/;

/**
 * Name of a feature. It is the value of `property` if a property is given, else the feature's `id`, else its index. The
 * name of a class, which old versions of QuPath write in place of an id, is none.
 */
export function featureName(properties: unknown, property: string | undefined, at: FeaturePlace): string {
  if (property === undefined) {
    return at.id == null || isClass(at.id) ? String(at.index) : nameText(at.id, 'id', at);
  }
  if (isJsonObject(properties) && Object.hasOwn(properties, property)) {
    return nameText(properties[property], property, at);
  }
  const there = isJsonObject(properties) ? Object.keys(properties).slice(0, 20).join(', ') : '';
  throw missingProperty(property, there === '' ? 'It has no properties.' : `Its properties are ${there}.`, at);
}

function isClass(id: unknown): boolean {
  return typeof id === 'string' && CLASS_OF_QUPATH.test(id);
}

/** Whether an id names a feature: a text or a number, but no class of QuPath. */
export function isName(id: unknown): boolean {
  return (typeof id === 'string' || typeof id === 'number') && !isClass(id);
}

/** The error for a record that does not have the property whose values name the polygons. */
function missingProperty(property: string, remedy: string, at: FeaturePlace | { readonly file: string }): FormatError {
  const [where, record] = 'index' in at ? [` in ${describeFeature(at)}`, at.index] : ['', undefined];
  return new FormatError('format/missing-property', `There is no ${quoteName(property)}${where}.`, {
    remedy,
    place: { file: at.file, record },
  });
}

/** The error for a property that is none of the columns, which are all that records have. */
export function missingColumn(
  property: string,
  columns: readonly string[],
  at: FeaturePlace | { readonly file: string },
): FormatError {
  return missingProperty(
    property,
    columns.length === 0 ? 'There are none.' : `There are ${listNames(columns, 20)}.`,
    at,
  );
}

/**
 * Converts the value of a property to a name. Throws if the value is null, an array or an object; a record whose name is
 * null is left out.
 */
export function nameText(value: unknown, property: string, at: FeaturePlace): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return String(value);
  if (value === null) throw nullName(property, at);
  throw new FormatError('format/bad-name', `The ${quoteName(property)} of ${describeFeature(at)} cannot name it.`, {
    expected: 'a string or a number',
    got: Array.isArray(value) ? 'an array' : 'an object',
    remedy: 'Name the polygons by another property.',
    place: { file: at.file, record: at.index },
  });
}

/** The error for a record whose name is null. Such records are left out. */
function nullName(property: string, at: FeaturePlace): IncompleteRecord {
  return new IncompleteRecord(
    'format/missing-property',
    `The ${quoteName(property)} of ${describeFeature(at)} is null.`,
    {
      remedy: 'Give it a value, or name the polygons by another property.',
      place: { file: at.file, record: at.index },
    },
  );
}
