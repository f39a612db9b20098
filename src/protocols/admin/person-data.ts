import { AppError } from '../../core/errors.ts';
import type { People } from '../../core/people.ts';
import { jsonFile, type PersonFile } from '../../core/person-data.ts';
import { type Call, type ClientKey, json, type Reply } from '../../http/call.ts';
import { tarOf } from '../../store/write-tar.ts';
import { bodyOf, type PlainEndpoint, rowBelow } from '../endpoint.ts';
import * as f from '../fields.ts';
import { attachment } from '../stored-files.ts';
import { type AdminAccess, adminReadRow, adminRow, allowed, moment, noModel } from './access.ts';
import { ruleFields, rulesOf } from './people.ts';

/** What the stores of the server have of each person, by the name of the key. */
export interface PersonRecords {
  files(name: string): AsyncIterable<PersonFile>;
  hasAny(name: string): Promise<boolean>;
  /** Ends the requests that are being answered. */
  end(name: string): Promise<void>;
  /** For somebody without a key. */
  remove(name: string): Promise<void>;
}

/** A key of `--keyfile`; times are milliseconds since 1970. */
export interface StoredKey extends ClientKey {
  readonly rate?: number;
  readonly expires?: number;
  readonly created: number;
}

interface PersonServices {
  readonly access: AdminAccess;
  /** Loads what keeps invitations and sessions. */
  readonly people?: (() => Promise<Pick<People, 'change' | 'remove' | 'sessions' | 'invitations'>>) | undefined;
  /** With `--keyfile` only. */
  readonly keys?: { list(): readonly StoredKey[] } | undefined;
  readonly records: () => Promise<PersonRecords>;
  readonly now: () => number;
}

const removeFields = {
  data: f.honoured(
    f.orElse(f.oneOf('keep', 'remove'), 'keep'),
    'keep: a person who is invited under this name later finds it. remove: nothing of it is left.',
  ),
};

const path = '/api/admin/people';

/** What a person may do, what they have on the server, as an archive, and their end. */
export function personDataEndpoints(services: PersonServices): PlainEndpoint[] {
  const { access, people, records } = services;
  type Known = Awaited<ReturnType<NonNullable<typeof people>>>;
  /** The person whom the path names. */
  const about =
    (answer: (known: Known, name: string, call: Call) => Promise<Reply>) =>
    async (call: Call, _: unknown, name: string): Promise<Reply> =>
      answer(await allowed(people, access, call)(), name, call);
  const missing = (name: string) => new AppError('not-stored', { what: 'person', id: name });

  async function change(known: Known, name: string, call: Call): Promise<Reply> {
    const rules = rulesOf(f.readFields(ruleFields, await bodyOf(call)));
    // Nobody locks themselves out.
    if (call.key?.name === name && call.key.scopes.includes('admin') && !rules.scopes.includes('admin'))
      throw f.wrong('scopes', 'with admin, because this request has the key of the person');
    if (!(await known.change(name, rules))) throw missing(name);
    return json({ success: true });
  }

  async function remove(known: Known, name: string, { key: ownKey, query }: Call): Promise<Reply> {
    const { data } = f.readFields(removeFields, Object.fromEntries(query));
    if (ownKey?.name === name) throw f.wrong('name', 'that of another person; this request has their key');
    const key = await known.remove(name);
    const stores = await records();
    await stores.end(name);
    const isFound = key || (data === 'remove' && (await stores.hasAny(name)));
    if (!isFound) throw missing(name);
    if (data === 'remove') await stores.remove(name);
    return json({ success: true, key, data: data === 'remove' ? 'removed' : 'kept' });
  }

  async function exported(known: Known, name: string): Promise<Reply> {
    const stores = await records();
    const facts = await personFile(name, known, services);
    if (!facts.key && !(await stores.hasAny(name))) throw missing(name);
    return archive(name, withFirst(jsonFile('person.json', facts), stores.files(name)), services.now());
  }

  return [
    rowBelow(
      adminRow,
      path,
      'Change what a person may do: all rules at once, those that are missing as for a new person. The key and the devices stay.',
      { '{name}': { handle: about(change), fields: ruleFields, response: 'change' } },
      { method: 'PUT', ...noModel },
    ),
    rowBelow(
      adminRow,
      path,
      'Remove a person: the key, the devices that are signed in, and invitations; with ?data=remove everything that the server has of them.',
      { '{name}': { handle: about(remove), fields: removeFields, response: 'removePerson' } },
      { method: 'DELETE' },
    ),
    rowBelow(
      adminReadRow,
      path,
      'Everything that the server has of a person, as a tar archive: chats, stories, characters, memories, files, collections, batches, pictures, stored responses, usage and devices.',
      { '{name}/export': { handle: about(exported), response: 'exportPerson' } },
    ),
  ];
}

/** What the key file, the sessions and the invitations say. */
async function personFile(
  name: string,
  people: Pick<People, 'sessions' | 'invitations'>,
  { keys, now }: Pick<PersonServices, 'keys' | 'now'>,
) {
  const key = keys?.list().find((one) => one.name === name);
  const devices = (await people.sessions()).filter(({ holder }) => holder.type === 'key' && holder.name === name);
  const invitations = (await people.invitations()).filter((one) => one.name === name);
  return {
    name,
    exported: moment(now()),
    key: key ? ruleBody(key) : null,
    devices: devices.map(({ device, created, lastUsed }) => {
      return { device, created: moment(created), last_used: moment(lastUsed) };
    }),
    invitations: invitations.map(({ by, created, expires }) => {
      return { by, created: moment(created), expires: moment(expires) };
    }),
  };
}

function ruleBody({ scopes, rate, tokensPerDay, weight, shared, created, expires }: StoredKey) {
  const limits = { rate: rate ?? null, tokens_per_day: tokensPerDay ?? null, weight, shared: shared !== false };
  return { scopes, ...limits, created: moment(created), expires: expires === undefined ? null : moment(expires) };
}

function archive(name: string, files: AsyncIterable<PersonFile>, time: number): Reply {
  const headers = {
    'content-type': 'application/x-tar',
    'content-disposition': attachment(`${name}.tar`),
    'cache-control': 'no-store',
  };
  return { status: 200, headers, stream: tarOf(files, time) };
}

async function* withFirst(first: PersonFile, rest: AsyncIterable<PersonFile>): AsyncGenerator<PersonFile> {
  yield first;
  yield* rest;
}
