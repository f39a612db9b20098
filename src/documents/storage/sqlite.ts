import { statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { attempt } from '../../core/attempt.ts';

type SqlValue = number | string | Uint8Array | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface Statement {
  run(...values: readonly SqlValue[]): { readonly changes: number; readonly id: number };
  get(...values: readonly SqlValue[]): SqlRow | undefined;
  all(...values: readonly SqlValue[]): readonly SqlRow[];
  iterate(...values: readonly SqlValue[]): Iterable<SqlRow>;
}

/** An open SQLite database. Statements are prepared once. */
export interface Database<Prepared = Statement> {
  exec(sql: string): void;
  prepare(sql: string): Prepared;
  close(): void;
}

type OpenDatabase = (path: string) => Database;

/** The implementations, as far as both have them. */
interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => Database<NodeStatement>;
}
interface NodeStatement extends Omit<Statement, 'run'> {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
}
interface WasmSqlite {
  readonly Database: new (path: string) => Database<WasmStatement>;
}
interface WasmStatement {
  run(values: readonly SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint };
  all(values: readonly SqlValue[]): readonly SqlRow[];
  iterate(values: readonly SqlValue[]): Iterable<SqlRow>;
  finalize(): void;
}

const required = createRequire(import.meta.url);

/** SQLite of Node from 22.13 on; before, compiled to WebAssembly, which reads and writes the same files in two to three times the time. */
export const openDatabase: OpenDatabase = (path) => (hasNodeSqlite() ? openNodeDatabase(path) : openWasmDatabase(path));

/** With the flag of 22.5 to 22.12, too. */
export function hasNodeSqlite(): boolean {
  // `builtinModules` does not name it.
  return (process as { getBuiltinModule?: (id: string) => unknown }).getBuiltinModule?.('node:sqlite') !== undefined;
}

const openNodeDatabase: OpenDatabase = (path) => {
  const { DatabaseSync } = required('node:sqlite') as NodeSqlite;
  const withCode = codesFor(path);
  const database = new DatabaseSync(path);
  return {
    exec: (sql) => withCode(() => database.exec(sql)),
    close: () => database.close(),
    prepare: (sql) => {
      const statement = withCode(() => database.prepare(sql));
      return {
        run: (...values) => {
          const { changes, lastInsertRowid } = withCode(() => statement.run(...values));
          return { changes: Number(changes), id: Number(lastInsertRowid) };
        },
        get: (...values) => withCode(() => statement.get(...values)),
        all: (...values) => withCode(() => statement.all(...values)),
        iterate: (...values) => statement.iterate(...values),
      };
    },
  };
};

const openWasmDatabase: OpenDatabase = (path) => {
  const { Database } = required('node-sqlite3-wasm') as WasmSqlite;
  const withCode = codesFor(path);
  const database = withCode(() => new Database(path));
  const statements = new Set<WasmStatement>();
  return {
    exec: (sql) => withCode(() => database.exec(sql)),
    close: () => {
      for (const statement of statements) statement.finalize();
      statements.clear();
      database.close();
    },
    prepare: (sql) => {
      const statement = withCode(() => database.prepare(sql));
      statements.add(statement);
      return {
        run: (...values) => {
          const { changes, lastInsertRowid } = withCode(() => statement.run(values));
          return { changes, id: Number(lastInsertRowid) };
        },
        // Its own `get` leaves a statement that returns changed rows unfinished, and the transaction with it.
        get: (...values) => withCode(() => statement.all(values))[0],
        all: (...values) => withCode(() => statement.all(values)),
        iterate: (...values) => statement.iterate(values),
      };
    },
  };
};

/** Less is not enough for a transaction. */
const fullBytes = 16 * 2 ** 20;

/** Code of an error of the disk that is not full. */
export const diskErrorCode = 'ERR_SQLITE_IO';

type WithCode = <Result>(work: () => Result) => Result;

/** Gives an error of the disk a code. The WebAssembly build does not say that it is full. */
function codesFor(path: string): WithCode {
  return (work) => {
    try {
      return work();
    } catch (error) {
      if (error instanceof Error && /is full/.test(error.message)) Object.assign(error, { code: 'ENOSPC' });
      if (error instanceof Error && /disk I\/O error/.test(error.message))
        Object.assign(error, { code: hasRoom(path) ? diskErrorCode : 'ENOSPC' });
      throw error;
    }
  };
}

function hasRoom(path: string): boolean {
  const disk = attempt(() => statfsSync(dirname(path)), undefined);
  return disk === undefined || disk.bavail * disk.bsize >= fullBytes;
}

/** All or nothing. */
export function transaction<Result>(database: Database, work: () => Result): Result {
  database.exec('begin immediate');
  let result: Result;
  try {
    result = work();
    database.exec('commit');
  } catch (error) {
    try {
      database.exec('rollback');
    } catch {
      // SQLite has rolled it back already, as it does when the disk is full.
    }
    throw error;
  }
  return result;
}
