import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const built = fileURLToPath(new URL('../../dist/web/', import.meta.url));
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

export interface HostedPages {
  /** Ends with a slash. */
  readonly base: string;
  /** Paths below the base that were asked for. */
  readonly requests: string[];
  /** How it answers: as a server does, not at all, or never. */
  state: 'up' | 'down' | 'silent';
  /** Replaces the pages by those of another build. */
  update(): void;
}

/** The built pages below a path prefix, in front of a server, as a proxy does it; their build can be replaced while they are open. */
export async function hostedPages(server: string, prefix = '/below/'): Promise<HostedPages> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pages-'));
  cpSync(built, folder, { recursive: true, filter: (path) => !/\.(br|gz)$/.test(path) });
  const proxy = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? '/').slice(prefix.length);
    pages.requests.push(path);
    if (pages.state === 'down') incoming.socket.destroy();
    if (pages.state !== 'up') return;
    const name = path.replace(/\?.*$/, '') || 'index.html';
    const isPage = name !== 'index.html' || incoming.headers.accept?.includes('text/html');
    if (incoming.method === 'GET' && isPage && sendFile(join(folder, name), outgoing)) return;
    const { method, headers } = incoming;
    const passed = request(`${server}/${path}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
    rmSync(folder, { recursive: true });
  });
  const pages: HostedPages = {
    base: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`,
    requests: [],
    state: 'up',
    update: () => rebuild(folder),
  };
  return pages;
}

function sendFile(path: string, outgoing: ServerResponse): boolean {
  try {
    const body = readFileSync(path);
    outgoing.writeHead(200, {
      'content-type': types[extname(path)] ?? 'application/octet-stream',
      'cache-control': path.includes('/assets/') ? 'max-age=31536000, immutable' : 'no-cache',
    });
    outgoing.end(body);
    return true;
  } catch {
    return false;
  }
}

/** What a new build changes: the name of the entry script, and so the text and the name of all that names it. */
function rebuild(folder: string): void {
  const [, entry = ''] = /assets\/(index-[\w-]{8}\.js)/.exec(readFileSync(join(folder, 'index.html'), 'utf8')) ?? [];
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(js|html|css)$/.test(path),
  );
  const nameByOld = new Map<string, string>();
  const rename = (old: string): void => {
    if (nameByOld.has(old)) return;
    nameByOld.set(
      old,
      old.replace(/-[\w-]{8}\./, (hash) => `-${[...hash.slice(1, 9)].reverse().join('')}.`),
    );
    for (const path of texts) if (readFileSync(join(folder, path), 'utf8').includes(old)) renameAsset(path);
  };
  const renameAsset = (path: string): void => {
    const name = basename(path);
    if (/-[\w-]{8}\.\w+$/.test(name)) rename(name);
  };
  rename(entry);
  for (const path of texts) {
    const text = readFileSync(join(folder, path), 'utf8');
    const renamed = [...nameByOld].reduce((result, [old, name]) => result.replaceAll(old, name), text);
    if (renamed !== text) writeFileSync(join(folder, path), renamed);
    const name = nameByOld.get(basename(path));
    if (name) renameSync(join(folder, path), join(folder, dirname(path), name));
  }
}
