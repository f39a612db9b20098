import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import type { Call, Headers, Reply } from './call.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
  // Shown rather than downloaded.
  '.md': 'text/plain; charset=utf-8',
  '.wav': 'audio/wav',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.flac': 'audio/flac',
  '.webmanifest': 'application/manifest+json',
};

interface StaticOptions {
  readonly folder: string;
  /** `Cache-Control` of a file; `no-cache` by default. */
  readonly cacheControl?: (path: string) => string;
  /** Compressed copies exist, as `x.js.br` and `x.js.gz`. */
  readonly compressed?: boolean;
}

/** A file of the folder, with ETag and ranges. A path that leads out of the folder, also through a link, is not real. */
export async function fileReply(
  options: StaticOptions,
  { path, headers }: Pick<Call, 'path' | 'headers'>,
): Promise<Reply | undefined> {
  const plain = await inside(options.folder, path);
  if (!plain) return undefined;
  const small = options.compressed ? await compressedCopy(options.folder, path, headers) : undefined;
  const file = small?.file ?? plain;
  const etag = `"${file.bytes.toString(36)}-${Math.trunc(file.modifiedAt).toString(36)}"`;
  const common: Headers = {
    'content-type': contentTypes[extname(plain.path).toLowerCase()] ?? 'application/octet-stream',
    ...(options.compressed ? { vary: 'accept-encoding' } : {}),
    ...(small ? { 'content-encoding': small.encoding } : {}),
    'cache-control': options.cacheControl?.(path) ?? 'no-cache',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    etag,
  };
  if (knows(headers['if-none-match'], etag)) return { status: 304, headers: common, body: '' };
  const range = rangeOf(headers, etag, file.bytes);
  if (range === 'impossible') {
    return { status: 416, headers: { ...common, 'content-range': `bytes */${file.bytes}` }, body: '' };
  }
  const { first, last } = range ?? { first: 0, last: file.bytes - 1 };
  const length = last - first + 1;
  const sized = { ...common, 'content-length': String(length) };
  if (length <= 0) return { status: 200, headers: common, body: '' };
  const stream = piecesOf(file.path, first, last);
  if (!range) return { status: 200, headers: sized, stream };
  return { status: 206, headers: { ...sized, 'content-range': `bytes ${first}-${last}/${file.bytes}` }, stream };
}

/** The smallest copy that the client accepts. Ranges are those of the file itself. */
async function compressedCopy(folder: string, path: string, headers: IncomingHttpHeaders) {
  if (headers.range !== undefined) return undefined;
  const accepted = String(headers['accept-encoding'] ?? '')
    .split(',')
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(';')[0]?.trim());
  for (const [encoding, ending] of Object.entries({ br: '.br', gzip: '.gz' })) {
    const file = accepted.includes(encoding) ? await inside(folder, `${path}${ending}`) : undefined;
    if (file) return { encoding, file };
  }
  return undefined;
}

/** Opens the file when the first piece is read. */
async function* piecesOf(path: string, start: number, end: number): AsyncIterable<Uint8Array> {
  yield* createReadStream(path, { start, end, highWaterMark: 256 * 1024 });
}

async function inside(folder: string, path: string) {
  try {
    const name = decodeURIComponent(path);
    if (name.includes('\0')) return undefined;
    const root = await realpath(folder);
    const real = await realpath(resolve(join(root, name)));
    if (real !== root && !real.startsWith(root + sep)) return undefined;
    const facts = await stat(real);
    return facts.isFile() ? { path: real, bytes: facts.size, modifiedAt: facts.mtimeMs } : undefined;
  } catch {
    return undefined;
  }
}

function knows(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}

/** The single range of the request; several ranges are answered with the whole file. */
function rangeOf(headers: IncomingHttpHeaders, etag: string, bytes: number) {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== etag) return undefined;
  const match = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (!match || (from === '' && to === '')) return undefined;
  const first = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  return first >= bytes || last < first ? 'impossible' : { first, last };
}
