import { describe, expect, test } from 'vitest';
import { commit, goodToken, testHub } from '../testing/hub.ts';
import { type Hub, hubOf } from './access.ts';
import { openFile, readRepository } from './repository.ts';
import { type HubDeps, requestHub } from './request.ts';
import { searchHub } from './search.ts';

const bytes = Buffer.from('GGUF');
const noWait = async () => undefined;

function parts(base: string, more: Partial<Hub> = {}): HubDeps & { readonly waited: number[] } {
  const waited: number[] = [];
  const hub = { base, token: undefined, offline: false, ...more };
  const wait = async (milliseconds: number) => void waited.push(milliseconds);
  return { hub, fetch, wait, waited, allowsAddress: (address) => !['127.0.0.1', '::1'].includes(address) };
}

describe('hubOf', () => {
  const home = '/home/me';
  const system = (environment: Record<string, string>) => ({ home, platform: 'linux' as const, environment });

  test('is the public hub without a token, unless the environment names others', () => {
    expect(hubOf(system({}), () => undefined)).toEqual({
      base: 'https://huggingface.co',
      token: undefined,
      offline: false,
    });
    const named = { HF_ENDPOINT: 'https://mirror.example/', HF_TOKEN: 'hf_a', HF_HUB_OFFLINE: '1' };
    expect(hubOf(system(named))).toEqual({ base: 'https://mirror.example', token: 'hf_a', offline: true });
  });

  test('reads the token that the hub’s own program has saved', () => {
    const read: string[] = [];
    const saved = (path: string) => {
      read.push(path.replaceAll('\\', '/'));
      return 'hf_saved\n';
    };
    expect(hubOf(system({}), saved).token).toBe('hf_saved');
    expect(hubOf(system({ HF_HOME: '/hf' }), saved).token).toBe('hf_saved');
    expect(hubOf(system({ HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' }), saved).token).toBeUndefined();
    expect(read).toEqual(['/home/me/.cache/huggingface/token', '/hf/token']);
  });
});

describe('searchHub', () => {
  const gguf = { total: 4e9, architecture: 'qwen3', context_length: 40_960, chat_template: '{{ tools }} <think>' };
  const fields = {
    downloads: 12,
    likes: 3,
    lastModified: '2026-10-01T12:00:00.000Z',
    gguf,
    tags: ['gguf', 'license:mit'],
  };
  const repositories = {
    'acme/Foo-4B-GGUF': { files: { 'Foo-Q8_0.gguf': bytes, 'mmproj-F16.gguf': bytes }, fields },
    'acme/Foo-8B-GGUF': { files: {}, gated: 'manual' as const },
    'acme/Foo-Draft-GGUF': { files: {}, fields: { gguf: { total: 1e8, architecture: 'clip' } } },
    'other/Bar-GGUF': { files: {} },
  };
  const search = { words: ' foo  4b ', order: 'downloads' as const, count: 2 };

  test('tells what the hub knows about a model', async () => {
    const { base, asked } = await testHub(repositories);
    const { models } = await searchHub(search, parts(base));
    expect(models).toEqual([
      {
        id: 'acme/Foo-4B-GGUF',
        downloads: 12,
        likes: 3,
        changed: '2026-10-01T12:00:00.000Z',
        gated: 'no',
        licence: 'mit',
        parameters: 4e9,
        architecture: 'qwen3',
        supported: true,
        context: 40_960,
        tools: true,
        thinking: true,
        projector: true,
      },
    ]);
    expect(asked[0]?.url).toContain('filter=gguf&sort=downloads&limit=2&search=foo+4b&expand=downloads');
  });

  test('gives one page after the other, also from a mirror whose links name another host', async () => {
    const { base } = await testHub(repositories);
    const first = await searchHub({ ...search, words: 'foo' }, parts(base));
    const second = await searchHub({ ...search, words: 'foo', cursor: first.next }, parts(base));
    expect([...first.models, ...second.models].map(({ id }) => id)).toEqual(Object.keys(repositories).slice(0, 3));
    expect(second.next).toBeUndefined();
  });

  test('does not take facts of a projector for those of the model', async () => {
    const { base } = await testHub(repositories);
    const { models } = await searchHub({ ...search, words: 'draft' }, parts(base));
    expect(models[0]).toMatchObject({ parameters: null, architecture: null, context: null });
  });

  test('survives replies of any other shape', async () => {
    const replies = ['{}', '[null,3,{"id":5},{"id":"../x/y"},{"id":"a/b","gguf":7,"tags":{},"siblings":"x"}]'];
    for (const reply of replies) {
      const answer = async () => new Response(reply);
      const { models } = await searchHub(search, { ...parts('https://hub.example'), fetch: answer as typeof fetch });
      expect(models.map(({ id }) => id)).toEqual(reply === '{}' ? [] : ['a/b']);
    }
  });
});

describe('readRepository', () => {
  const files = { 'a/N-Q8_0.gguf': bytes, 'N-Q4_0.gguf': bytes, 'README.md': bytes };

  test('lists all files of all pages with sizes and hashes, at one commit', async () => {
    const { base, asked } = await testHub({ 'acme/foo': { files } });
    const repository = await readRepository('acme/foo', 'main', parts(base));
    expect(repository).toMatchObject({ id: 'acme/foo', commit });
    expect(repository.files.map(({ path }) => path)).toEqual(Object.keys(files));
    expect(repository.files[0]).toMatchObject({ bytes: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(asked.slice(1).every(({ url }) => url.includes(`/tree/${commit}?`))).toBe(true);
  });

  test('follows a repository that was moved', async () => {
    const { base } = await testHub({ 'acme/old': { files: {}, movedTo: 'acme/foo' }, 'acme/foo': { files } });
    const repository = await readRepository('acme/old', 'main', parts(base));
    expect(repository).toMatchObject({ id: 'acme/foo', files: { length: 3 } });
  });

  test.each(['../x', 'acme', 'acme/..', 7])('a new name that no repository has is not used: %j', async (id) => {
    const answer = async (url: URL) => Response.json(url.pathname.includes('/revision/') ? { id, sha: commit } : []);
    const asking = { ...parts('https://h'), fetch: answer as unknown as typeof fetch };
    expect(await readRepository('acme/foo', 'main', asking)).toMatchObject({ id: 'acme/foo' });
  });

  test('does not read a reply without an end', async () => {
    const piece = new Uint8Array(1 << 20).fill(32);
    const body = () => new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
    const asking = { ...parts('https://h'), fetch: (async () => new Response(body())) as typeof fetch };
    await expect(readRepository('acme/foo', 'main', asking)).rejects.toThrow('its reply is longer than 33554432 bytes');
  });

  test('leaves out names that lead out of the folder', async () => {
    const { base } = await testHub({
      'acme/foo': { files: { ...files, '../x.gguf': bytes, 'C:\\x.gguf': bytes, '/y.gguf': bytes } },
    });
    expect((await readRepository('acme/foo', 'main', parts(base))).files).toHaveLength(3);
  });

  test('ends where the pages do not', async () => {
    let page = 0;
    const endless = async (url: URL | string | Request) => {
      if (String(url).includes('/revision/')) return Response.json({ sha: commit });
      page += 1;
      return Response.json([], { headers: { link: `<https://h/x?cursor=${page}>; rel="next"` } });
    };
    const asking = readRepository('acme/foo', 'main', { ...parts('https://h'), fetch: endless as typeof fetch });
    await expect(asking).rejects.toThrow('acme/foo has more files than can be listed');
  });
});

describe('requestHub: refusals', () => {
  test.each([
    [
      'gated, without a token',
      'acme/gated',
      undefined,
      /asks for consent first: open http.*\/acme\/gated in a browser.*HF_TOKEN/,
    ],
    [
      'gated, with a token of somebody else',
      'acme/gated',
      'hf_other',
      /the account of HF_TOKEN may not download acme\/gated yet/,
    ],
    ['unknown or private', 'acme/none', undefined, /has no model acme\/none, or it is private \(then set HF_TOKEN\)/],
    ['unknown, with a token', 'acme/none', goodToken, /has no model acme\/none, or it is private$/],
    ['unknown file', 'acme/open', undefined, /acme\/open has no such file/],
  ])('%s', async (_, id, token, sentence) => {
    const { base } = await testHub({
      'acme/gated': { files: { 'a.gguf': bytes }, gated: 'auto' },
      'acme/open': { files: {} },
    });
    await expect(requestHub(`/${id}/resolve/main/a.gguf`, parts(base, { token }))).rejects.toThrow(sentence);
  });

  test('a limit of requests: waits as long as the hub says, and tries again', async () => {
    const first: [number, Record<string, string>][] = [
      [429, { ratelimit: '"api";r=0;t=5' }],
      [503, { 'retry-after': '2' }],
      [500, {}],
    ];
    const { base } = await testHub({ 'acme/foo': { files: {} } }, { first });
    const asking = parts(base);
    await readRepository('acme/foo', 'main', asking);
    expect(asking.waited).toEqual([6000, 2000, 4000]);
  });

  test('a long wait is said instead', async () => {
    const { base } = await testHub({}, { first: [[429, { ratelimit: '"api";r=0;t=299' }]] });
    await expect(requestHub('/api/models', parts(base))).rejects.toThrow(
      /allows no more requests at the moment. Try again in 5 minutes/,
    );
  });

  test('a page of the network in between', async () => {
    const portal = async () => new Response('<html>Log in</html>');
    const asking = searchHub(
      { words: '', order: 'likes', count: 1 },
      { ...parts('https://h'), fetch: portal as typeof fetch },
    );
    await expect(asking).rejects.toThrow(
      /h did not answer like a hub .* A login page of the network or a proxy may be in between/,
    );
  });

  test('no network', async () => {
    await expect(requestHub('/x', parts('http://127.0.0.1:9'))).rejects.toThrow(
      /cannot reach 127.0.0.1:9: .*Check the network connection/,
    );
  });

  test('HF_HUB_OFFLINE: nothing is asked', async () => {
    const never = () => Promise.reject(new Error('asked'));
    const asking = requestHub('/x', {
      ...parts('https://h', { offline: true }),
      fetch: never as typeof fetch,
      wait: noWait,
    });
    await expect(asking).rejects.toThrow(
      'HF_HUB_OFFLINE is set, so that no hub is asked. Unset it to search and download',
    );
  });

  test('circles of redirects end', async () => {
    const circle = async () => new Response(null, { status: 307, headers: { location: '/x' } });
    const asking = requestHub('/x', { ...parts('https://h'), fetch: circle as typeof fetch });
    await expect(asking).rejects.toThrow('h redirects in a circle');
  });
});

describe('openFile', () => {
  const repository = { id: 'acme/gated', commit };

  test('gives the content from the storage, which does not get the token', async () => {
    const { base, asked, stored } = await testHub({ 'acme/gated': { files: { 'a b.gguf': bytes }, gated: 'auto' } });
    const headers = { range: 'bytes=1-' };
    const response = await openFile(repository, 'a b.gguf', parts(base, { token: goodToken }), { headers });
    expect([response.status, await response.text()]).toEqual([206, 'GUF']);
    expect(asked[0]?.authorization).toBe(`Bearer ${goodToken}`);
    expect(stored).toMatchObject([{ authorization: undefined, range: 'bytes=1-' }]);
  });

  test.each([
    ['http://storage.example/x', 'an address that cannot be used'],
    ['file:///etc/passwd', 'an address that cannot be used'],
    ['https://127.0.0.1/x', '127.0.0.1, which is not on the internet'],
  ])('a hub on the internet may not send it to %s', async (location, reason) => {
    const redirect = async () => new Response(null, { status: 302, headers: { location } });
    const opening = openFile(
      repository,
      'a.gguf',
      { ...parts('https://192.0.2.1'), fetch: redirect as typeof fetch },
      {},
    );
    await expect(opening).rejects.toThrow(`192.0.2.1 sends this download to ${reason}`);
  });

  test.each([
    ['http://storage.example/x', 'an address that cannot be used'],
    ['https://127.0.0.1/x', '127.0.0.1, which is not on the internet'],
    ['https://[::1]/x', '[::1], which is not on the internet'],
    ['https://192.0.2.9/again', undefined],
  ])('a storage may not send it on to %s', async (location, reason) => {
    const asked: string[] = [];
    const redirect = async (url: URL) => {
      asked.push(url.host);
      const away = asked.length === 1 ? 'https://192.0.2.2/signed' : location;
      return new Response(null, { status: 302, headers: { location: away } });
    };
    const hub = { ...parts('https://192.0.2.1'), fetch: redirect as unknown as typeof fetch };
    const opening = openFile(repository, 'a.gguf', hub, {});
    const sentence = reason ? `sends this download to ${reason}` : 'redirects this download too often';
    await expect(opening).rejects.toThrow(`192.0.2.1 ${sentence}`);
    expect(asked.length).toBe(reason ? 2 : 7);
  });

  test('names the storage that cannot be reached', async () => {
    const location = 'https://192.0.2.2/signed';
    const unreachable = async (url: URL) => {
      if (url.host === '192.0.2.2') throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
      return new Response(null, { status: 302, headers: { location } });
    };
    const hub = { ...parts('https://192.0.2.1'), fetch: unreachable as unknown as typeof fetch };
    await expect(openFile(repository, 'a.gguf', hub, {})).rejects.toThrow(/^cannot reach 192\.0\.2\.2: /);
  });

  test('a hub inside a network may have its storage there', async () => {
    const { base } = await testHub({ 'acme/gated': { files: { 'a.gguf': bytes } } });
    expect((await openFile(repository, 'a.gguf', parts(base), {})).status).toBe(200);
  });

  test('a range after the end is the answer of a hub that stores files itself', async () => {
    const whole = async () => new Response(null, { status: 416 });
    const opening = openFile(repository, 'a.gguf', { ...parts('https://192.0.2.1'), fetch: whole as typeof fetch }, {});
    expect((await opening).status).toBe(416);
  });
});
