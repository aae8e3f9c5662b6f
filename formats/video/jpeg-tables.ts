/**
 * The standard Huffman tables of ITU-T T.81, K.3.3, as a DHT segment. There are tables for the DC and AC coefficients
 * of luma and of chroma. Frames of Motion JPEG may omit these tables.
 */
export function standardTables(): Uint8Array {
  const tables = Buffer.from(TABLES, 'base64');
  const head = Buffer.from([0xff, 0xc4, (tables.length + 2) >> 8, (tables.length + 2) & 0xff]);
  return Buffer.concat([head, tables]);
}

const TABLES: string =
  'AAABBQEBAQEBAQAAAAAAAAAAAQIDBAUGBwgJCgsBAAMBAQEBAQEBAQEAAAAAAAABAgMEBQYHCAkKCxAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBR' +
  'IhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqD' +
  'hIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6EQACAQIEBAMEBw' +
  'UEBAABAncAAQIDEQQFITEGEkFRB2FxEyIygQgUQpGhscEJIzNS8BVictEKFiQ04SXxFxgZGiYnKCkqNTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNk' +
  'ZWZnaGlqc3R1dnd4eXqCg4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2dri4+Tl5ufo6ery8/T19v' +
  'f4+fo=';
