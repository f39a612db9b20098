import type { IncomingHttpHeaders } from 'node:http';

/** The key that came along, under any of the names that clients know; right or wrong. */
export function sentKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1];
  const key = bearer ?? headers['x-api-key'] ?? headers['api-key'];
  return typeof key === 'string' ? key.trim() : undefined;
}
