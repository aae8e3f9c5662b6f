import iconv from 'iconv-lite';
import { describe, expect } from 'vitest';
import { fc, test } from '../../law-test.ts';
import { bytesOf, dbaseOf, readBytes, shapefileOf } from '../../support/polygon-layers-support.ts';

const shape = shapefileOf([{ parts: [[[[0, 0], [9, 0], [0, 9], [0, 0]]]] }]); // biome-ignore format: four positions

/** Reads one polygon whose name is stored as the given bytes. */
async function nameOf(bytes: Uint8Array, cpg: string | undefined, language = 0) {
  const dbf = dbaseOf('n', ['']);
  dbf[29] = language;
  dbf.set(bytes, dbf.length - 48);
  const beside = { '.dbf': dbf, ...(cpg !== undefined && { '.cpg': bytesOf(cpg) }) };
  const { zones, notes } = await readBytes(shape, { id: 'n' }, undefined, beside);
  return [zones.names[0], notes.map(({ code }) => code).filter((code) => code !== 'zones/crs-unknown')] as const;
}

/** Names, the page that they are in, spellings of the page, and language bytes that mean it. */
const PAGES: readonly (readonly [
  text: string,
  page: string,
  spellings: readonly string[],
  languages: readonly number[],
])[] = [
  ['北京市', 'gbk', ['936', 'CP936', 'GBK', 'LDID/77', 'ANSI 936'], [0x4d, 0x7a]],
  ['臺北市', 'cp950', ['950', 'cp950', 'CP950\r\n', 'LDID/79'], [0x4f, 0x78]],
  ['東京都', 'cp932', ['932', 'CP932', 'Shift_JIS', 'LDID/19', '\uFEFF932'], [0x13, 0x7b]],
  ['서울시', 'cp949', ['949', 'CP949', 'EUC-KR'], [0x4e, 0x79]],
  ['Zürich', 'cp850', ['850', 'OEM 850', 'CP850', 'LDID/2'], [0x02, 0x0a, 0x37]],
  ['Łódź', 'cp1250', ['1250', 'ANSI 1250', 'windows-1250'], [0xc8]],
  ['Москва', 'cp1251', ['1251', 'ANSI 1251', 'cp1251', 'LDID/201'], [0xc9]],
  ['Москва', 'cp866', ['866', 'OEM 866'], [0x26, 0x65]],
  ['Αθήνα', 'cp1253', ['1253'], [0xcb]],
  ['Café', 'cp1252', ['1252', 'cp1252', 'ISO 8859-1', 'ISO88591', '88591', 'ISO-8859-1', '8859_1'], [0x03, 0x57, 0x58]],
  ['Москва', 'maccyrillic', ['10007', 'CP10007', 'LDID/150', 'MacCyrillic'], [0x96]],
  ['Łódź', 'maccenteuro', ['10029'], [0x97]],
  ['Αθήνα', 'macgreek', ['10006'], [0x98]],
  ['Zürich', 'macintosh', ['10000', 'macroman', 'Macintosh'], [0x04]],
  ['Zurich', 'ascii', ['20127', 'CP20127', 'US-ASCII', 'ASCII'], []],
  ['10 €', 'iso885915', ['ISO 8859-15', '885915', 'ISO-8859-15'], []],
  ['Łódź', 'utf8', ['UTF-8', 'utf8', 'UTF8\n', '\uFEFFUTF-8', '65001', ' utf-8 '], []],
];

describe('names of a Shapefile', () => {
  test.each(PAGES)('%s in %s', async (text, page, spellings, languages) => {
    const bytes = iconv.encode(text, page);
    for (const cpg of spellings) expect(await nameOf(bytes, cpg, 0x26)).toEqual([text, []]);
    for (const language of languages) {
      expect(await nameOf(bytes, undefined, language)).toEqual([text, []]);
      expect(await nameOf(bytes, 'LDID/999', language)).toEqual([text, ['polygons/unknown-code-page']]);
    }
  });

  test('with bytes that the code page does not have are noted', async () => {
    const note = ['polygons/undecoded-names'];
    expect(await nameOf(Uint8Array.of(0x5a, 0xfc), 'UTF-8', 0)).toEqual(['Z\uFFFD', note]);
    expect(await nameOf(Uint8Array.of(0x5a, 0x81, 0x20), 'GBK', 0)).toEqual(['Z\uFFFD', note]);
  });

  // The code pages that GDAL 3.6.2 reads from the language byte, and those that it only names: Kamenický and Mazovia.
  const LANGUAGES =
    `1 437 2 850 3 1252 8 865 10 850 11 437 13 437 14 850 15 437 16 850 17 437 18 850 19 932 20 850 21 437
    22 850 23 865 24 437 25 437 26 850 27 437 28 863 29 850 31 852 34 852 35 852 36 860 37 850 38 866 55 850 64 852 77 936
    78 949 79 950 80 874 88 1252 89 1252 100 852 101 866 102 865 103 861 106 737 107 857 108 863 120 950 121 949 122 936
    123 932 124 874 134 737 135 852 136 857 200 1250 201 1251 202 1254 203 1253 204 1257`
      .split(/\s+/)
      .map(Number);
  const pairs = Array.from({ length: LANGUAGES.length / 2 }, (_, i) => LANGUAGES.slice(2 * i, 2 * i + 2));

  test('are in the code page of the language byte, as in GDAL', async () => {
    const bytes = Uint8Array.of(0xe0, 0xe1, 0xe2, 0xe3);
    for (const [language, page] of pairs) {
      expect(await nameOf(bytes, undefined, language)).toEqual([iconv.decode(Buffer.from(bytes), `cp${page}`), []]);
    }
  });

  test('are noted if the language byte names an unknown code page, but not if it names none', async () => {
    const bytes = bytesOf('Łódź');
    for (const language of [104, 105, 7, 255]) {
      expect(await nameOf(bytes, undefined, language)).toEqual(['Łódź', ['polygons/unknown-code-page']]);
      expect(await nameOf(bytes, 'UTF-8', language)).toEqual(['Łódź', []]);
    }
    for (const language of [0, 87]) expect(await nameOf(bytes, undefined, language)).toEqual(['Łódź', []]);
  });

  test.prop([fc.constantFrom(...PAGES), fc.array(fc.nat(), { minLength: 1, maxLength: 8 })])(
    'are what iconv-lite reads, whatever page the .cpg file names',
    async ([letters, page, spellings], picks) => {
      const text = picks
        .map((pick) => [...letters.replaceAll(' ', '')][pick % [...letters.replaceAll(' ', '')].length])
        .join('');
      const cpg = spellings[picks[0]! % spellings.length]!;
      expect(await nameOf(iconv.encode(text, page), cpg)).toEqual([text, []]);
    },
  );
});
