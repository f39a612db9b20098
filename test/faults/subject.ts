import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { nativeClient } from '../live/client.ts';
import type { LiveServer, StartOptions, StartServer } from '../live/server.ts';
import type { Subject } from './fault.ts';
import { serve } from './services.ts';

/** Data that a server has confirmed to clients, in every store. */
interface Confirmed {
  /** Part of everything that was stored. */
  readonly mark: string;
  readonly slot: number;
  readonly record: string;
  /** Undefined without a text model. */
  readonly response: string | undefined;
  readonly image: string | undefined;
}

/** A server that stores things, and what it has confirmed. */
export interface StoringSubject extends Subject {
  readonly folder: string;
  readonly saves: string;
  confirmed(): readonly Confirmed[];
}

export const storeFlags = (folder: string): readonly string[] => [
  '--savedatafile',
  join(folder, 'saves.jsondb'),
  '--multiplayer',
];

interface SubjectOptions extends StartOptions {
  readonly flags?: readonly string[];
  readonly folder?: string;
  /** Whether there is a text model, whose responses are stored. */
  readonly text?: boolean;
}

/** A server whose stores hold something of each kind. */
export async function storingSubject(
  start: StartServer,
  { flags = [], folder = newFolder(), text = true, ...options }: SubjectOptions = {},
): Promise<StoringSubject> {
  const server = await start([...storeFlags(folder), ...flags], options);
  return storingSubjectOf(server, folder, [await store(server, 0, text)]);
}

/** The same for a server that runs already, with what it must have. */
export function storingSubjectOf(
  server: LiveServer,
  folder: string,
  confirmed: readonly Confirmed[] = [],
): StoringSubject {
  let all = confirmed;
  return {
    server,
    folder,
    saves: join(folder, 'saves.jsondb'),
    confirmed: () => all,
    serves: async (kind) => {
      if (kind === 'storage') all = [...all, await store(server, all.length % slots, false)];
      else if (kind !== 'tools') await serve(server.base, kind);
    },
    intact: async () => {
      for (const [index, one] of all.entries()) {
        await checkStored(server, one, { slot: index >= all.length - slots, story: index === all.length - 1 });
      }
    },
  };
}

/** Slots of the save file that are used; the rest stay free for rows. */
const slots = 8;

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-faults-'));
  mkdirSync(folder, { recursive: true });
  folders.push(folder);
  return folder;
}

/** Stores something everywhere, and returns what must be there from then on. */
async function store({ base }: LiveServer, slot: number, withText: boolean): Promise<Confirmed> {
  const { post } = nativeClient(base);
  const mark = randomUUID();
  const record = mark.replaceAll('-', '');
  const ok = async (path: string, body: object) => {
    const answer = await post(path, body);
    const json = answer.json() as Record<string, unknown>;
    if (answer.status !== 200 || json.success === false) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return json;
  };
  await ok('/api/extra/data/save', { slot, title: mark, format: 'f', data: `story ${mark}` });
  await ok('/api/extra/sync/save', { kind: 'chats', id: record, base: 0, data: `chat ${mark}` });
  await ok('/api/extra/multiplayer/setstory', { full_update: true, data_format: 'f', data: `all ${mark}` });
  const form = new FormData();
  form.append('image', new Blob([smallPng]), `${record}.png`);
  const upload = await fetch(`${base}/upload/image`, { method: 'POST', body: form });
  if (upload.status !== 200) throw new Error(`/upload/image: ${upload.status} ${await upload.text()}`);
  const picture = ((await upload.json()) as { name: string }).name;
  const request = { input: 'Hi', max_output_tokens: 4 };
  const response = withText ? ((await ok('/v1/responses', request)).id as string) : undefined;
  return { mark, slot, record, response, image: picture };
}

/** Slots and the shared story are replaced by later ones. */
async function checkStored(
  { base }: LiveServer,
  { mark, slot, record, response, image: picture }: Confirmed,
  latest: { readonly slot: boolean; readonly story: boolean },
): Promise<void> {
  const { get, post } = nativeClient(base);
  if (latest.slot) expect((await post('/api/extra/data/load', { slot })).text).toContain(`story ${mark}`);
  expect((await post('/api/extra/sync/load', { kind: 'chats', id: record })).text).toContain(`chat ${mark}`);
  if (latest.story) expect((await post('/api/extra/multiplayer/getstory')).text).toContain(`all ${mark}`);
  if (response !== undefined) expect((await get(`/v1/responses/${response}`)).status).toBe(200);
  if (picture === undefined) return;
  const view = await fetch(`${base}/view?${new URLSearchParams({ filename: picture, type: 'input' })}`);
  expect(Buffer.from(await view.arrayBuffer()).equals(smallPng)).toBe(true);
}

const smallPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQImWO4oKCAFTEMLQkAvk5EAeYFmHQAAAAASUVORK5CYII=',
  'base64',
);
