import { call, read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import { server } from '../app/server.svelte.ts';
import { characters, loadCharacters, personas } from '../characters/library.svelte.ts';
import { chatRecords } from '../chat/library.svelte.ts';
import { dataUrlOf } from '../files/data-url.ts';
import { acquire } from '../saved/ownership.ts';
import type { Records } from '../saved/records.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import { storyRecords } from '../write/library.svelte.ts';
import { fromPortable, toPortable } from './portable.ts';
import {
  type RecordHead,
  type RecordServer,
  ServerSync,
  type SyncedCollection,
  type SyncedRecord,
  type SyncState,
  unsynced,
} from './server-sync.ts';
import { texts } from './texts.ts';

/** For the settings dialog. */
export const syncStatus = $state<{ text: string; failed: boolean }>({ text: '', failed: false });

const stateName = 'parley.sync';
const soonMs = 3000;
const seldomMs = 15_000;

/** A change that comes from the server is not sent back. */
let applying = false;

const kinds: readonly (readonly [string, Records<SyncedRecord>])[] = [
  ['chats', chatRecords as unknown as Records<SyncedRecord>],
  ['stories', storyRecords as unknown as Records<SyncedRecord>],
  ['characters', characters as unknown as Records<SyncedRecord>],
  ['personas', personas as unknown as Records<SyncedRecord>],
];

function collectionOf(kind: string, records: Records<SyncedRecord>): SyncedCollection {
  const apply = (work: () => void): void => {
    applying = true;
    work();
    applying = false;
  };
  return {
    kind,
    ids: () => records.all.map(({ id }) => id),
    find: (id) => records.find(id),
    // Unchanged here: the state of the server replaces it.
    merge: (record, base) => (base ? apply(() => records.put(record)) : records.merge(record)),
    remove: (id) => apply(() => void records.remove(id)),
  };
}

const ask = <Answer>(path: string, body: object): Promise<Answer> =>
  read<Answer>(`api/extra/sync/${path}`, { body, background: true });

const remote: RecordServer = {
  list: (since) => ask('list', { since }),
  load: async (kind, id) => {
    try {
      const { revision, record } = await ask<{ revision: number; record: { data: string } }>('load', { kind, id });
      return { revision, record: { ...fromPortable(record.data), id } };
    } catch (thrown) {
      if (thrown instanceof Failure && thrown.status === 404) return undefined;
      throw thrown;
    }
  },
  save: async (kind, id, base, record) => {
    const data = record && (await toPortable(record, dataUrlOf));
    try {
      const body = { kind, id, base, ...(data === undefined ? {} : { data }) };
      const response = await call('api/extra/sync/save', { body, background: true });
      return { saved: true, revision: ((await response.json()) as { revision: number }).revision };
    } catch (thrown) {
      if (!(thrown instanceof Failure && thrown.status === 409)) throw thrown;
      const { records } = await ask<{ records: readonly RecordHead[] }>('list', { since: 0 });
      const revision = records.find((head) => head.kind === kind && head.id === id)?.revision ?? 0;
      return { saved: false, revision };
    }
  },
};

function readState(): SyncState {
  try {
    return { ...unsynced, ...(JSON.parse(localStorage.getItem(stateName) ?? '{}') as Partial<SyncState>) };
  } catch {
    return unsynced;
  }
}

const sync = new ServerSync({
  collections: kinds.map(([kind, records]) => collectionOf(kind, records)),
  server: remote,
  state: { read: readState, write: (state) => localStorage.setItem(stateName, JSON.stringify(state)) },
});

let timer: ReturnType<typeof setTimeout> | undefined;

/** Runs in one tab of this browser; another one takes over when it is closed. */
export async function startSync(): Promise<void> {
  await acquire('parley.sync', new AbortController().signal);
  await Promise.all([chatRecords.load(), storyRecords.load(), loadCharacters()]);
  for (const [kind, records] of kinds)
    records.onChange((id, _, origin) => {
      if (applying || origin === 'merge') return;
      sync.changed(kind, id);
      later(soonMs);
    });
  for (const event of ['online', 'focus']) addEventListener(event, () => later(0));
  await round();
}

function later(milliseconds: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void round(), milliseconds);
}

async function round(): Promise<void> {
  if (settings.keepOnServer && server.features.savedata) {
    try {
      syncStatus.text ||= texts.working;
      await sync.round();
      Object.assign(syncStatus, { text: texts.done(new Date().toLocaleTimeString()), failed: false });
    } catch (thrown) {
      Object.assign(syncStatus, { text: texts.failed(sentenceOf(thrown)), failed: true });
    }
  }
  later(seldomMs);
}
