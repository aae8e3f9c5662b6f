// Which file may import which: `npm run check` fails where one of these rules is broken. ARCHITECTURE.md draws the floors.

/** The floors, from the bottom. What stands in one row does not import each other, unless `BESIDE` says so. */
const FLOORS = [
  ['primitives'],
  ['backends', 'graph'],
  ['algorithms'],
  ['root'],
  ['formats'],
  ['bench'],
  ['cli'],
  ['examples', 'property-tests'],
];

/** The files of a floor, as a regular expression. */
const filesOf = (floor) => (floor === 'root' ? '^[^/]+\\.ts$' : `^${floor}/`);
const filesAbove = (row) => FLOORS.slice(row + 1).flat().map(filesOf);
