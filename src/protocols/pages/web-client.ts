import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Call, Reply } from '../../http/call.ts';
import { pageHeaders } from '../../http/pages.ts';
import { fileReply } from '../../http/static-files.ts';

/** Folder of the built web client. */
export const builtPages = fileURLToPath(new URL('../../web', import.meta.url));

/** Loads nothing from other sites and nothing inline; images and sounds may be `data:` and `blob:` URLs. */
const clientHeaders = pageHeaders({
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'font-src': "'self'",
  'connect-src': "'self'",
  'img-src': "'self' data: blob:",
  'media-src': "'self' data: blob:",
  'worker-src': "'self'",
  'manifest-src': "'self'",
  'form-action': "'none'",
});

/** A page of the client; undefined if the client is not built. */
export async function webPage(folder: string, name: string, { headers }: Call): Promise<Reply | undefined> {
  const reply = await fileReply({ folder, compressed: true }, { path: name, headers });
  return reply && { ...reply, headers: { ...reply.headers, ...clientHeaders } };
}

/** Paths of all other files of the client. Names of those in `assets` contain a hash of their content. */
export function webFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => /\.\w+$/.test(name) && !/\.(html|gz|br)$/.test(name));
  } catch {
    return [];
  }
}

export function webFile(folder: string, name: string, { headers }: Call): Promise<Reply | undefined> {
  const cacheControl = () => (name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
  return fileReply({ folder, compressed: true, cacheControl }, { path: name, headers });
}
