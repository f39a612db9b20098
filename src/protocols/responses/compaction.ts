import { createHash } from 'node:crypto';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { StoredItem } from '../../store/responses.ts';
import * as f from '../fields.ts';

/** What a compaction item says. */
interface Compacted {
  /** Null if the summary failed: the item has no effect then. */
  readonly summary: string | null;
  /** The user messages before the item stay. */
  readonly keepsUsers: boolean;
}

/** Marks summaries of this server; what other servers encrypted cannot be read. */
const seal = 'parleyc1';

const digest = (payload: string): string => createHash('sha256').update(payload).digest('hex').slice(0, 16);

/** `encrypted_content`, which clients send back unchanged. It is not secret: clients know the conversation. */
export function sealSummary(compacted: Compacted): string {
  const payload = Buffer.from(JSON.stringify(compacted)).toString('base64url');
  return `${seal}.${payload}.${digest(payload)}`;
}

function unsealSummary(content: string, at: string): Compacted {
  const [mark, payload = '', sum, ...more] = content.split('.');
  if (mark !== seal) throw f.wrong(at, 'that of a compaction by this server; another server made this one');
  const read = tryParseJson(Buffer.from(payload, 'base64url').toString('utf8'));
  const isWhole = more.length === 0 && sum === digest(payload) && isObject(read);
  if (!isWhole) throw f.wrong(at, 'that of a compaction unchanged; this one is damaged');
  return { summary: typeof read.summary === 'string' ? read.summary : null, keepsUsers: read.keepsUsers === true };
}

export function readCompactionItem(item: StoredItem, at: string): Compacted {
  return unsealSummary(f.readAt(item, 'encrypted_content', at, f.readText), `${at}.encrypted_content`);
}

/** An item, and its path for error messages. */
interface ItemAt {
  readonly item: StoredItem;
  readonly at: string;
}

/** The items without those that the last summary replaces. System messages at the beginning always stay. */
export function withoutCompacted<Entry extends ItemAt>(items: readonly Entry[]): readonly Entry[] {
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const { item, at } = items[index] as Entry;
    if (item.type !== 'compaction') continue;
    const { summary, keepsUsers } = readCompactionItem(item, at);
    if (summary === null) continue;
    const before = items.slice(0, index);
    const first = before.findIndex(({ item: each }) => !isSystem(each));
    const system = first < 0 ? before.length : first;
    const stays = ({ item: each }: Entry, position: number) =>
      position < system || (keepsUsers && isFrom(each, 'user'));
    return [...before.filter(stays), ...items.slice(index)];
  }
  return items;
}

function isFrom({ type, role }: StoredItem, ...roles: readonly unknown[]): boolean {
  return type === 'message' && roles.includes(role);
}

const isSystem = (item: StoredItem): boolean => isFrom(item, 'system', 'developer');

/** The messages that `POST /v1/responses/compact` returns in front of the summary. */
export function messagesToKeep(items: readonly StoredItem[]): readonly StoredItem[] {
  return items.filter((item) => isSystem(item) || isFrom(item, 'user'));
}

const readType = f.oneOf('compaction');

/** The prompt tokens above which a conversation is summarised; undefined without such an entry. */
export const readContextManagement: f.Read<number | undefined> = f.described(f.objectsSchema, (value, path) => {
  let threshold: number | undefined;
  for (const [index, entry] of f.readList(value, path).entries()) {
    const at = `${path}[${index}]`;
    const sent = f.readObject(entry, at);
    f.readAt(sent, 'type', at, readType);
    threshold = f.readAt(sent, 'compact_threshold', at, f.optional(f.readPositive)) ?? Number.POSITIVE_INFINITY;
  }
  return threshold;
});
