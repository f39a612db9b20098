import { AppError } from '../core/errors.ts';
import { parseJson } from '../http/body.ts';
import type { Hit } from './hit.ts';
import { collapsed } from './page-text.ts';

const mostResults = 100;
const longestText = 5000;

/** The results of an instance that answers in JSON; undefined where the answer is something else. */
export function searxngHits(bytes: Uint8Array): readonly Hit[] | undefined {
  const { results } = (jsonIn(bytes) ?? {}) as { readonly results?: unknown };
  if (!Array.isArray(results)) return undefined;
  return results.slice(0, mostResults).flatMap((entry: unknown) => {
    const { title, url, content } = (entry ?? {}) as Record<string, unknown>;
    if (typeof title !== 'string' || typeof url !== 'string') return [];
    const short = (text: unknown): string => (typeof text === 'string' ? collapsed(text.slice(0, longestText)) : '');
    return [{ title: short(title), url, description: short(content) }];
  });
}

function jsonIn(bytes: Uint8Array): unknown {
  // Most pages are no JSON, which their first character tells.
  const first = Buffer.from(bytes.subarray(0, 64))
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trimStart()[0];
  if (first !== '{') return undefined;
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
