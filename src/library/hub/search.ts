import { isObject } from '../../core/json.ts';
import type { HubModel, HubPage, HubSearch } from '../../core/models-view.ts';
import { isSupportedArchitecture } from '../../gguf/architectures.ts';
import { templateFeatures } from '../../gguf/describe.ts';
import { type HubDeps, requestHubJson } from './request.ts';

const sortFields = { downloads: 'downloads', likes: 'likes', date: 'lastModified' } as const;
const fields = ['downloads', 'likes', 'lastModified', 'gated', 'gguf', 'tags', 'siblings'];

/** Models of the hub with GGUF files, one page. */
export async function searchHub({ words, order, count, cursor }: HubSearch, deps: HubDeps): Promise<HubPage> {
  const query = new URLSearchParams({ filter: 'gguf', sort: sortFields[order], limit: String(count) });
  if (words.trim() !== '') query.set('search', words.trim().replace(/\s+/g, ' '));
  for (const field of fields) query.append('expand', field);
  if (cursor !== undefined) query.set('cursor', cursor);
  const { value, next } = await requestHubJson(`/api/models?${query}`, deps);
  const models = Array.isArray(value) ? value.flatMap((entry) => hubModel(entry) ?? []) : [];
  return { models, next: next === cursor ? undefined : next };
}

function hubModel(entry: unknown): HubModel | undefined {
  if (!isObject(entry) || typeof entry.id !== 'string' || !/^[\w.-]+\/[\w.-]+$/.test(entry.id)) return undefined;
  const gguf = isObject(entry.gguf) ? entry.gguf : {};
  // The hub reads one file, which may be a projector or a draft: those have no context.
  const context = count(gguf.context_length);
  const isModel = context !== null;
  const architecture = isModel ? text(gguf.architecture) : null;
  const template = isModel ? (text(gguf.chat_template) ?? '') : '';
  const siblings = Array.isArray(entry.siblings) ? entry.siblings : [];
  return {
    id: entry.id,
    downloads: count(entry.downloads),
    likes: count(entry.likes),
    changed: text(entry.lastModified),
    gated: entry.gated === 'manual' ? 'author' : entry.gated === 'auto' || entry.gated === true ? 'terms' : 'no',
    licence: licenceIn(entry.tags),
    parameters: isModel ? count(gguf.total) : null,
    architecture,
    supported: architecture === null ? null : isSupportedArchitecture(architecture),
    context,
    ...templateFeatures(template),
    projector: siblings.some((sibling) => isObject(sibling) && /mmproj/i.test(text(sibling.rfilename) ?? '')),
  };
}

function licenceIn(tags: unknown): string | null {
  const tag = Array.isArray(tags) ? tags.find((one) => text(one)?.startsWith('license:')) : undefined;
  return text(tag)?.slice('license:'.length) ?? null;
}

const text = (value: unknown) => (typeof value === 'string' ? value : null);
const count = (value: unknown) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
