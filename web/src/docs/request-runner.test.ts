import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

/** Without the Svelte compiler, a rune returns its argument. */
vi.stubGlobal('$state', (value: unknown) => value);
const { RequestRunner } = await import('./request-runner.svelte.ts');

beforeEach(() => {
  vi.stubGlobal('$state', (value: unknown) => value);
  vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:one');
  vi.spyOn(URL, 'revokeObjectURL').mockReturnValue(undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function answering(body: BodyInit | null, type: string, init: ResponseInit = {}) {
  vi.stubGlobal(
    'fetch',
    async () => new Response(body, { ...init, headers: { 'content-type': type, ...init.headers } }),
  );
}

async function sent() {
  const sending = new RequestRunner();
  await sending.send('http://localhost/x', { method: 'POST' });
  return sending;
}

describe('RequestRunner', () => {
  test('formats JSON and shows status and headers', async () => {
    answering('{"a":[1]}', 'application/json', { headers: { 'x-parley-ignored': 'user', 'x-other': 'no' } });
    const { answer, running } = await sent();
    expect(running).toBe(false);
    expect(answer).toMatchObject({
      status: 200,
      kind: 'json',
      text: '{\n  "a": [\n    1\n  ]\n}',
      bytes: 9,
      problem: '',
    });
    expect(answer?.headers).toEqual([
      ['content-type', 'application/json'],
      ['x-parley-ignored', 'user'],
    ]);
    expect(answer?.doneMs).toBeGreaterThanOrEqual(answer?.firstMs ?? Number.NaN);
  });

  test('shows invalid JSON unchanged', async () => {
    answering('<oops>', 'application/json', { status: 500 });
    expect((await sent()).answer).toMatchObject({ status: 500, text: '<oops>' });
  });

  test('shows events and their text', async () => {
    answering('data: {"token":"Hel"}\n\nevent: end\ndata: {"token":"lo"}\n\ndata: [DONE]\n\n', 'text/event-stream');
    const { answer } = await sent();
    expect(answer).toMatchObject({ kind: 'events', streamedText: 'Hello' });
    expect(answer?.events).toEqual(['{"token":"Hel"}', 'end: {"token":"lo"}', '[DONE]']);
  });

  test('keeps the last events and all text', async () => {
    answering('data: {"token":"x"}\n\n'.repeat(450), 'text/event-stream');
    const { answer } = await sent();
    expect(answer?.events).toHaveLength(400);
    expect(answer?.streamedText).toHaveLength(450);
  });

  test('shows images and audio', async () => {
    answering(new Uint8Array([1, 2, 3]), 'audio/mpeg');
    const sending = await sent();
    expect(sending.answer).toMatchObject({ kind: 'audio', url: 'blob:one', bytes: 3, text: '' });
    answering(new Uint8Array([1]), 'image/png');
    await sending.send('http://localhost/y', {});
    expect(URL.revokeObjectURL).toHaveBeenCalledWith('blob:one');
    expect(sending.answer?.kind).toBe('image');
  });

  test('cuts a long response', async () => {
    answering('y'.repeat(60_010), 'text/plain');
    expect((await sent()).answer?.text).toMatch(/y\n… 10 more characters$/);
  });
});

test('RequestRunner: reports a server that does not respond', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('Failed to fetch');
  });
  expect((await sent()).answer).toMatchObject({
    status: 0,
    problem: 'The server is not responding. Check that it is running.',
  });
});

test('RequestRunner: stop keeps the received part', async () => {
  vi.stubGlobal('fetch', async (_: string, { signal }: { signal: AbortSignal }) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('data: {"token":"Once"}\n\n'));
        signal.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const sending = new RequestRunner();
  const over = sending.send('http://localhost/x', {});
  await expect.poll(() => sending.answer?.streamedText).toBe('Once');
  expect(sending.running).toBe(true);
  sending.stop();
  await over;
  expect(sending.running).toBe(false);
  expect(sending.answer).toMatchObject({ streamedText: 'Once', problem: 'Stopped.' });
});

test('RequestRunner: another request takes the place of a running one, whose end does not show', async () => {
  const answers: ((response: Response) => void)[] = [];
  vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
    return new Promise<Response>((resolve, reject) => {
      answers.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  const sending = new RequestRunner();
  const first = sending.send('http://localhost/x', {});
  const second = sending.send('http://localhost/x', {});
  await first;
  expect(sending).toMatchObject({ running: true, answer: undefined });
  answers[1]?.(new Response('Done', { headers: { 'content-type': 'text/plain' } }));
  await second;
  expect(sending).toMatchObject({ running: false, answer: { text: 'Done', problem: '' } });
});
