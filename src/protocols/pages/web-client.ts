import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Call, Reply } from '../../http/call.ts';
import { pageHeaders } from '../../http/pages.ts';
import { fileReply } from '../../http/static-files.ts';

/** The pages as the build leaves them. */
export const builtPages = fileURLToPath(new URL('../../web', import.meta.url));

/** Nothing from elsewhere and nothing inline; pictures and sounds may also be those that the page itself holds. */
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

/** A page of the client; undefined where the pages were not built. */
export async function webPage(folder: string, name: string, { headers }: Call): Promise<Reply | undefined> {
  const reply = await fileReply({ folder, compressed: true }, { path: name, headers });
  return reply && { ...reply, headers: { ...reply.headers, ...clientHeaders } };
}

/** Every other file of the client, by its path from the pages; the names of those in `assets` change with what is in them. */
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
