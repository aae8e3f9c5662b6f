import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FormatError } from '../../primitives/checks/errors.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { fileTooLarge } from '../memory.ts';
import { type LayerInput, layerBytes } from './layer-input.ts';

/** A value of SQLite; whole numbers are bigints. */
export type SqlValue = null | bigint | number | string | Uint8Array;

export type SqlRow = Readonly<Record<string, SqlValue>>;

/** A database that is open for reading. */
export interface Database {
  /** The rows of a SELECT, one by one. A parameter is `?1` in the text. */
  rows(sql: string, parameter?: string | number): Iterator<SqlRow>;
  close(): void;
}

// The parts of `node:sqlite` that are used. Types of Node 20 have none of it.
interface Statement {
  setReadBigInts(enabled: boolean): void;
  iterate(parameter?: unknown): Iterator<SqlRow>;
}
interface Connection {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
interface Sqlite {
  readonly DatabaseSync: new (path: string, options: object) => Connection;
  readonly StatementSync: { readonly prototype: Partial<Statement> };
}

/** Bytes of a database's header that say how it is written, and their value for a write-ahead log. */
const [VERSIONS, WITH_LOG] = [18, 2];

/** Statements before all others: nothing is written, no page is trusted, and views call no function with side effects. */
const SETTINGS =
  'PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -4000';

/**
 * Opens a database of SQLite with the module `node:sqlite`, for reading only and without extensions. Bytes that are no file
 * on disk, as those of a pipe, are written to a temporary one, which {@link Database.close} removes.
 *
 * A write-ahead log (`-wal`) that is not empty has changes that the file itself lacks, and reading it would write beside the
 * file. So such a file is refused. A file without one, or with an empty one, is opened as one that does not change, and nothing
 * is written beside it.
 *
 * @throws FormatError `format/needs-newer-node` without the module, `format/unmerged-log`, and `format/malformed-geopackage` if
 * the file is no database.
 */
export function* openDatabase(input: LayerInput): Steps<Database> {
  const sqlite = quietSqlite();
  if (sqlite === undefined) throw needsNewerNode(input.file);
  const { path } = input;
  if (path !== undefined && sizeOf(`${path}-wal`) > 0) throw unmergedLog(input.file);
  const head = yield* wait(layerBytes(input).read(0, Math.min(100, input.size)));
  if (path !== undefined) return opened(sqlite, path, head[VERSIONS] === WITH_LOG, input.file, () => {});
  const { size, memoryBytes = Number.POSITIVE_INFINITY } = input;
  if (size > memoryBytes) throw fileTooLarge(input.file, size, memoryBytes);
  const bytes = yield* wait(layerBytes(input).read(0, size));
  const folder = mkdtempSync(join(tmpdir(), 'quadrille-geopackage-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    writeFileSync(join(folder, 'layer.gpkg'), bytes, { mode: 0o600 });
    return opened(sqlite, join(folder, 'layer.gpkg'), true, input.file, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

function opened(sqlite: Sqlite, path: string, isFixed: boolean, file: string, behind: () => void): Database {
  const place = pathToFileURL(path).href;
  const connection = asDamage(
    () => new sqlite.DatabaseSync(isFixed ? `${place}?immutable=1` : place, { readOnly: true }),
    file,
  );
  try {
    asDamage(() => connection.exec(SETTINGS), file);
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    rows(sql, parameter) {
      const rows = asDamage(() => {
        const statement = connection.prepare(sql);
        statement.setReadBigInts(true);
        return parameter === undefined ? statement.iterate() : statement.iterate(parameter);
      }, file);
      return { next: () => asDamage(() => rows.next(), file) };
    },
    close() {
      connection.close();
      behind();
    },
  };
}

/** The module, where this version of Node has it. Its warning that it is experimental is left out. */
function quietSqlite(): Sqlite | undefined {
  const { emitWarning } = process;
  process.emitWarning = ((...given: Parameters<typeof emitWarning>) => {
    if (!String(given[0]).startsWith('SQLite is an experimental feature')) Reflect.apply(emitWarning, process, given);
  }) as typeof emitWarning;
  try {
    const sqlite = process.getBuiltinModule?.('node:sqlite') as Sqlite | undefined;
    // Node 22.5 to 22.12 cannot read row by row.
    return sqlite?.StatementSync.prototype.iterate === undefined ? undefined : sqlite;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function asDamage<T>(read: () => T, file: string): T {
  try {
    return read();
  } catch (cause) {
    throw new FormatError('format/malformed-geopackage', 'The database cannot be read.', {
      expected: 'a database that SQLite reads',
      got: (cause as Error).message,
      remedy: 'Copy the file again, or write it again.',
      place: { file },
      cause,
    });
  }
}

function needsNewerNode(file: string): FormatError {
  return new FormatError('format/needs-newer-node', 'This version of Node has no SQLite, which reads GeoPackage.', {
    expected: 'Node 22.13 or newer',
    got: process.version,
    remedy: 'Use Node 24, or convert the file, for example with ogr2ogr -f FlatGeobuf zones.fgb FILE.',
    place: { file },
  });
}

function unmergedLog(file: string): FormatError {
  return new FormatError('format/unmerged-log', 'The file lacks changes that are in a file beside it (-wal).', {
    expected: 'a GeoPackage that no other program has open',
    got: 'a write-ahead log that is not empty',
    remedy: 'Close the program that has it open, such as QGIS; or run PRAGMA wal_checkpoint(TRUNCATE) on it.',
    place: { file },
  });
}
