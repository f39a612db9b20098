import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Whether the admin paths are open, and the key that they ask for. */
export interface AdminAccess {
  readonly enabled: boolean;
  readonly password: string | undefined;
}

/** The number by which clients are told: closed, open to all who reach the server, or open with a key of its own. */
export function adminLevel({ enabled, password }: AdminAccess): 0 | 1 | 2 {
  if (!enabled) return 0;
  return password === undefined ? 1 : 2;
}

export function mayAdminister({ enabled, password }: AdminAccess, headers: IncomingHttpHeaders): boolean {
  if (!enabled || password === undefined) return enabled;
  const sent = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  // Digests have one length: the time taken tells nothing about how near a guess was.
  return timingSafeEqual(digest(sent), digest(password));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text.trim(), 'utf8').digest();
}
