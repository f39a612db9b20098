import { AppError } from '../../core/errors.ts';
import { type Libraries, libraryOf, noKey } from '../../core/owner.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import {
  type RecordName,
  RecordTooLong,
  recordName,
  type SyncedRecords,
  TooManyRecords,
} from '../../store/synced-records.ts';
import { read, write } from '../access.ts';
import { bodyOf, endpointRow, jsonText, type PlainEndpoint } from '../endpoint.ts';
import { honoured, optionalText, orElse, readCount, readFields, readText } from '../fields.ts';
import { failed, nativeDialect } from './errors.ts';

export interface SyncContext {
  /** With `--savedatafile` only. */
  readonly records?: Libraries<SyncedRecords> | undefined;
  readonly warn: (sentence: string) => void;
}

const nameFields = { kind: honoured(readText, 'chats, stories, characters or personas.'), id: honoured(readText) };
const listFields = { since: honoured(orElse(readCount, 0), 'A revision of an earlier list.') };
const saveFields = {
  ...nameFields,
  base: honoured(orElse(readCount, 0), 'The revision that was changed.'),
  data: honoured(optionalText, 'Left out: the record is deleted.'),
};

const row = endpointRow(read('chat'), { method: 'POST', recorded: false, dialect: nativeDialect });

/** Chats, stories and characters of Parley's own pages, so that all browsers of a person show the same. */
export function syncEndpoints({ records, warn }: SyncContext): PlainEndpoint[] {
  const handling = (handle: (call: Call, records: SyncedRecords) => Promise<Reply>) => async (call: Call) => {
    if (!records) return failed('Nothing is kept on this server. Start it with --savedatafile FILE.');
    try {
      return await handle(call, records.of(call));
    } catch (error) {
      if (error instanceof AppError) throw error;
      const sentence = `A record could not be read or saved: ${error instanceof Error ? error.message : String(error)}.`;
      warn(sentence);
      return failed(sentence, 500);
    }
  };
  return [
    row(
      '/api/extra/sync/list',
      'The chats, stories and characters of the pages that changed on the server since a revision (--savedatafile).',
      handling(list),
      { fields: listFields, response: 'syncedRecords' },
    ),
    row('/api/extra/sync/load', 'One of these records.', handling(load), {
      fields: nameFields,
      response: 'loadRecord',
    }),
    row('/api/extra/sync/save', 'Save a record unless there is a newer one; without data delete it.', handling(save), {
      ...write('chat'),
      fields: saveFields,
      response: 'saveRecord',
    }),
  ];
}

/** `library`: whose they are, so that a page that is used with another key begins anew; missing for the common ones. */
async function list(call: Call, records: SyncedRecords): Promise<Reply> {
  const { since } = readFields(listFields, await bodyOf(call, 'object'));
  const library = libraryOf(call);
  return json({ ...(await records.list(since)), ...(library !== noKey && { library }) });
}

async function load(call: Call, records: SyncedRecords): Promise<Reply> {
  const { kind, id } = readFields(nameFields, await bodyOf(call));
  const name = recordName(kind, id);
  const record = name && (await records.load(name));
  if (!record) return failed('There is no such record.', 404);
  const head = Buffer.from(`{"success":true,"revision":${record.revision},"record":`);
  return jsonText(Buffer.concat([head, record.json, Buffer.from('}')]));
}

async function save(call: Call, records: SyncedRecords): Promise<Reply> {
  const { kind, id, base, data } = readFields(saveFields, await bodyOf(call));
  const name = recordName(kind, id);
  if (!name) return failed('A record needs one of the kinds chats, stories, characters, personas and a short id.');
  return stored(records, name, base, data);
}

async function stored(records: SyncedRecords, name: RecordName, base: number, data?: string): Promise<Reply> {
  try {
    const { saved, revision } = await records.save(name, base, data);
    if (saved) return json({ success: true, revision });
    return json(
      { success: false, error: 'The stored record is newer. Load it, merge, and save again.', revision },
      409,
    );
  } catch (error) {
    if (error instanceof RecordTooLong)
      return failed('The record is too large: the limit is 32 million characters.', 413);
    if (error instanceof TooManyRecords) return failed('The server keeps no more than 20,000 records.', 507);
    throw error;
  }
}
