import type { IncomingHttpHeaders } from 'node:http';

/** The key that came along, under any of the names that clients know; right or wrong. */
export function sentKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1];
  const key = bearer ?? basicPassword(headers) ?? headers['x-api-key'] ?? headers['api-key'];
  return typeof key === 'string' ? key.trim() : undefined;
}

/** Clients of image programs know a name and a password only; the name does not matter here. */
function basicPassword({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  const pair = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  const text = pair === undefined ? '' : Buffer.from(pair, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 || colon === text.length - 1 ? undefined : text.slice(colon + 1);
}
