import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { parseZones, type ReadZones, reprojectZones } from '../../../formats/index.ts';
import { costlyCaseCount } from '../../cases.ts';
import images from '../../fixtures/reprojected.json' with { type: 'json' };
import { fc, test } from '../../law-test.ts';
import { farFromEdges } from './far-from-edges.ts';

type Ring = readonly (readonly number[])[];

const polygon = (...rings: readonly Ring[]) => ({
  type: 'Polygon',
  coordinates: rings.map((ring) => [...ring, ring[0]]),
});
const zonesOf = (crs: string, ...polygons: readonly Ring[]): ReadZones =>
  parseZones(JSON.stringify({ type: 'GeometryCollection', geometries: polygons.map((ring) => polygon(ring)) }), {
    crs,
    file: 'zones.json',
  });
/** A zone for each ring. */
const eachOf = (crs: string, ...rings: readonly Ring[]): ReadZones =>
  parseZones(
    JSON.stringify({
      type: 'FeatureCollection',
      features: rings.map((ring, id) => ({
        type: 'Feature',
        id,
        properties: { even: id % 2 === 0, name: `n${id}` },
        geometry: polygon(ring),
      })),
    }),
    { crs, file: 'zones.json', attributes: 'all' },
  );
const to = (crs: string, cell = 10) => ({ crs, stepX: cell, stepY: -cell });
const pairs = ({ x, y }: { readonly x: ArrayLike<number>; readonly y: ArrayLike<number> }): string[] =>
  Array.from(x, (value, at) => `${value} ${y[at]}`);

describe(`edges stay within a tenth of a cell of what ${images.by} makes of their points`, () => {
  test.for(images.cases)('from $from to $to', async ({ from, to: crs, cell, ring, image }) => {
    const { zones, notes } = await reprojectZones(zonesOf(from, ring), to(crs, cell));
    const dense = { x: image.filter((_, at) => at % 2 === 0), y: image.filter((_, at) => at % 2 === 1) };
    expect(dense.x).toHaveLength(ring.length * images.pieces);
    expect(farFromEdges(dense, zones.polygons, cell)).toBeLessThan(0.1);
    expect(zones.crs).toBe(crs);
    expect(notes.at(-1)).toMatchObject({ code: 'zones/reprojected', count: zones.polygons.x.length - ring.length });
  });
});

/** Systems, and a part of the area of each: west, south, east, north. */
const SYSTEMS: readonly (readonly [crs: string, ...box: [number, number, number, number]])[] = [
  ['EPSG:32633', 9, -10, 21, 75],
  ['EPSG:32722', -54, -70, -48, 0],
  ['EPSG:2154', -5, 42, 9, 51],
  ['EPSG:3035', -10, 35, 40, 70],
  ['EPSG:5070', -124, 25, -67, 49],
  ['EPSG:3857', -179, -84, 179, 84],
  ['EPSG:3413', -180, 60, 180, 89],
  ['EPSG:3031', -180, -89, 180, -60],
  ['EPSG:2193', 167, -47, 178, -34],
  ['EPSG:28355', 144, -43, 150, -10],
  ['EPSG:3006', 11, 55, 24, 69],
  ['EPSG:2180', 14.2, 49, 24, 55],
  ['EPSG:2263', -74.2, 40.5, -72, 41.3],
  ['EPSG:6933', -170, -80, 170, 80],
  ['EPSG:8857', -170, -80, 170, 80],
  ['EPSG:6350', -124, 25, -67, 49],
];

const PYTHON = '/usr/bin/python3';
const hasGdal = existsSync(PYTHON) && spawnSync(PYTHON, ['-c', 'import osgeo.osr']).status === 0;

function imagesByGdal(from: string, into: string, points: Ring): (readonly [number, number] | null)[] {
  const script = fileURLToPath(new URL('images-by-gdal.py', import.meta.url));
  const { stdout, stderr, status } = spawnSync(PYTHON, [script], {
    input: JSON.stringify({ from, to: into, points }),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

const PIECES = 40;
const dense = (ring: Ring): number[][] =>
  ring.flatMap(([ax, ay], at) => {
    const [bx, by] = ring[(at + 1) % ring.length]!;
    return Array.from({ length: PIECES }, (_, piece) => [
      ax! + ((bx! - ax!) * piece) / PIECES,
      ay! + ((by! - ay!) * piece) / PIECES,
    ]);
  });

/** A triangle in the area of a system, as shares of its sides. */
const aTriangle = fc.array(
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  {
    minLength: 3,
    maxLength: 3,
  },
);

if (hasGdal) {
  const cases = {
    system: fc.constantFrom(...SYSTEMS),
    shares: aTriangle,
    size: fc.constantFrom(0.1, 0.02),
    cell: fc.constantFrom(1, 30, 1000),
    isBack: fc.boolean(),
  };
  describe('random polygons beside GDAL', () => {
    test.prop(cases, { numRuns: costlyCaseCount(100) })(
      'stay within a tenth of a cell, to longitudes and latitudes and from there',
      async ({ system: [crs, west, south, east, north], shares, size, cell, isBack }) => {
        // A part of the area, so that a coarse comparison with all edges is exact enough.
        const [left, low] = [
          west + (1 - size) * (east - west) * shares[0]![0],
          south + (1 - size) * (north - south) * shares[0]![1],
        ];
        const ring = shares.map(([across, up]) => [
          left + size * (east - west) * across,
          low + size * (north - south) * up,
        ]);
        const [from, into] = isBack ? [crs, 'EPSG:4326'] : ['EPSG:4326', crs];
        const own = isBack ? imagesByGdal('EPSG:4326', crs, ring).map((place) => [...place!]) : ring;
        const step = isBack ? cell / 111_320 : cell;
        const { zones } = await reprojectZones(zonesOf(from, own), to(into, step), { memoryBytes: 2 ** 28 });
        const points = imagesByGdal(from, into, dense(own));
        const image = { x: points.map((place) => place![0]), y: points.map((place) => place![1]) };
        expect(farFromEdges(image, zones.polygons, step)).toBeLessThan(0.1);
      },
      300_000,
    );
  });
}

describe('edges that zones share', () => {
  const aPlace = fc.tuple(fc.double({ min: 0, max: 12, noNaN: true }), fc.double({ min: 40, max: 52, noNaN: true }));
  test.prop({
    a: aPlace,
    b: aPlace,
    c: aPlace,
    d: aPlace,
    crs: fc.constantFrom('EPSG:32632', 'EPSG:3035', 'EPSG:3413', 'EPSG:2154'),
  })('become the same points, whichever way they run', async ({ a, b, c, d, crs }) => {
    const [one, other] = (
      await Promise.all(
        [
          [a, b, c],
          [b, a, d],
        ].map((ring) => reprojectZones(zonesOf('EPSG:4326', ring), to(crs, 100))),
      )
    ).map(({ zones }) => pairs(zones.polygons)) as [string[], string[]];
    /** The points from the first vertex to the second. */
    const along = (points: string[], first: string, second: string): string[] =>
      points.slice(points.indexOf(first), points.indexOf(second) + 1);
    const [imageA, imageB] = [one[0]!, other[0]!];
    fc.pre(imageA !== imageB);
    expect(along(other, imageB, imageA).reverse()).toEqual(along(one, imageA, imageB));
  });
});

describe('zones', () => {
  test('are returned as they are in the same system by another name', async () => {
    const read = zonesOf('OGC:CRS84', [
      [0, 0],
      [1, 0],
      [0, 1],
    ]);
    expect(await reprojectZones(read, to('EPSG:4326', 0.1))).toEqual(read);
  });

  test('keep parts, rings, names and attributes', async () => {
    const far: Ring = [
      [0, 89.9],
      [10, 90],
      [10, 89.9],
    ];
    const near: Ring = [
      [8, 48],
      [10, 48],
      [9, 49],
    ];
    const read = eachOf('EPSG:4326', near, far, near, far, near);
    const { zones, notes, attributes } = await reprojectZones(read, to('EPSG:3857'), { onBadRecord: 'skip' });
    expect(zones.names).toEqual(['0', '2', '4']);
    expect(Array.from(zones.polygons.polygonRings)).toEqual([0, 1, 2, 3]);
    expect(zones.polygons.ringParts).toHaveLength(3);
    const { ringVertices, x } = zones.polygons;
    expect(Array.from(ringVertices, (at) => at / ringVertices[1]!)).toEqual([0, 1, 2, 3]);
    expect(x).toHaveLength(ringVertices[3]!);
    expect(
      attributes!.map(({ name, column }) => [
        name,
        'values' in column ? Array.from(column.values, Number) : column.codes.length,
      ]),
    ).toEqual([
      ['even', [1, 1, 1]],
      ['name', 3],
    ]);
    expect(notes.at(-1)).toMatchObject({ code: 'zones/not-projected', count: 2, zone: '1' });
    expect(notes.at(-1)!.message).toContain('projection gives no places');
  });

  const faults: readonly [string, string, string, Ring][] = [
    [
      'at the pole of a Mercator projection',
      'EPSG:3857',
      'crs/outside',
      [
        [0, 0],
        [10, 90],
        [10, 0],
      ],
    ],
    [
      'at the far pole of a conic projection',
      'EPSG:2154',
      'crs/torn',
      [
        [0, -90],
        [10, 0],
        [0, 10],
      ],
    ],
    [
      'a quarter of the globe from the meridian of a zone of UTM',
      'EPSG:32632',
      'crs/outside',
      [
        [99, 0],
        [100, 10],
        [98, 10],
      ],
    ],
    [
      'across the cut of a projection',
      'EPSG:3857',
      'crs/torn',
      [
        [179, 0],
        [181, 0],
        [180, 5],
      ],
    ],
    [
      'around the place opposite to the centre',
      'EPSG:3035',
      'crs/torn',
      [
        [-171, -53],
        [-169, -53],
        [-169, -51],
        [-171, -51],
      ],
    ],
  ];
  test.for(faults)('%s are refused by name', async ([, crs, code, ring]) => {
    const reading = reprojectZones(
      eachOf(
        'EPSG:4326',
        [
          [8, 48],
          [10, 48],
          [9, 49],
        ],
        ring,
      ),
      to(crs),
    );
    await expect(reading).rejects.toMatchObject({ code, place: { file: 'zones.json', record: 1 } });
    await expect(reading).rejects.toThrow(/Zone "1" .*EPSG:4326 to EPSG:\d+.*ogr2ogr/s);
  });

  test('can be interrupted', async () => {
    const ring: Ring = [
      [-170, -80],
      [170, -70],
      [100, 80],
    ];
    const controller = new AbortController();
    const reading = reprojectZones(eachOf('EPSG:4326', ring, ring, ring), to('EPSG:3857', 0.1), {
      signal: controller.signal,
    });
    setImmediate(() => controller.abort(new Error('enough')));
    await expect(reading).rejects.toThrow('enough');
  });

  test('that would become more points than fit in memory are refused', async () => {
    const read = zonesOf('EPSG:4326', [
      [-170, -80],
      [170, -70],
      [100, 80],
    ]);
    const reading = reprojectZones(read, to('EPSG:3857', 0.001), { memoryBytes: 2 ** 20 });
    await expect(reading).rejects.toMatchObject({ code: 'memory/limit' });
  });

  test('without a system are refused', async () => {
    const read = parseZones('POLYGON ((0 0, 1 0, 0 1, 0 0))');
    await expect(reprojectZones(read, to('EPSG:3857'))).rejects.toThrow(/read\.zones\.crs/);
  });
});

describe('coordinate systems', () => {
  const TRIANGLE: Ring = [
    [18.6, 49],
    [18.8, 49],
    [18.7, 49.1],
  ];
  const first = async (from: ReadZones, crs: string): Promise<number[]> => {
    const { zones } = await reprojectZones(from, to(crs));
    return [zones.polygons.x[0]!, zones.polygons.y[0]!];
  };
  const withText = (crs: string, crsText: string): ReadZones => {
    const read = zonesOf(crs, TRIANGLE);
    return { ...read, zones: { ...read.zones, crsText } };
  };

  const refused: readonly [string, string, RegExp][] = [
    ['EPSG:27700', 'crs/needs-grid', /OSTN15/],
    ['EPSG:31467', 'crs/needs-grid', /BETA2007/],
    ['EPSG:4267', 'crs/needs-grid', /NTv2_0/],
    ['+proj=longlat +datum=NAD27', 'crs/needs-grid', /NAD27/],
    ['+proj=utm +zone=14 +ellps=clrk66 +nadgrids=@conus,@null', 'crs/needs-grid', /@conus/],
    ['+proj=utm +zone=14 +ellps=clrk66', 'crs/no-shift', /which its definition does not have/],
    ['+proj=laea +lon_0=9 +R=6371000', 'crs/no-shift', /which its definition does not have/],
    ['EPSG:23032', 'crs/doubtful-shift', /-87,-98,-121/],
    ['EPSG:4660', 'crs/doubtful-shift', /982\.6087/],
    ['EPSG:4751', 'crs/doubtful-shift', /towgs84=0,0,0/],
    ['EPSG:6984', 'crs/doubtful-shift', /no shift/],
    [
      'GEOGCS["GCS_Israel",DATUM["D_Israel",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]',
      'crs/no-shift',
      /D_Israel/,
    ],
    ['EPSG:4978', 'crs/unsupported', /GCENCRS/],
    ['EPSG:7405', 'crs/unsupported', /COMPOUNDCRS/],
    ['EPSG:5773', 'crs/unsupported', /VERTCRS/],
    ['EPSG:4807', 'crs/unsupported', /grads/],
    ['EPSG:27572', 'crs/unsupported', /Greenwich/],
    ['EPSG:3139', 'crs/unsupported', /"cass"/],
    ['EPSG:32242', 'crs/unsupported', /WGS72/],
    ['+proj=robin +datum=WGS84', 'crs/unsupported', /"robin"/],
    ['+proj=tmerc +lon_0=9 +datum=nowhere', 'crs/unsupported', /"nowhere"/],
    ['+proj=nonesuch +datum=WGS84', 'crs/unsupported', /does not understand/],
    ['+proj=utm +zone=99 +datum=WGS84', 'crs/unsupported', /60 of UTM/],
    ['+proj=utm +zone=0 +datum=WGS84', 'crs/unsupported', /60 of UTM/],
    ['+proj=utm +datum=WGS84', 'crs/unsupported', /60 of UTM/],
    ['+proj=geocent +datum=WGS84', 'crs/unsupported', /"geocent"/],
    ['EPSG:99999', 'crs/undefined', /EPSG:99999/],
    ['ESRI:102003', 'crs/undefined', /ESRI:102003/],
    [
      'GEOGCS["a",DATUM["b",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["grad",0.0157]]',
      'crs/unsupported',
      /degrees/,
    ],
    ['LOCAL_CS["a",UNIT["metre",1]]', 'crs/unsupported', /identity/],
  ];
  test.for(refused)('%s is refused', async ([crs, code, reason]) => {
    const reading = reprojectZones(zonesOf('EPSG:4326', TRIANGLE), to(crs));
    await expect(reading).rejects.toMatchObject({ code, remedy: expect.stringMatching(/ogr2ogr/) });
    await expect(reading).rejects.toThrow(reason);
  });

  test('on other ellipsoids and spheres are taken as stated', async () => {
    const [flat] = await first(zonesOf('EPSG:4326', TRIANGLE), '+proj=sinu +R=6371007.181 +nadgrids=@null');
    expect(flat).toBeCloseTo(((18.6 * Math.PI) / 180) * 6371007.181 * Math.cos((49 * Math.PI) / 180), 3);
    // As GDAL 3.6.2 has it.
    const [x, y] = await first(zonesOf('EPSG:4326', TRIANGLE), '+proj=utm +zone=34 +ellps=bessel +towgs84=0,0,0');
    expect(x).toBeCloseTo(324_484.3187, 3);
    expect(y).toBeCloseTo(5_429_610.299, 3);
    const reading = reprojectZones(zonesOf('EPSG:4326', TRIANGLE), to('+proj=laea +R=6371000'));
    await expect(reading).rejects.toMatchObject({
      code: 'crs/no-shift',
      remedy: expect.stringContaining('+nadgrids=@null'),
    });
  });

  test('in words of PROJ may leave the origin out', async () => {
    for (const text of ['+proj=laea +lat_0=48 +datum=WGS84', '+proj=aea +lat_1=40 +lat_2=50 +datum=WGS84']) {
      const whole = ['+lat_0=0', '+lon_0=0', '+x_0=0', '+y_0=0'].filter((word) => !text.includes(word.slice(0, 7)));
      const found = await first(zonesOf('EPSG:4326', TRIANGLE), text);
      expect(found.every(Number.isFinite)).toBe(true);
      expect(found).toEqual(await first(zonesOf('EPSG:4326', TRIANGLE), `${text} ${whole.join(' ')}`));
    }
  });

  test('of one datum need no shift of it, whatever it is', async () => {
    const ring: Ring = [
      [2530000, 5600000],
      [2590000, 5650000],
      [2560000, 5800000],
    ];
    const { notes } = await reprojectZones(zonesOf('EPSG:31466', ring), to('EPSG:31467'));
    expect(notes.at(-1)!.message).toContain('Both have the same datum.');
  });

  test('of unnamed datums on equal ellipsoids are not taken as of one', async () => {
    const reading = reprojectZones(
      zonesOf('+proj=utm +zone=33 +ellps=bessel', TRIANGLE),
      to('+proj=utm +zone=34 +ellps=bessel'),
    );
    await expect(reading).rejects.toMatchObject({ code: 'crs/no-shift' });
  });

  test.for(['unknown', 'D_Unknown_based_on_Bessel_1841_ellipsoid', 'Not specified (based on Bessel 1841)', ''])(
    'whose datum is called "%s" are not taken as of one datum',
    async (datum) => {
      const text = (spheroid: string): string =>
        `PROJCS["a",GEOGCS["b",DATUM["${datum}",SPHEROID[${spheroid}]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],` +
        'PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",15],' +
        'PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]';
      const bessel = text('"Bessel 1841",6377397.155,299.1528128');
      const modern = text('"WGS 84",6378137,298.257223563');
      await expect(reprojectZones(zonesOf(bessel, TRIANGLE), to(modern))).rejects.toMatchObject({
        code: 'crs/no-shift',
      });
      const { notes } = await reprojectZones(zonesOf(modern, TRIANGLE), to('EPSG:32633'));
      expect(notes.at(-1)!.message).toContain('taken as one');
    },
  );

  test('whose datum is shifted come to the same place from all that need no shift', async () => {
    const [x] = await first(
      zonesOf('EPSG:4326', [
        [8, 47],
        [9, 47],
        [8, 48],
      ]),
      'EPSG:2056',
    );
    const { zones, notes } = await reprojectZones(
      zonesOf('EPSG:4258', [
        [8, 47],
        [9, 47],
        [8, 48],
      ]),
      to('EPSG:2056'),
    );
    expect(zones.polygons.x[0]).toBeCloseTo(x!, 3);
    expect(notes.at(-1)!.message).toMatch(/EPSG:2056 was shifted by towgs84=674.374,15.056,405.346.*good to 1 m/);
  });

  const WGS =
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]';
  test.for([
    ['well-known text with latitude first', `${WGS},AXIS["Latitude",NORTH],AXIS["Longitude",EAST]]`],
    [
      'WKT 2 with latitude first',
      'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],AXIS["geodetic latitude (Lat)",north,ORDER[1],ANGLEUNIT["degree",0.0174532925199433]],AXIS["geodetic longitude (Lon)",east,ORDER[2],ANGLEUNIT["degree",0.0174532925199433]]]',
    ],
    ['a compound', `COMPD_CS["both",${WGS}],VERT_CS["h",VERT_DATUM["d",2005],UNIT["metre",1]]]`],
    [
      'PROJJSON',
      JSON.stringify({
        type: 'GeographicCRS',
        name: 'mine',
        datum: {
          type: 'GeodeticReferenceFrame',
          name: 'World Geodetic System 1984',
          ellipsoid: { name: 'WGS 84', semi_major_axis: 6378137, inverse_flattening: 298.257223563 },
        },
        coordinate_system: {
          subtype: 'ellipsoidal',
          axis: [
            { name: 'Geodetic latitude', abbreviation: 'Lat', direction: 'north', unit: 'degree' },
            { name: 'Geodetic longitude', abbreviation: 'Lon', direction: 'east', unit: 'degree' },
          ],
        },
      }),
    ],
  ] as const)('by %s have the longitude first', async ([, text]) => {
    const wanted = await first(zonesOf('EPSG:4326', TRIANGLE), 'EPSG:32634');
    const found = await first(withText('mine', text), 'EPSG:32634');
    expect(found[0]).toBeCloseTo(wanted[0]!, 3);
    expect(found[1]).toBeCloseTo(wanted[1]!, 3);
  });

  test('by the text of a file serve where the code has no definition', async () => {
    const text =
      'PROJCS["x",GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],PARAMETER["False_Easting",0],PARAMETER["False_Northing",0],PARAMETER["Central_Meridian",-96],PARAMETER["Standard_Parallel_1",29.5],PARAMETER["Standard_Parallel_2",45.5],PARAMETER["Latitude_Of_Origin",23],UNIT["Meter",1]]';
    const ring: Ring = [
      [100000, 1000000],
      [200000, 1000000],
      [100000, 1100000],
    ];
    const read = zonesOf('ESRI:102999', ring);
    const found = await first({ ...read, zones: { ...read.zones, crsText: text } }, 'EPSG:4326');
    const wanted = await first(zonesOf('EPSG:5070', ring), 'EPSG:4326');
    expect(found[0]).toBeCloseTo(wanted[0]!, 9);
    expect(found[1]).toBeCloseTo(wanted[1]!, 9);
  });

  test.for(['Stereographic_North_Pole', 'Hotine_Oblique_Mercator_Azimuth_Center', 'Mercator'])(
    'by well-known text of the projection %s, which proj4 computes otherwise than PROJ, are refused',
    async (method) => {
      const text = `PROJCS["x",${WGS}],PROJECTION["${method}"],PARAMETER["False_Easting",0],PARAMETER["False_Northing",0],PARAMETER["Central_Meridian",-45],PARAMETER["Standard_Parallel_1",70],UNIT["Meter",1]]`;
      await expect(reprojectZones(withText('mine', text), to('EPSG:32634'))).rejects.toMatchObject({
        code: 'crs/unsupported',
      });
    },
  );
});
