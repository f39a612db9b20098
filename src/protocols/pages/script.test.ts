import { createContext, runInContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { script } from './script.ts';

/** A test double: as much of an element as the script touches. */
class FakeElement {
  textContent = '';
  value = '';
  valueAsNumber = 1;
  checked = false;
  hidden = false;
  disabled = false;
  open = false;
  onsubmit?: (event: object) => void;
  onclick?: () => void;
  onclose?: (() => void) | null;
  readonly listeners = new Map<string, (event: object) => void>();
  addEventListener(type: string, listener: (event: object) => void): void {
    this.listeners.set(type, listener);
  }
  append(text: string): void {
    this.textContent += text;
  }
  showModal(): void {
    this.open = true;
  }
  close(): void {
    this.open = false;
    this.onclose?.();
  }
}

type Answer = (path: string, init: { readonly headers: Record<string, string>; readonly body?: string }) => Response;

function openPage(answer: Answer) {
  const elements = new Map<string, FakeElement>();
  const element = (id: string): FakeElement => {
    const found = elements.get(id) ?? new FakeElement();
    elements.set(id, found);
    return found;
  };
  const stored = new Map<string, string>();
  const page = new FakeElement();
  const globals = {
    document: Object.assign(page, { getElementById: element, querySelectorAll: () => [] }),
    location: { href: 'http://localhost:5001/' },
    sessionStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    },
    fetch: async (url: URL, init: Parameters<Answer>[1]) => answer(url.pathname, init),
    setTimeout: () => 0,
    ...{ URL, AbortController, TextDecoderStream, crypto, Uint8Array },
  };
  runInContext(script, createContext(globals));
  return { element, submit: () => element('try').listeners.get('submit')?.({ preventDefault: () => undefined }) };
}

const facts: Record<string, unknown> = {
  '/api/extra/perf': { loading: null, queue: 0, last_eval_speed: 12.34 },
  '/api/v1/model': { result: 'koboldcpp/mini' },
  '/api/extra/true_max_context_length': { value: 4096 },
};
const frame = (token: string, reason: string | null): string =>
  `event: message\ndata: ${JSON.stringify({ token, finish_reason: reason })}\n\n`;

test('shows the model that is loaded and its speed', async () => {
  const { element } = openPage((path) => Response.json(facts[path]));
  await vi.waitFor(() =>
    expect(element('model').textContent).toBe(
      'mini is ready, with room for 4096 tokens. Last reply: 12.3 tokens a second.',
    ),
  );
  expect(element('loading').hidden).toBe(true);
});

test('shows how far the loading is', async () => {
  const perf = { loading: { name: 'mini', progress: 0.42 } };
  const { element } = openPage((path) => Response.json(path === '/api/extra/perf' ? perf : facts[path]));
  await vi.waitFor(() => expect(element('model').textContent).toBe('Loading mini: 42 %'));
  expect(element('loading')).toMatchObject({ hidden: false, value: 0.42 });
});

test('streams a reply into the page, frames cut anywhere', async () => {
  const stream = frame('Once ', null) + frame('upon', null) + frame('', 'stop');
  const pieces = [stream.slice(0, 40), stream.slice(40, 61), stream.slice(61)].map((piece) => Buffer.from(piece));
  const { element, submit } = openPage((path) =>
    path === '/api/extra/generate/stream' ? new Response(ReadableStream.from(pieces)) : Response.json(facts[path]),
  );
  submit();
  expect(element('start').disabled).toBe(true);
  await vi.waitFor(() => expect(element('progress').textContent).toBe('Done.'));
  expect(element('reply').textContent).toBe('Once upon');
  expect(element('start').disabled).toBe(false);
});

test('asks for the key when the server wants one, and goes on with it', async () => {
  const { element, submit } = openPage((path, { headers }) => {
    if (path !== '/api/extra/generate/stream') return Response.json(facts[path]);
    if (headers.authorization !== 'Bearer secret') return new Response('{}', { status: 401 });
    return new Response(frame('Hi', null) + frame('', 'length'));
  });
  submit();
  await vi.waitFor(() => expect(element('key-dialog').open).toBe(true));
  element('key').value = 'secret';
  element('key-form').onsubmit?.({ preventDefault: () => undefined });
  await vi.waitFor(() => expect(element('progress').textContent).toBe('Ended at the reply length.'));
  expect(element('reply').textContent).toBe('Hi');
});

test('a dialog that is closed without a key ends the attempt', async () => {
  const { element, submit } = openPage((path) =>
    path === '/api/extra/generate/stream' ? new Response('{}', { status: 401 }) : Response.json(facts[path]),
  );
  submit();
  await vi.waitFor(() => expect(element('key-dialog').open).toBe(true));
  element('key-cancel').onclick?.();
  await vi.waitFor(() => expect(element('progress').textContent).toBe('The server answers only with its key.'));
});

test('a refusal is told in the words of the server', async () => {
  const busy = { detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' } };
  const { element, submit } = openPage((path) =>
    path === '/api/extra/generate/stream' ? Response.json(busy, { status: 503 }) : Response.json(facts[path]),
  );
  submit();
  await vi.waitFor(() => expect(element('progress').textContent).toBe(busy.detail.msg));
});

test('Stop asks the server to end this very generation and keeps what was written', async () => {
  let end: () => void = () => undefined;
  let started = '';
  const stopped: unknown[] = [];
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(frame('Once', null)));
      end = () => controller.enqueue(Buffer.from(frame('', 'length')));
    },
  });
  const { element, submit } = openPage((path, init) => {
    if (path === '/api/extra/generate/stream') {
      started = JSON.parse(init.body ?? '').genkey;
      return new Response(body);
    }
    if (path !== '/api/extra/abort') return Response.json(facts[path]);
    stopped.push(JSON.parse(init.body ?? ''));
    end();
    return Response.json({ success: 'true', done: 'true' });
  });
  submit();
  await vi.waitFor(() => expect(element('reply').textContent).toBe('Once'));
  element('stop').listeners.get('click')?.({});
  await vi.waitFor(() => expect(element('progress').textContent).toBe('Stopped.'));
  expect(stopped).toEqual([{ genkey: started }]);
  expect(started).toMatch(/^PAGE[0-9a-f]{16}$/);
});
