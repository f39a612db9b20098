import { onTestFinished, vi } from 'vitest';
import { memoryStore } from '../saved/testing/memory-store.ts';

type Respond = (body: never, signal: AbortSignal | undefined, headers: Record<string, string>) => unknown;

interface FetchOptions {
  readonly body?: BodyInit;
  readonly signal?: AbortSignal;
  readonly headers?: Record<string, string>;
}

export interface FakeRequest {
  readonly path: string;
  readonly query: string;
  readonly body: Record<string, unknown>;
}

/** What a stateful module of the pages uses of the browser and of the server. */
export interface FakePage {
  /** The responses by path, without the leading slash, or by its folder; values are sent as JSON. May be changed during a test. */
  readonly responses: Record<string, Respond>;
  readonly requests: FakeRequest[];
  requestsTo(path: string): FakeRequest[];
  /** Records of the database by collection and id. */
  records(collection: string): Map<string, unknown>;
  /** If set, the database cannot be read. */
  databaseError: Error | undefined;
  readonly localStorage: Map<string, string>;
  /** What was posted to other tabs, by channel. */
  posted(channel: string): unknown[];
  /** A message from another tab. */
  receive(channel: string, data: unknown): void;
  /** An event of the window or the document. */
  fire(type: string): void;
  setVisible(visible: boolean): void;
}

/** For a test in which a module waits: its pauses take no time. */
export function skipPauses(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync');
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

const idle: Record<string, Respond> = {
  'api/extra/version': () => ({ result: 'KoboldCpp', version: '1', protected: false }),
  'api/v1/model': () => ({ result: 'koboldcpp/mini' }),
  'api/extra/true_max_context_length': () => ({ value: 4096 }),
  'api/extra/perf': () => ({ queue: 0, idle: 1 }),
  'api/extra/abort': () => ({ success: 'true' }),
};

/**
 * Replaces the globals of a browser and loads all modules afresh, so that each test has its own state. Runes return
 * their initial value: modules keep plain variables.
 */
export function fakePage(responses: Record<string, Respond> = {}): FakePage {
  vi.resetModules();
  const events = new EventTarget();
  const collections = new Map<string, Map<string, unknown>>();
  const records = (name: string): Map<string, unknown> => {
    const found = collections.get(name) ?? new Map();
    collections.set(name, found);
    return found;
  };
  const requests: FakeRequest[] = [];
  const all = { ...idle, ...responses };
  const localStorage = new Map<string, string>();
  const channels = new Set<{ name: string; onmessage?: (event: { data: unknown }) => void }>();
  const posted: { name: string; data: unknown }[] = [];

  vi.stubGlobal(
    '$state',
    Object.assign((value: unknown) => value, {
      raw: (value: unknown) => value,
      snapshot: (value: unknown) => structuredClone(value),
    }),
  );
  vi.stubGlobal(
    '$effect',
    Object.assign(() => {}, { root: (run: () => void) => run() }),
  );
  vi.stubGlobal('localStorage', storage(localStorage));
  vi.stubGlobal('sessionStorage', storage(new Map()));
  vi.stubGlobal('addEventListener', events.addEventListener.bind(events));
  vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events));
  // A hidden page starts no timers that would outlive the test.
  const document = {
    visibilityState: 'hidden',
    addEventListener: events.addEventListener.bind(events),
    documentElement: { dataset: {} },
  };
  vi.stubGlobal('document', document);
  const location = { href: 'http://localhost:5001/', hash: '', pathname: '/' };
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', {
    replaceState: (_: unknown, __: string, hash: string) => Object.assign(location, { hash }),
  });
  vi.stubGlobal('navigator', {});
  vi.stubGlobal('requestAnimationFrame', (run: () => void) => queueMicrotask(run));
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      onmessage?: (event: { data: unknown }) => void;
      constructor(readonly name: string) {
        channels.add(this);
      }
      postMessage(data: unknown): void {
        posted.push({ name: this.name, data });
      }
      close(): void {
        channels.delete(this);
      }
    },
  );
  vi.stubGlobal('fetch', async (address: string, options: FetchOptions = {}) => {
    const { body, signal, headers = {} } = options;
    signal?.throwIfAborted();
    const { pathname, search: query } = new URL(address);
    const path = pathname.slice(1);
    const sent = typeof body === 'string' ? JSON.parse(body) : (body ?? {});
    requests.push({ path, query, body: sent });
    const respond = all[path] ?? all[path.replace(/[^/]*$/, '')];
    if (!respond) return Response.json({ error: { message: `No response for ${path}.` } }, { status: 404 });
    const response = await respond(sent as never, signal, headers);
    return response instanceof Response ? response : Response.json(response);
  });
  // On the server side of Svelte, which tests load, these do nothing.
  vi.doMock('svelte', () => ({ flushSync: (run: () => void) => run(), untrack: (run: () => unknown) => run() }));
  vi.doMock('../saved/record-store.ts', () => ({
    recordStore: (name: string, shape: Parameters<typeof memoryStore>[1]) =>
      memoryStore(records(name), shape, { fails: () => page.databaseError }),
  }));
  vi.doMock('../saved/database.ts', () => ({
    databaseBlocked: new Promise(() => {}),
    collection: (name: string) => ({
      all: async () => {
        if (page.databaseError) throw page.databaseError;
        return [...records(name).values()];
      },
      get: async (id: string) => records(name).get(id),
      put: async (record: { id: string }) => void records(name).set(record.id, record),
      remove: async (id: string) => void records(name).delete(id),
    }),
  }));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.doUnmock('svelte');
    vi.doUnmock('../saved/database.ts');
    vi.doUnmock('../saved/record-store.ts');
    vi.resetModules();
  });
  const page: FakePage = {
    responses: all,
    requests,
    requestsTo: (path) => requests.filter((one) => one.path === path),
    records,
    databaseError: undefined,
    localStorage,
    posted: (channel) => posted.filter(({ name }) => name === channel).map(({ data }) => data),
    receive: (channel, data) => {
      for (const one of channels) if (one.name === channel) one.onmessage?.({ data });
    },
    fire: (type) => void events.dispatchEvent(new Event(type)),
    setVisible: (visible) => {
      document.visibilityState = visible ? 'visible' : 'hidden';
    },
  };
  return page;
}

function storage(values: Map<string, string>) {
  return {
    getItem: (name: string) => values.get(name) ?? null,
    setItem: (name: string, value: string) => void values.set(name, value),
    removeItem: (name: string) => void values.delete(name),
    key: (index: number) => [...values.keys()][index] ?? null,
    get length() {
      return values.size;
    },
  };
}

/** A stream of server-sent events that the test feeds. */
export function fakeStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  return {
    response: (signal?: AbortSignal) => {
      signal?.addEventListener('abort', () => controller?.error(signal.reason));
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
    send: (data: unknown) =>
      controller?.enqueue(
        new TextEncoder().encode(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`),
      ),
    end: () => controller?.close(),
    fail: () => controller?.error(new TypeError('network error')),
  };
}
