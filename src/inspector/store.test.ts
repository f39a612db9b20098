import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { defaultControls, type GenerationRequest } from '../core/request.ts';
import type { ObservedRequest } from '../core/request-observer.ts';
import * as f from '../protocols/fields.ts';
import { openaiRow } from '../protocols/openai/errors.ts';
import { finishEvent, startEvent } from '../protocols/testing/doubles.ts';
import { limits } from './record.ts';
import { isRecorded, RequestStore } from './store.ts';
import { detailOf, summaryOf } from './view.ts';

const headOf = (own: Partial<ObservedRequest> = {}): ObservedRequest => ({
  id: 'req_1',
  method: 'POST',
  path: '/v1/chat/completions',
  family: 'openai',
  endpoint: '/v1/chat/completions',
  remoteAddress: '127.0.0.1',
  headers: { 'content-type': 'application/json' },
  ...own,
});

function storeOf(count: number, maxBytes?: number) {
  let time = 0;
  const store = new RequestStore({
    count,
    now: () => 1_700_000_000_000 + time,
    tick: () => time,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  const pass = (milliseconds: number): void => {
    time += milliseconds;
  };
  return { store, pass };
}

/** A request of a client that has access. */
function admitted(store: RequestStore, own: Partial<ObservedRequest> = {}) {
  const watch = store.watch(headOf(own));
  watch?.authorized?.(undefined, true);
  return watch;
}

const request: GenerationRequest = { ...defaultControls, prompt: '<s>Hi', memory: '' };

describe('isRecorded', () => {
  test.each([
    [{}, true],
    [{ path: '/v1/nothing', endpoint: '/v1/', method: 'GET', recorded: true }, true],
    [{ path: '/api/nothing', endpoint: '', family: '', method: 'GET' }, true],
    [{ method: 'DELETE', endpoint: '/v1/responses/', path: '/v1/responses/x', family: 'responses' }, true],
    [{ method: 'GET', endpoint: '/v1/models', path: '/v1/models' }, false],
    [{ method: 'GET', endpoint: '/health', path: '/health', family: 'llamacpp' }, false],
    [{ method: 'GET', endpoint: '/metrics', path: '/metrics', family: 'llamacpp' }, false],
    [{ method: 'GET', endpoint: '', path: '/wp-login.php', family: '' }, false],
    [{ method: 'GET', endpoint: '/', path: '/', family: 'pages' }, false],
    [{ endpoint: '/api/extra/generate/check', path: '/api/extra/generate/check', recorded: false }, false],
    [{ method: 'GET', endpoint: '/v1/realtime', path: '/v1/realtime', recorded: true }, true],
  ] as const)('%j: %s', (own, expected) => {
    expect(isRecorded(headOf(own))).toBe(expected);
  });
});

describe('RequestStore', () => {
  test('keeps the last ones, the newest first', () => {
    const { store } = storeOf(2);
    for (const id of ['a', 'b', 'c']) admitted(store, { id });
    expect(store.list().map(({ head }) => head.id)).toEqual(['c', 'b']);
    expect(store.find('a')).toBeUndefined();
  });

  test('0 records nothing', () => {
    const { store } = storeOf(0);
    expect(store.watch(headOf())).toBeUndefined();
    expect(store.list()).toEqual([]);
  });

  test('drops the oldest when all together are too large, and never the newest', () => {
    const { store } = storeOf(10, 10_000);
    const [first, second] = ['a', 'b'].map((id) => admitted(store, { id }));
    first?.received?.(new Uint8Array(6000));
    expect(store.list()).toHaveLength(2);
    second?.received?.(new Uint8Array(6000));
    expect(store.list().map(({ head }) => head.id)).toEqual(['b']);
    second?.wrote?.('x'.repeat(20_000));
    expect(store.list()).toHaveLength(1);
    // The one that was dropped goes on, and counts no more.
    first?.wrote?.('x'.repeat(20_000));
    admitted(store, { id: 'c' });
    expect(store.list().map(({ head }) => head.id)).toEqual(['c']);
  });

  test('refused requests do not push out others, and only the last 20 are kept', () => {
    const { store } = storeOf(3);
    admitted(store, { id: 'a' });
    for (let index = 0; index < 100; index++) store.watch(headOf({ id: `refused-${index}` }));
    admitted(store, { id: 'b' });
    const ids = store.list().map(({ head }) => head.id);
    expect([ids.length, ids[0], ids[1], ids.at(-1)]).toEqual([21, 'b', 'refused-99', 'a']);
    expect(store.find('refused-99')?.head.id).toBe('refused-99');
  });

  test('requests of open endpoints without a key do not push out others', () => {
    const { store } = storeOf(3);
    admitted(store, { id: 'a' });
    for (let index = 0; index < 100; index++) {
      store.watch(headOf({ id: `open-${index}`, path: '/v1/nothing' }))?.authorized?.(undefined, false);
    }
    expect(store.find('a')?.head.id).toBe('a');
  });

  test('a request whose key takes long to check is kept once it has access', () => {
    const { store } = storeOf(3);
    const slow = store.watch(headOf({ id: 'slow' }));
    for (let index = 0; index < 100; index++) store.watch(headOf({ id: `refused-${index}` }));
    expect(store.find('slow')).toBeUndefined();
    slow?.authorized?.('phone', true);
    expect(store.find('slow')?.key).toBe('phone');
  });

  test('clear: forgets all', () => {
    const { store } = storeOf(5);
    store.watch(headOf());
    store.clear();
    expect(store.list()).toEqual([]);
  });
});

describe('record', () => {
  function recorded() {
    const { store, pass } = storeOf(5);
    const watch = store.watch(headOf());
    const record = store.find('req_1');
    if (!watch || !record) throw new Error('not recorded');
    return { watch, record, pass };
  }

  test('shows the phases of a generation', () => {
    const { watch, record, pass } = recorded();
    watch.authorized?.('phone', true);
    watch.received?.(Buffer.from('{"prompt":"Hi"}'));
    watch.modelSelected?.('mini');
    pass(2);
    watch.decoded?.(request);
    watch.dequeued?.(5);
    pass(5);
    watch.generationBegun?.(request, 4096, 1);
    watch.event?.(startEvent(), 1, request);
    pass(20);
    watch.event?.({ type: 'text-delta', text: 'Hello' }, 1, request);
    expect(summaryOf(record)).toMatchObject({ outcome: 'running', status: null });
    watch.event?.(finishEvent(), 1, request);
    watch.replied?.(200, { 'content-type': 'application/json', 'x-parley-ignored': 'user' });
    watch.wrote?.('{"text":"Hello"}');
    pass(3);
    watch.ended?.('sent');
    expect(summaryOf(record)).toMatchObject({
      kind: 'text',
      model: 'mini',
      status: 200,
      outcome: 'completed',
      streamed: false,
      duration_ms: 30,
      queue_ms: 5,
      first_token_ms: 27,
      prompt_tokens: 7,
      completion_tokens: 5,
      key: 'phone',
    });
    const detail = detailOf(record, []);
    expect(detail.request.body).toMatchObject({ bytes: 15, text: '{"prompt":"Hi"}' });
    expect(detail.warnings).toEqual([{ source: 'header', text: 'x-parley-ignored: user' }]);
    expect(detail.generations).toMatchObject([
      { prompt: '<s>Hi', prompt_tokens: 7, cached_tokens: 3, context_size: 4096, text: 'Hello' },
    ]);
    expect(detail.replies[0]?.map((event) => (event as unknown as { type: string }).type)).toEqual([
      'start',
      'text-delta',
      'finish',
    ]);
    expect(detail.response).toMatchObject({ status: 200, bytes: 16, text: '{"text":"Hello"}' });
  });

  test('goes on after the connection is gone, until the generation is over', () => {
    const { watch, record } = recorded();
    watch.decoded?.(request);
    watch.generationBegun?.(request, 4096, 1);
    watch.event?.(startEvent(), 1, request);
    watch.replied?.(200, { 'content-type': 'text/event-stream' });
    watch.ended?.('client-gone');
    expect(summaryOf(record).outcome).toBe('running');
    watch.event?.(finishEvent(), 1, request);
    expect(summaryOf(record)).toMatchObject({ outcome: 'disconnected', streamed: true, completion_tokens: 5 });
  });

  test('large bodies, replies and events are cut, and the record says so', () => {
    const { watch, record } = recorded();
    watch.received?.(new Uint8Array(limits.bodyBytes + 1).fill(97));
    watch.decoded?.(request);
    watch.generationBegun?.(request, 4096, 1);
    const long = 'x'.repeat(limits.eventBytes / 2);
    for (let count = 0; count < 3; count += 1) watch.event?.({ type: 'text-delta', text: long }, 1, request);
    watch.event?.(finishEvent(), 1, request);
    watch.replied?.(200, { 'content-type': 'text/plain' });
    for (let count = 0; count < 2; count += 1) watch.wrote?.('y'.repeat(limits.sentCharacters - 1));
    const detail = detailOf(record, []);
    expect(detail.request.body).toMatchObject({
      bytes: limits.bodyBytes + 1,
      cut: expect.stringContaining('Cut after'),
    });
    expect(detail.neutral).toMatchObject({ prompt: '<s>Hi' });
    expect(detail.events_cut).toContain('not kept');
    expect(record.generations[0]?.events.map(({ type }) => type)).toEqual(['text-delta', 'finish']);
    expect(detail.response).toMatchObject({
      bytes: 2 * limits.sentCharacters - 2,
      cut: expect.stringContaining('Cut'),
    });
    expect(detail.response.text).toHaveLength(limits.sentCharacters - 1);
  });

  test('a binary body is only described', () => {
    const { watch, record } = recorded();
    watch.received?.(Uint8Array.from([0, 159, 146, 150]));
    expect(detailOf(record, []).request.body).toEqual({ type: 'application/json', bytes: 4, text: null });
  });

  test('fields that are approximated or ignored are named', () => {
    const { watch, record } = recorded();
    watch.received?.(Buffer.from('{"user":"me","model":"x","n":1}'));
    const fields = {
      user: f.ignored(),
      model: f.approximated(f.readText, 'Any name.'),
      n: f.honoured(f.readWhole),
      store: f.ignored(),
    };
    const { handle: _, ...row } = openaiRow(
      '/v1/chat/completions',
      '',
      () => ({ status: 200, headers: {}, body: '' }),
      { fields },
    );
    expect(detailOf(record, [row]).warnings.map(({ text }) => text)).toEqual([
      'user: ignored',
      'model: approximated. Any name.',
    ]);
  });

  test('what was moved in the conversation is named', () => {
    const { watch, record } = recorded();
    watch.rearranged?.(['A line was left out.']);
    expect(detailOf(record, []).warnings).toEqual([{ source: 'prompt', text: 'A line was left out.' }]);
  });

  test.each([
    [400, 'sent', 'refused'],
    [503, 'sent', 'failed'],
    [200, 'failed', 'failed'],
    [200, 'client-gone', 'disconnected'],
    [500, 'client-gone', 'disconnected'],
    [200, 'sent', 'completed'],
  ] as const)('status %d, ended %s: %s', (status, how, outcome) => {
    const { watch, record } = recorded();
    watch.replied?.(status, {});
    watch.ended?.(how);
    expect(summaryOf(record).outcome).toBe(outcome);
  });

  test('tasks of other engines are shown with their times', () => {
    const { watch, record, pass } = recorded();
    watch.decoded?.({ inputs: ['a'], recording: new Uint8Array(3) });
    watch.taskBegun?.('embedding');
    pass(4);
    const error = new AppError('engine-lost', { capability: 'embedding' });
    watch.taskEnded?.('embedding', error, 4);
    watch.replied?.(200, {});
    watch.ended?.('sent');
    const detail = detailOf(record, []);
    expect(detail.neutral).toEqual({ inputs: ['a'], recording: '(3 bytes)' });
    expect(detail.tasks).toEqual([{ kind: 'embedding', begun_ms: 0, ended_ms: 4, error: error.message }]);
    expect(detail).toMatchObject({ kind: 'embedding', outcome: 'failed' });
  });
});
