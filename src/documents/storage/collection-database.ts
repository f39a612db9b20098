import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import type { Attributes, CollectionFile, IndexCounts, WatchedFolder } from '../../core/documents.ts';
import { checkVersion, versionKey } from '../../core/file-version.ts';
import type { PassageSpan } from '../passages.ts';
import { indexedText } from '../search/keywords.ts';
import type { ByteVector } from '../vectors/vector-index.ts';
import {
  type CollectionFacts,
  type FileRow,
  type FileState,
  fileRow,
  type NewFileRow,
  number,
  optional,
  type StoredPassage,
  storedPassage,
  text,
} from './rows.ts';
import { type Database, openDatabase, type Statement, transaction } from './sqlite.ts';

const fileVersion = 1;
/** Of headings and text in BM25. */
const columnWeights = '1.5, 1.0';
const schema = `
  create table facts(key text primary key, value text not null) without rowid;
  create table folders(path text primary key, rules text not null, note text not null default '') without rowid;
  create table files(
    key integer primary key autoincrement, id text not null unique, name text not null, folder text, path text, source text not null,
    bytes integer not null, modified real not null, hash text not null default '', created_at integer not null,
    state text not null, generation integer not null default 0, error text, attributes text not null, chunking text not null,
    title text not null default '', passages integer not null default 0, embedded integer not null default 0
  );
  create index files_by_state on files(state, key);
  create unique index files_by_path on files(folder, path) where folder is not null;
  create table texts(file integer not null, start integer not null, text text not null, primary key(file, start)) without rowid;
  create table passages(
    id integer primary key autoincrement, file integer not null, start integer not null, end integer not null, page integer, line integer,
    headings text not null, header text, is_embedded integer not null default 0
  );
  create index passages_by_file on passages(file, start);
  create index passages_to_embed on passages(id) where is_embedded = 0;
  create table vectors(id integer primary key, file integer not null, scale real not null, bytes blob not null);
  create virtual table words using fts5(
    headings, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
  );
`;

/** Texts are stored in pieces of this length, of which a passage needs one or two. Most fit into two pages of the file. */
const pieceLength = 4096;
const piecesInSlice = 64;
/** Passages that are written or removed in one transaction: a search waits for it. */
const sliceSize = 200;

/** The file of one collection: its files, their texts, passages, keywords and vectors. Used by one process only. */
export class CollectionDatabase {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();
  /** How many files there are; undefined until it is counted. */
  #fileCount: number | undefined;
  /** The key of the file that was last to be read. */
  #lastNew = 0;

  private constructor(
    readonly path: string,
    database: Database,
  ) {
    this.#database = database;
  }

  /** Throws `NewerFile`, or any other error if the file is damaged. */
  static open(path: string, open = openDatabase): CollectionDatabase {
    // Removes the lock of the WebAssembly build that a killed process has left. No other process uses the file.
    unlock(path);
    let database: Database | undefined;
    try {
      database = open(path);
      const opened = new CollectionDatabase(path, database);
      database.exec('pragma locking_mode = exclusive; pragma temp_store = memory');
      const version = opened.#sql('pragma user_version').get()?.user_version;
      if (version === 0) throw new Error('it is no collection');
      checkVersion({ [versionKey]: version }, fileVersion);
      return opened;
    } catch (error) {
      database?.close();
      unlock(path);
      throw error;
    }
  }

  /** Readable for the account only; the journal gets the mode of the file. */
  static create(path: string, facts: CollectionFacts, open = openDatabase): CollectionDatabase {
    closeSync(openSync(path, 'wx', 0o600));
    chmodSync(path, 0o600);
    const database = open(path);
    try {
      database.exec('pragma locking_mode = exclusive; pragma temp_store = memory');
      const created = new CollectionDatabase(path, database);
      transaction(database, () => {
        database.exec(schema);
        database.exec(`pragma user_version = ${fileVersion}`);
        created.#writeFact('collection', facts);
      });
      return created;
    } catch (error) {
      database.close();
      rmSync(path, { force: true });
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
    unlock(this.path);
  }

  facts(): CollectionFacts {
    return JSON.parse(this.#fact('collection') ?? '');
  }

  change(change: (facts: CollectionFacts) => CollectionFacts): CollectionFacts {
    const facts = change(this.facts());
    this.#transaction(() => this.#writeFact('collection', facts));
    return facts;
  }

  /** `bytes`: of the documents, not of what was made of them. */
  counts(): { readonly files: IndexCounts; readonly passages: number; readonly bytes: number } {
    const counts: Record<string, number> = {};
    let passages = 0;
    let bytes = 0;
    for (const row of this.#sql(
      'select state, count(*) as count, sum(passages) as passages, sum(bytes) as bytes from files group by state',
    ).all()) {
      counts[text(row.state)] = number(row.count);
      passages += number(row.passages);
      bytes += number(row.bytes);
    }
    const { new: isNew = 0, embedding = 0, completed = 0, failed = 0, cancelled = 0 } = counts;
    const inProgress = isNew + embedding;
    return {
      files: { inProgress, completed, failed, cancelled, total: inProgress + completed + failed + cancelled },
      passages,
      bytes,
    };
  }

  /** Without reading the table each time: a folder is found in many small parts. */
  get fileCount(): number {
    this.#fileCount ??= number(this.#sql('select count(*) as count from files').get()?.count);
    return this.#fileCount;
  }

  folders(): readonly WatchedFolder[] {
    return this.#sql('select * from folders order by path')
      .all()
      .map(({ path, rules, note }) => ({ path: text(path), ...JSON.parse(text(rules)), ...(note !== '' && { note }) }));
  }

  setFolder({ path, include, exclude, maxFileBytes }: WatchedFolder): void {
    const rules = JSON.stringify({ include, exclude, maxFileBytes });
    this.#sql('insert into folders(path, rules) values(?, ?) on conflict do update set rules = excluded.rules').run(
      path,
      rules,
    );
  }

  noteFolder(path: string, note: string): void {
    this.#sql('update folders set note = ? where path = ? and note <> ?').run(note, path, note);
  }

  /** Where the file systems of a folder began when it was last scanned. */
  mounts(path: string): Readonly<Record<string, string>> {
    return JSON.parse(this.#fact(`mounts ${path}`) ?? '{}');
  }

  setMounts(path: string, mounts: Readonly<Record<string, string>>): void {
    if (JSON.stringify(mounts) !== JSON.stringify(this.mounts(path))) this.#writeFact(`mounts ${path}`, mounts);
  }

  /** Its files are removed by the caller. */
  removeFolder(path: string): boolean {
    this.#sql('delete from facts where key = ?').run(`mounts ${path}`);
    return this.#sql('delete from folders where path = ?').run(path).changes > 0;
  }

  /** The newest first. */
  files(): readonly FileRow[] {
    return this.#sql('select * from files order by key desc').all().map(fileRow);
  }

  file(id: string): FileRow | undefined {
    return optional(this.#sql('select * from files where id = ?').get(id), fileRow);
  }

  fileByKey(key: number): FileRow | undefined {
    return optional(this.#sql('select * from files where key = ?').get(key), fileRow);
  }

  filesByKey(keys: readonly number[]): ReadonlyMap<number, FileRow> {
    const rows = this.#sql('select * from files where key in (select value from json_each(?))').all(
      JSON.stringify(keys),
    );
    return new Map(rows.map(fileRow).map((row) => [row.key, row]));
  }

  fileByPath(folder: string, path: string): FileRow | undefined {
    return optional(this.#sql('select * from files where folder = ? and path = ?').get(folder, path), fileRow);
  }

  filesOf(folder: string): readonly FileRow[] {
    return this.#sql('select * from files where folder = ?').all(folder).map(fileRow);
  }

  attributes(): ReadonlyMap<number, Attributes> {
    const rows = this.#sql('select key, attributes from files').all();
    return new Map(rows.map(({ key, attributes }) => [number(key), JSON.parse(text(attributes))]));
  }

  /** A file that is to be read; one with the same id again. */
  addFile({ id, name, folder, path, source, bytes, modified, createdAt, attributes, chunking }: NewFileRow): FileRow {
    const known = this.file(id);
    this.#sql(
      `insert into files(id, name, folder, path, source, bytes, modified, created_at, state, attributes, chunking)
       values(?, ?, ?, ?, ?, ?, ?, ?, 'new', ?, ?)
       on conflict(id) do update set name = excluded.name, source = excluded.source, bytes = excluded.bytes,
         modified = excluded.modified, state = 'new', generation = generation + 1, error = null,
         hash = case when chunking = excluded.chunking then hash else '' end,
         attributes = excluded.attributes, chunking = excluded.chunking`,
    ).run(
      ...[id, name, folder ?? null, path ?? null, source, bytes, modified, createdAt],
      JSON.stringify(attributes ?? known?.attributes ?? {}),
      JSON.stringify(chunking ?? known?.chunking ?? { type: 'structure' }),
    );
    if (!known && this.#fileCount !== undefined) this.#fileCount += 1;
    return this.file(id) as FileRow;
  }

  addFiles(files: readonly NewFileRow[]): readonly FileRow[] {
    if (files.length === 0) return [];
    try {
      return this.#transaction(() => files.map((file) => this.addFile(file)));
    } catch (error) {
      // None of them is there.
      this.#fileCount = undefined;
      throw error;
    }
  }

  setAttributes(id: string, attributes: Attributes): void {
    this.#sql('update files set attributes = ? where id = ?').run(JSON.stringify(attributes), id);
  }

  /** The next file to be read. They take turns: one that changes all the time keeps no other waiting. */
  nextNew(): FileRow | undefined {
    const next = this.#sql(`select * from files where state = 'new' and key > ? order by key limit 1`);
    const file = optional(next.get(this.#lastNew) ?? next.get(0), fileRow);
    this.#lastNew = file?.key ?? 0;
    return file;
  }

  setState(key: number, state: FileState, error?: CollectionFile['error']): void {
    const stored = error ? JSON.stringify(error) : null;
    this.#sql('update files set state = ?, error = ?, generation = generation + 1 where key = ?').run(
      state,
      stored,
      key,
    );
  }

  /** The content is the one that is indexed already. */
  unchanged(key: number, { bytes, modified }: Pick<FileRow, 'bytes' | 'modified'>): void {
    this.#sql(
      `update files set state = case when embedded < passages then 'embedding' else 'completed' end, bytes = ?, modified = ?, error = null
       where key = ?`,
    ).run(bytes, modified, key);
  }

  /** Removes passages of a file in slices. */
  *clear(key: number): Generator<void> {
    for (;;) {
      const ids = this.#sql('select id from passages where file = ? limit ?').all(key, sliceSize);
      if (ids.length === 0) break;
      this.#transaction(() => {
        for (const { id = null } of ids) {
          this.#sql('delete from words where rowid = ?').run(id);
          this.#sql('delete from vectors where id = ?').run(id);
          this.#sql('delete from passages where id = ?').run(id);
        }
      });
      yield;
    }
    this.#transaction(() => {
      this.#sql('delete from texts where file = ?').run(key);
      this.#sql('update files set passages = 0, embedded = 0 where key = ?').run(key);
    });
  }

  deleteFile(key: number): void {
    this.#fileCount = undefined;
    this.#sql('delete from files where key = ?').run(key);
  }

  /** The text of a file, whole pieces of characters. */
  *writeText(key: number, content: string): Generator<void> {
    for (let start = 0; start < content.length; ) {
      this.#transaction(() => {
        for (let count = 0; count < piecesInSlice && start < content.length; count += 1) {
          const last = content.charCodeAt(start + pieceLength - 1);
          // Not between the two halves of a character.
          const end = start + pieceLength - (last >= 0xd800 && last < 0xdc00 ? 1 : 0);
          this.#sql('insert into texts(file, start, text) values(?, ?, ?)').run(key, start, content.slice(start, end));
          start = end;
        }
      });
      yield;
    }
  }

  /** Writes passages in slices; `textOf` gives what is searched of each. */
  *writePassages(
    key: number,
    title: string,
    spans: readonly PassageSpan[],
    textOf: (span: PassageSpan) => string,
  ): Generator<void> {
    for (let from = 0; from < spans.length; from += sliceSize) {
      this.#transaction(() => {
        for (const span of spans.slice(from, from + sliceSize)) {
          const { id } = this.#sql(
            'insert into passages(file, start, end, page, line, headings, header) values(?, ?, ?, ?, ?, ?, ?)',
          ).run(
            ...[key, span.start, span.end, span.page ?? null, span.line ?? null],
            ...[JSON.stringify(span.headings), span.header ?? null],
          );
          const above = indexedText([title, ...span.headings].join('\n'));
          this.#sql('insert into words(rowid, headings, text) values(?, ?, ?)').run(
            id,
            above,
            indexedText(textOf(span)),
          );
        }
      });
      yield;
    }
  }

  /** The text is written: `vectors` are still to come. */
  finishText(
    key: number,
    facts: Pick<FileRow, 'hash' | 'title' | 'bytes' | 'modified' | 'passages'>,
    vectors: boolean,
  ): void {
    const { hash, title, bytes, modified, passages } = facts;
    const state = vectors && passages > 0 ? 'embedding' : 'completed';
    this.#sql(
      'update files set state = ?, error = null, hash = ?, title = ?, bytes = ?, modified = ?, passages = ?, embedded = 0 where key = ?',
    ).run(state, hash, title, bytes, modified, passages, key);
  }

  /** Passages without a vector, in files that are to have them. */
  toEmbed(limit: number): readonly StoredPassage[] {
    return this.#sql(
      // A cross join begins with the passages, which are there in order; SQLite would begin with all files.
      `select passages.* from passages cross join files on files.key = passages.file
       where is_embedded = 0 and files.state = 'embedding' order by passages.id limit ?`,
    )
      .all(limit)
      .map(storedPassage);
  }

  countToEmbed(limit: number): number {
    const waiting = `select 1 from passages cross join files on files.key = passages.file where is_embedded = 0 and files.state = 'embedding'`;
    return number(this.#sql(`select count(*) as count from (${waiting} limit ?)`).get(limit)?.count);
  }

  /** Where there is no model for vectors. */
  completeWithoutVectors(): void {
    this.#sql(`update files set state = 'completed' where state = 'embedding'`).run();
  }

  /** Of those that are still there; returns these. */
  setVectors(
    vectors: readonly { readonly id: number; readonly vector: ByteVector }[],
  ): readonly { id: number; file: number }[] {
    return this.#transaction(() => {
      const set: { id: number; file: number }[] = [];
      for (const { id, vector } of vectors) {
        const row = this.#sql(
          'update passages set is_embedded = 1 where id = ? and is_embedded = 0 returning file',
        ).get(id);
        if (!row) continue;
        const file = number(row.file);
        this.#sql('insert or replace into vectors(id, file, scale, bytes) values(?, ?, ?, ?)').run(
          ...[id, file, vector.scale],
          new Uint8Array(vector.bytes.buffer, vector.bytes.byteOffset, vector.bytes.byteLength),
        );
        this.#sql('update files set embedded = embedded + 1 where key = ?').run(file);
        set.push({ id, file });
      }
      for (const file of new Set(set.map((one) => one.file)))
        this.#sql(
          `update files set state = 'completed' where key = ? and state = 'embedding' and embedded >= passages`,
        ).run(file);
      return set;
    });
  }

  /** Every vector, with the key of its file. */
  *vectors(): Generator<{ readonly id: number; readonly file: number; readonly vector: ByteVector }> {
    for (const { id, file, scale, bytes } of this.#sql('select * from vectors').iterate()) {
      const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
      const vector = { bytes: new Int8Array(buffer as ArrayBuffer, byteOffset, byteLength), scale: number(scale) };
      yield { id: number(id), file: number(file), vector };
    }
  }

  /** All passages are to be embedded again, by another model; files that failed are read again. */
  restart(embedding: string): void {
    this.#transaction(() => {
      this.#database.exec('delete from vectors; update passages set is_embedded = 0');
      this.#database.exec(`
        update files set generation = generation + 1, embedded = 0, error = null,
          state = case when hash = '' or state in ('new', 'failed') then 'new' when passages = 0 then 'completed' else 'embedding' end
        where state <> 'cancelled'`);
      this.#writeFact('collection', { ...this.facts(), embedding, dimensions: 0 });
    });
  }

  /** In how many passages a word is, up to a limit. */
  countWord(query: string, limit: number): number {
    return number(
      this.#sql('select count(*) as count from (select 1 from words where words match ? limit ?)').get(query, limit)
        ?.count,
    );
  }

  /** The best by BM25, in order; higher is better. */
  matching(
    query: string,
    limit: number,
  ): readonly { readonly id: number; readonly file: number; readonly score: number }[] {
    // Sorting by the hidden column `rank` keeps every match until the end, and a join in the same query is done for each of them.
    return this.#sql(
      `select best.id, score, file from
         (select rowid as id, bm25(words, ${columnWeights}) as score from words where words match ? order by score limit ?) as best
       join passages on passages.id = best.id order by score, best.id`,
    )
      .all(query, limit)
      .map(({ id, score, file }) => ({ id: number(id), file: number(file), score: -number(score) }));
  }

  passage(id: number): StoredPassage | undefined {
    return optional(this.#sql('select * from passages where id = ?').get(id), storedPassage);
  }

  /** Those that are still there, in any order. */
  passages(ids: readonly number[]): readonly StoredPassage[] {
    return this.#sql('select * from passages where id in (select value from json_each(?))')
      .all(JSON.stringify(ids))
      .map(storedPassage);
  }

  /** A part of the text of a file. */
  text(key: number, start = 0, end = Number.MAX_SAFE_INTEGER): string {
    const pieces = this.#sql(
      `select start, text from texts where file = ? and start < ?
         and start >= (select max(start) from texts where file = ? and start <= ?) order by start`,
    ).all(...[key, end, key, start]);
    const first = number(pieces[0]?.start);
    return pieces
      .map((piece) => text(piece.text))
      .join('')
      .slice(Math.max(0, start - first), end - first);
  }

  #fact(key: string): string | undefined {
    return optional(this.#sql('select value from facts where key = ?').get(key), ({ value }) => text(value));
  }

  #writeFact(key: string, value: object): void {
    this.#sql('insert or replace into facts(key, value) values(?, ?)').run(key, JSON.stringify(value));
  }

  #transaction<Result>(work: () => Result): Result {
    return transaction(this.#database, work);
  }

  #sql(sql: string): Statement {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

function unlock(path: string): void {
  rmSync(`${path}.lock`, { recursive: true, force: true });
}
