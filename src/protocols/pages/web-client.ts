import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { attempt } from '../../core/attempt.ts';
import type { Call, Reply } from '../../http/call.ts';
import { pageHeaders } from '../../http/pages.ts';
import { fileReply } from '../../http/static-files.ts';

/** Folder of the built web client. */
export const builtPages = fileURLToPath(new URL('../../web', import.meta.url));

/** Loads nothing from other sites and nothing inline; images and sounds may be `data:` and `blob:` URLs. Frames are sandboxed. */
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
  'frame-src': "'self'",
  'form-action': "'none'",
});

/**
 * The page for previews of code that a model wrote. It may run what it is sent, but has no origin, no network and no
 * access to the page around it.
 */
const sandboxPage = 'sandbox.html';
const sandboxHeaders = pageHeaders({
  'default-src': "'none'",
  'script-src': "'unsafe-inline'",
  'style-src': "'unsafe-inline'",
  'img-src': 'data: blob:',
  'font-src': 'data:',
  'media-src': 'data: blob:',
  'form-action': "'none'",
  'frame-ancestors': "'self'",
  sandbox: 'allow-scripts',
});

/** A page of the client; undefined if the client is not built. */
export async function webPage(folder: string, name: string, { headers }: Call): Promise<Reply | undefined> {
  const reply = await fileReply({ folder, compressed: true }, { path: name, headers });
  return reply && { ...reply, headers: { ...reply.headers, ...clientHeaders } };
}

/** All other files of the client, below any prefix. Names of those in `assets` contain a hash of their content. */
export function webFiles(folder: string) {
  const names = attempt(() => readdirSync(folder), []).filter(isSent);
  const assets = async (call: Call) => {
    const name = call.path.slice(call.path.lastIndexOf('/') + 1);
    return isSent(name) ? webFile(folder, `assets/${name}`, call) : undefined;
  };
  return [
    ...names.map((name) => ({
      match: 'ending' as const,
      path: `/${name}`,
      file: (call: Call) => webFile(folder, name, call),
    })),
    { match: 'folder' as const, path: '/assets', file: assets },
  ];
}

function isSent(name: string): boolean {
  return /\.\w+$/.test(name) && (name === sandboxPage || !/\.(html|gz|br)$/.test(name));
}

export async function webFile(folder: string, name: string, { headers }: Call): Promise<Reply | undefined> {
  const cacheControl = () => (name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
  const reply = await fileReply({ folder, compressed: true, cacheControl }, { path: name, headers });
  return reply && name === sandboxPage ? { ...reply, headers: { ...reply.headers, ...sandboxHeaders } } : reply;
}
