import { read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import { fieldsOf, jsonIn } from '../api/loose.ts';
import { characters, loadCharacters, personas } from '../characters/library.svelte.ts';
import { chatRecords } from '../conversations/library.svelte.ts';
import { fromPortable, toPortable } from '../files/portable.ts';
import { date } from '../languages/index.ts';
import { server } from '../models/server.svelte.ts';
import { acquire } from '../saved/ownership.ts';
import { areRecordsClosed, type Records } from '../saved/records.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import { library as stories } from '../story/library.svelte.ts';
import { stateName } from './choice.ts';
import {
  OtherLibrary,
  type RecordHead,
  RecordRefused,
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

const soonMs = 3000;
const idleMs = 15_000;

/** A little less than the limit of the server for a record. */
const maxCharacters = 32_000_000;

const kinds: readonly (readonly [string, Records<SyncedRecord>])[] = [
  ['chats', chatRecords as unknown as Records<SyncedRecord>],
  ['stories', stories as unknown as Records<SyncedRecord>],
  ['characters', characters as unknown as Records<SyncedRecord>],
  ['personas', personas as unknown as Records<SyncedRecord>],
];

function collectionOf(kind: string, records: Records<SyncedRecord>): SyncedCollection {
  return {
    kind,
    all: () => records.all.map((record) => ({ record, revision: records.revisionOf(record.id) })),
    find: async (id) => {
      await records.flush(id);
      const record = records.find(id);
      return record && { record, revision: records.revisionOf(id) };
    },
    wasRemoved: (id) => records.wasRemoved(id),
    isBusy: hasRunningReply,
    merge: (record, base) => records.merge(record, base),
    remove: (id) => records.remove(id),
  };
}

/** This browser fetches the reply; others get it as a whole. */
function hasRunningReply(record: SyncedRecord): boolean {
  const { pending, turns = {} } = record as { pending?: unknown; turns?: Record<string, { pending?: unknown }> };
  if (pending) return true;
  for (const id in turns) if (turns[id]?.pending) return true;
  return false;
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
      // Damaged on the server.
      if (thrown instanceof SyntaxError || (thrown instanceof Failure && thrown.status === 500))
        throw new RecordRefused(sentenceOf(thrown));
      throw thrown;
    }
  },
  save: async (kind, id, base, record) => {
    const data = record && (await toPortable(record));
    if (data && data.length > maxCharacters) throw new RecordRefused(texts.tooLarge(nameOf(record)));
    try {
      const body = { kind, id, base, ...(data === undefined ? {} : { data }) };
      const { revision } = await ask<{ revision: number }>('save', body);
      return { saved: true, revision };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (record && (thrown.status === 400 || thrown.status === 413))
        throw new RecordRefused(texts.refused(nameOf(record), thrown.message));
      if (thrown.status !== 409) throw thrown;
      const { records } = await ask<{ records: readonly RecordHead[] }>('list', { since: 0 });
      const revision = records.find((head) => head.kind === kind && head.id === id)?.revision ?? 0;
      return { saved: false, revision };
    }
  },
};

function nameOf(record: object): string {
  const { title, name } = record as { title?: string; name?: string };
  return title || name || texts.unnamed;
}

function readState(): SyncState {
  return { ...unsynced, ...fieldsOf(jsonIn(localStorage.getItem(stateName))) };
}

const sync = new ServerSync({
  collections: kinds.map(([kind, records]) => collectionOf(kind, records)),
  server: remote,
  state: {
    read: readState,
    write: (state) => {
      if (!areRecordsClosed()) localStorage.setItem(stateName, JSON.stringify(state));
    },
  },
});

let timer: ReturnType<typeof setTimeout> | undefined;
/** When the next round begins. */
let due = Number.POSITIVE_INFINITY;

/** Runs in one tab of this browser; another one takes over when it is closed. */
export async function startSync(): Promise<void> {
  syncStatus.text = texts.otherTab;
  await acquire('parley.sync', new AbortController().signal);
  syncStatus.text = texts.working;
  await Promise.all([chatRecords.load(), stories.load(), loadCharacters()]);
  for (const [, records] of kinds) records.onChange((_, __, origin) => origin !== 'merge' && later(soonMs));
  for (const event of ['online', 'focus']) addEventListener(event, () => later(0));
  // The other device is used next.
  document.addEventListener('visibilitychange', () => later(0));
  await round();
}

/** Switched on again. */
export function syncNow(): void {
  if (due < Number.POSITIVE_INFINITY) later(0);
}

function later(milliseconds: number): void {
  const at = Date.now() + milliseconds;
  if (at >= due) return;
  due = at;
  clearTimeout(timer);
  timer = setTimeout(() => void round(), milliseconds);
}

async function round(): Promise<void> {
  due = Number.POSITIVE_INFINITY;
  // Unknown features: the server cannot be reached, or needs a password. The round tells.
  if (settings.keepOnServer && server.features.savedata !== false && !areRecordsClosed()) {
    try {
      await sync.round();
      const refused = Object.values(readState().refused).map(({ reason }) => reason);
      const done = texts.done(date(Date.now(), { timeStyle: 'medium' }));
      Object.assign(syncStatus, { text: [done, ...refused.slice(0, 3)].join(' '), failed: refused.length > 0 });
    } catch (thrown) {
      const isLocked = thrown instanceof Failure && thrown.status === 401;
      if (thrown instanceof OtherLibrary) settings.keepOnServer = false;
      else
        Object.assign(syncStatus, { text: texts.failed(isLocked ? texts.locked : sentenceOf(thrown)), failed: true });
    }
  } else Object.assign(syncStatus, { text: '', failed: false });
  later(idleMs);
}
