import { isObject } from '../../core/json.ts';
import { askHubJson, type HubParts } from './request.ts';

/** A model on the hub. What the hub does not say is undefined. */
export interface HubModel {
  /** `owner/name`. */
  readonly id: string;
  readonly downloads: number | undefined;
  readonly likes: number | undefined;
  /** ISO 8601. */
  readonly changed: string | undefined;
  /** Whether its terms have to be accepted, and whether its author decides. */
  readonly gated: 'no' | 'terms' | 'author';
  readonly licence: string | undefined;
  readonly parameters: number | undefined;
  readonly architecture: string | undefined;
  readonly context: number | undefined;
  readonly tools: boolean;
  readonly thinking: boolean;
  /** It has a projector for pictures or sound. */
  readonly projector: boolean;
}

export const searchOrders = { downloads: 'downloads', likes: 'likes', date: 'lastModified' } as const;

export interface HubSearch {
  readonly words: string;
  readonly order: keyof typeof searchOrders;
  readonly count: number;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

const fields = ['downloads', 'likes', 'lastModified', 'gated', 'gguf', 'tags', 'siblings'];

/** Models of the hub with GGUF files, one page. */
export async function searchHub({ words, order, count, cursor }: HubSearch, parts: HubParts) {
  const query = new URLSearchParams({ filter: 'gguf', sort: searchOrders[order], limit: String(count) });
  if (words.trim() !== '') query.set('search', words.trim().replace(/\s+/g, ' '));
  for (const field of fields) query.append('expand', field);
  if (cursor !== undefined) query.set('cursor', cursor);
  const { value, next } = await askHubJson(`/api/models?${query}`, parts);
  const models = Array.isArray(value) ? value.flatMap((entry) => hubModel(entry) ?? []) : [];
  return { models, next: next === cursor ? undefined : next };
}

function hubModel(entry: unknown): HubModel | undefined {
  if (!isObject(entry) || typeof entry.id !== 'string' || !/^[\w.-]+\/[\w.-]+$/.test(entry.id)) return undefined;
  const gguf = isObject(entry.gguf) ? entry.gguf : {};
  // The hub reads one file, which may be a projector or a draft: those have no context.
  const context = count(gguf.context_length);
  const isModel = context !== undefined;
  const template = isModel ? (text(gguf.chat_template) ?? '') : '';
  const siblings = Array.isArray(entry.siblings) ? entry.siblings : [];
  return {
    id: entry.id,
    downloads: count(entry.downloads),
    likes: count(entry.likes),
    changed: text(entry.lastModified),
    gated: entry.gated === 'manual' ? 'author' : entry.gated === 'auto' || entry.gated === true ? 'terms' : 'no',
    licence: tagsOf(entry)
      .find((tag) => tag.startsWith('license:'))
      ?.slice('license:'.length),
    parameters: isModel ? count(gguf.total) : undefined,
    architecture: isModel ? text(gguf.architecture) : undefined,
    context,
    tools: /\btools\b|tool_call/.test(template),
    thinking: /enable_thinking|<think>|reasoning_content/.test(template),
    projector: siblings.some((sibling) => isObject(sibling) && /mmproj/i.test(text(sibling.rfilename) ?? '')),
  };
}

function tagsOf({ tags }: { readonly tags?: unknown }): readonly string[] {
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
const count = (value: unknown) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
