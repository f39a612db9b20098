import { type JsonObject, jsonObject } from '../http/body.ts';
import type { Call } from '../http/call.ts';
import type { DialectParts } from './dialect.ts';
import type { ModelEndpoint } from './endpoint.ts';

/**
 * An endpoint at its path below `/v1`, and at the same path without `/v1`. The short one must match exactly: as an ending
 * it would match paths of other dialects.
 */
export function withShortPath<Context>(
  endpoint: Omit<ModelEndpoint<Context>, 'match'> & { readonly match?: 'prefix' },
): readonly ModelEndpoint<Context>[] {
  const { path, match } = endpoint;
  const summary = `Another name for ${path}.`;
  return [
    { ...endpoint, match: match ?? 'ending' },
    { ...endpoint, match: match ?? 'exact', path: path.replace('/v1', ''), summary },
  ];
}

/** The body of a generating request, with the defaults of the server applied. */
export async function requestBody(call: Call, parts: Pick<DialectParts, 'applyDefaults'>): Promise<JsonObject> {
  return parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
}

/** A part of a path. Some clients do not encode it, so that it may be no valid encoding. */
export function decodedPath(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
