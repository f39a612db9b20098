import { fieldsOf, jsonIn, listIn, numberIn } from '../api/loose.ts';
import { dataUrlOf } from '../files/data-url.ts';
import { decoded, toPortable } from '../files/portable.ts';

/** A file with everything that the pages keep in this browser. */
const format = 'parley.backup';

export interface BackupRecord {
  readonly id: string;
}

export interface Backup {
  /** Values of the local storage by name. */
  readonly storage: Readonly<Record<string, string>>;
  readonly collections: Readonly<Record<string, readonly BackupRecord[]>>;
}

/** The parts of the file. Together they may be longer than the longest text. */
export async function* partsOfBackup(
  storage: Backup['storage'],
  collections: readonly (readonly [name: string, records: readonly object[]])[],
  toDataUrl = dataUrlOf,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ format, version: 1, storage }).slice(0, -1)},"collections":{`;
  for (const [index, [name, records]] of collections.entries()) {
    yield `${index > 0 ? ',' : ''}${JSON.stringify(name)}:[`;
    for (const [at, record] of records.entries()) yield (at > 0 ? ',\n' : '\n') + (await toPortable(record, toDataUrl));
    yield ']';
  }
  yield '}}';
}

/** Undefined if the file is no backup. */
export function backupOf(json: unknown): Backup | undefined {
  const { format: name, storage, collections } = fieldsOf(json);
  if (name !== format) return undefined;
  const texts = Object.entries(fieldsOf(storage)).filter(
    (entry): entry is [string, string] => isOwnName(entry[0]) && typeof entry[1] === 'string',
  );
  const records = Object.entries(fieldsOf(collections)).map(([name, list]) => [
    name,
    listIn(list).map(decoded).filter(isRecord),
  ]);
  return { storage: Object.fromEntries(texts), collections: Object.fromEntries(records) };
}

/** Passwords, and what belongs to this browser or to its server only: the state of the synchronisation, running work. */
const notExported = /^parley\.(\w*key|\w*password|sync|unsaved|drawing|rescue)(\.|$)/i;

/** Names in the local storage that belong to a backup. */
export function isOwnName(name: string): boolean {
  return name.startsWith('parley.') && !notExported.test(name);
}

/** The values to write: what is typed here but not sent stays, and whether this browser keeps its chats on the server. */
export function importedStorage(here: Backup['storage'], from: Backup['storage']): Backup['storage'] {
  const taken = Object.entries(from).filter(([name]) => !(name.startsWith('parley.draft.') && name in here));
  return Object.fromEntries(
    taken.map(([name, value]) => [name, name === settingsName ? withOwnServer(here[name], value) : value]),
  );
}

const settingsName = 'parley.settings';

function withOwnServer(here: string | undefined, from: string): string {
  const { keepOnServer } = fieldsOf(jsonIn(here));
  return JSON.stringify({ ...fieldsOf(jsonIn(from)), keepOnServer: keepOnServer === true });
}

/** The collection and id of the record that an undo history belongs to. */
export function ownerOf(history: string): string {
  return history.replace(/^chat\./, 'chats.').replace(/^story\./, 'stories.');
}

/** The records that are missing here, and those that are newer than the ones here. */
export function newRecords<Kept extends BackupRecord>(here: readonly Kept[], from: readonly Kept[]) {
  const known = new Map(here.map((record) => [record.id, record]));
  return {
    added: from.filter(({ id }) => !known.has(id)),
    newer: from.filter((record) => {
      const own = known.get(record.id);
      return own !== undefined && timeOf(record) > timeOf(own);
    }),
  };
}

function timeOf(record: object): number {
  const { changedAt, changed, at } = fieldsOf(record);
  return numberIn(changedAt ?? changed ?? at, 0);
}

function isRecord(value: unknown): value is BackupRecord {
  return typeof fieldsOf(value).id === 'string';
}
