import { describe, expect } from 'vitest';
import { withoutSecrets } from '../../algorithms/quoted-names.ts';
import { humanLog } from '../../cli/human-log.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { fc, test } from '../law-test.ts';

const letters = 'abcXYZ019%$!*+,;=_.~-';
const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 6, maxLength: 20 });
const host = fc.constantFrom('localhost', 'localhost:8080', 'example.org', 'example.org:80', '127.0.0.1', '[::1]');
const scheme = fc.constantFrom('http://', 'https://', 'http:/', 'https//', '', 'redis://', 's3://');

describe('messages of the command', () => {
  test.prop([scheme, word, word, word, host])('have no password of an address', (start, name, first, last, at) => {
    const password = `${first}:@${last}`;
    const written: string[] = [];
    const stream = { write: (text: string) => written.push(text) > 0 };
    const address = `${start}${name}:${password}@${at}/a.tif`;
    const error = new UsageError('usage/stray-word', `The word '${address}' is neither an option nor a value.`);
    for (const log of [humanLog(stream, { quiet: false }), jsonLog(stream, { quiet: false })]) {
      log.note({ code: 'some/note', message: `${address}: read.` });
      log.error(error, 2);
    }
    expect(written).toHaveLength(4);
    for (const text of written) {
      expect(text).not.toContain(first);
      expect(text).not.toContain(last);
      expect(text).toContain(`${at}/a.tif`);
    }
  });

  test.prop([host, word])('have no query of an address', (at, query) => {
    const shown = withoutSecrets(`http://${at}/a.tif?key=${query}: no.`);
    expect(shown).toMatch(/a\.tif\?…/);
    expect(shown).not.toContain(query);
  });

  test.each(['zone 12:30@noon', 'npm install a@6.7.0 b@1', 'C:\\a\\b.tif: no', 'a:b c@d.org', 'x?y=1', '1:2'])(
    '%s is as it is',
    (text) => {
      expect(withoutSecrets(text)).toBe(text);
    },
  );
});
