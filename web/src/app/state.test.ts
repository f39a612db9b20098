import { describe, expect, test, vi } from 'vitest';
import { fakePage } from '../testing/page.ts';

describe('notices', () => {
  test('shows the last four, each text once, and dismisses them after a time', async () => {
    fakePage();
    vi.useFakeTimers();
    try {
      const { dismiss, notices, notify } = await import('../ui/notices.svelte.ts');
      for (const text of ['a', 'b', 'c', 'a', 'd', 'e']) notify(text);
      expect(notices.list.map(({ text }) => text)).toEqual(['c', 'a', 'd', 'e']);
      dismiss(notices.list[0]?.id ?? 0);
      notify('bad', { kind: 'bad' });
      vi.advanceTimersByTime(5000);
      expect(notices.list.map(({ text }) => text)).toEqual(['bad']);
      vi.advanceTimersByTime(8000);
      expect(notices.list).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('says nothing about an abort', async () => {
    fakePage();
    const { notices, notifyFailure } = await import('../ui/notices.svelte.ts');
    notifyFailure(new DOMException('stopped', 'AbortError'));
    expect(notices.list).toEqual([]);
    notifyFailure(new TypeError('Failed to fetch'));
    expect(notices.list[0]).toMatchObject({ kind: 'bad', text: expect.stringContaining('not responding') });
  });
});

describe('server', () => {
  test('is ready with the model, the context size and the features', async () => {
    fakePage({ 'api/extra/version': () => ({ tts: true }) });
    const { refreshServer, server } = await import('../models/server.svelte.ts');
    await refreshServer();
    expect(server).toMatchObject({ state: 'ready', model: 'mini', context: 4096, features: { tts: true } });
  });

  test('features and models that are the same at the next poll keep their identity', async () => {
    let tts = true;
    fakePage({ 'api/extra/version': () => ({ tts }) });
    const { refreshServer, server } = await import('../models/server.svelte.ts');
    await refreshServer();
    const { features, models } = server;
    await refreshServer();
    expect([server.features === features, server.models === models]).toEqual([true, true]);
    tts = false;
    await refreshServer();
    expect([server.features === features, server.features.tts]).toEqual([false, false]);
  });

  test('has no model name while none is loaded', async () => {
    fakePage({ 'api/v1/model': () => ({ result: 'inactive' }) });
    const { refreshServer, server } = await import('../models/server.svelte.ts');
    await refreshServer();
    expect(server.model).toBe('');
  });

  test('is locked without the password, and shows no placeholder as the name of the model', async () => {
    fakePage({
      'api/v1/model': () => ({ result: 'koboldcpp/protected-model' }),
      'api/extra/models': () => Response.json({}, { status: 401 }),
    });
    const { refreshServer, server } = await import('../models/server.svelte.ts');
    await refreshServer();
    expect(server).toMatchObject({ state: 'locked', model: '', models: undefined });
  });

  test.each([
    [401, 'locked'],
    [500, 'unreachable'],
  ])('after status %i is %s', async (status, state) => {
    fakePage({ 'api/v1/model': () => Response.json({}, { status }) });
    const { refreshServer, server } = await import('../models/server.svelte.ts');
    await refreshServer();
    expect(server.state).toBe(state);
  });
});

describe('navigation', () => {
  test.each([
    ['#/write/a%20b', { view: 'write', id: 'a b' }],
    ['#/draw', { view: 'draw' }],
    ['#/nowhere', { view: 'sound' }],
    ['', { view: 'sound' }],
  ])('%j opens %j', async (hash, route) => {
    fakePage();
    const { hashOf, routeOf } = await import('../ui/navigation.svelte.ts');
    expect(routeOf(hash, 'sound')).toEqual(route);
    expect(routeOf(hashOf(routeOf(hash, 'sound')), 'chat')).toEqual(route);
  });

  test('opens the last view, and always the chat at /lcpp/', async () => {
    const page = fakePage();
    page.localStorage.set('parley.view', 'draw');
    expect((await import('../ui/navigation.svelte.ts')).navigation.route).toEqual({ view: 'draw' });
    const other = fakePage();
    other.localStorage.set('parley.view', 'draw');
    location.pathname = '/lcpp/';
    expect((await import('../ui/navigation.svelte.ts')).navigation.route).toEqual({ view: 'chat' });
  });

  test('remembers the view when the address changes', async () => {
    const page = fakePage();
    const { go, navigation } = await import('../ui/navigation.svelte.ts');
    go({ view: 'write', id: 's' });
    page.fire('hashchange');
    expect(navigation.route).toEqual({ view: 'write', id: 's' });
    expect(page.localStorage.get('parley.view')).toBe('write');
  });
});
