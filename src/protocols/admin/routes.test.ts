import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { ModelSwap } from '../../core/models-view.ts';
import type { SavedStates, TextService } from '../../core/text-service.ts';
import type { Call, Endpoint } from '../../http/call.ts';
import { bindAll } from '../testing/bind.ts';
import { type AdminAccess, adminLevel } from './access.ts';
import { type AdminServices, adminEndpoints } from './routes.ts';

/** Two slots; the present state grows with each save. */
function memory(): SavedStates {
  const places = [0, 0];
  let tokens = 7;
  const figures = (count: number) => ({ tokens: count, bytes: count * 10 });
  return {
    count: places.length,
    check: async () => ({ slots: places.map(figures), current: figures(tokens) }),
    save: async (place: number) => {
      places[place] = tokens;
      tokens += 1;
      return figures(places[place] ?? 0);
    },
    load: async (place: number) => (places[place] ? figures(places[place]) : null),
    clear: async () => {
      places.fill(0);
    },
  };
}

interface Bound extends AdminServices, Pick<TextService, 'states'> {
  readonly text: Pick<TextService, 'exclusively'>;
}

function boundEndpoints({ states, text, ...services }: Bound): Endpoint[] {
  return bindAll(adminEndpoints(services), { text: { ...text, states } });
}

/** Records exclusive work, and runs it unless the queue is full. */
function line({ full = false } = {}) {
  const clients: string[] = [];
  const exclusively: TextService['exclusively'] = async ({ client }, work) => {
    if (full) throw new AppError('busy', { retryAfterSeconds: 7 });
    clients.push(client);
    return work();
  };
  return { clients, text: { exclusively } };
}

const open: AdminAccess = { enabled: true, password: undefined };

function world(access: AdminAccess, states: SavedStates | undefined = memory(), { text } = line()) {
  const endpoints = boundEndpoints({ access, states: () => states, text });
  return async (name: string, body: string | object = {}, authorization?: string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = authorization === undefined ? {} : { authorization };
    const call = { body: Buffer.from(text), headers, remoteAddress: '::1' } as unknown as Call;
    const reply = await endpoints.find(({ path }) => path === `/api/admin/${name}`)?.handle(call);
    if (!reply || !('body' in reply)) throw new Error('no reply');
    expect(reply.status).toBe(200);
    return JSON.parse(String(reply.body));
  };
}

describe('GET /api/admin/usage', () => {
  const phone = {
    requests: 2,
    promptTokens: 10,
    completionTokens: 5,
    images: 1,
    audioSecondsIn: 1.26,
    audioSecondsOut: 0,
  };
  const asked: number[] = [];
  const usage = {
    list: (days: number) => {
      asked.push(days);
      return ['key phone', 'password', 'address ::1', 'others'].map((client) => ({
        day: '2026-11-18',
        client,
        ...phone,
      }));
    },
    tokensToday: () => 15,
  };
  const ask = async (access: AdminAccess, query: string) => {
    const endpoints = boundEndpoints({ access, usage, states: () => undefined, text: line().text });
    const call = { headers: {}, query: new URLSearchParams(query) } as unknown as Call;
    const reply = await endpoints.find(({ path }) => path === '/api/admin/usage')?.handle(call);
    return JSON.parse(String(reply && 'body' in reply && reply.body));
  };

  test('lists clients by type and name, for a number of days', async () => {
    const listed = await ask(open, 'days=3');
    expect(listed[0]).toEqual({
      day: '2026-11-18',
      type: 'key',
      name: 'phone',
      requests: 2,
      prompt_tokens: 10,
      completion_tokens: 5,
      images: 1,
      audio_seconds_in: 1.3,
      audio_seconds_out: 0,
    });
    expect(listed.map(({ type, name }: { type: string; name: string }) => `${type}:${name}`)).toEqual([
      ...['key:phone', 'password:', 'address:::1', 'others:'],
    ]);
    await ask(open, '');
    await ask(open, 'days=1000000');
    expect(asked).toEqual([3, 7, 100]);
    await expect(ask(open, 'days=none')).rejects.toMatchObject({ code: 'invalid-field' });
  });

  test('is empty for others than administrators', async () => {
    expect(await ask({ enabled: true, password: 'x' }, '')).toEqual([]);
  });
});

test('saves, checks, loads and clears a state', async () => {
  const ask = world(open);
  expect(await ask('save_state', { slot: 1 })).toEqual({ success: true, new_state_size: 70, new_tokens: 7 });
  expect(await ask('check_state')).toEqual({
    success: true,
    old_states: [
      { tokens: 0, size: 0 },
      { tokens: 7, size: 70 },
    ],
    new_state_size: 80,
    new_tokens: 8,
  });
  expect(await ask('load_state', { slot: 1 })).toEqual({ success: true, new_tokens: 7 });
  expect(await ask('load_state')).toEqual({ success: false, new_tokens: 0 });
  expect(await ask('clear_state')).toEqual({ success: true });
  expect(await ask('load_state', { slot: 1 })).toEqual({ success: false, new_tokens: 0 });
});

test.each([[''], ['{}'], [{ slot: null }], [{ slot: 2 }], [{ slot: -1 }], [{ slot: '0' }]])(
  'slot %j means the first one',
  async (body) => {
    const ask = world(open);
    await ask('save_state', body);
    expect((await ask('check_state')).old_states).toEqual([
      { tokens: 7, size: 70 },
      { tokens: 0, size: 0 },
    ]);
  },
);

test.each([{ slot: 'one' }, { slot: 0.5 }, { slot: [1] }, { slot: true }])(
  '%j is refused as a slot, and nothing is overwritten',
  async (body) => {
    await expect(world(open)('save_state', body)).rejects.toMatchObject({ code: 'invalid-field' });
  },
);

test('save_state and load_state wait in the queue, check_state and clear_state do not', async () => {
  const { clients, text } = line();
  const ask = world(open, memory(), { clients, text });
  for (const name of ['check_state', 'save_state', 'load_state', 'clear_state']) await ask(name);
  expect(clients).toEqual(['address ::1', 'address ::1']);
});

test('a full queue is reported as busy', async () => {
  const [, save] = boundEndpoints({ access: open, states: memory, ...line({ full: true }) });
  const call = { body: Buffer.from(''), headers: {}, remoteAddress: '::1' } as unknown as Call;
  const error = await Promise.resolve(save?.handle(call)).catch((thrown: AppError) => thrown);
  expect(save?.dialect.errorReply(error as AppError)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '7' },
    body: expect.stringContaining('"type":"service_unavailable"'),
  });
});

test('a model that was unloaded meanwhile is refused, and no error', async () => {
  let states: SavedStates | undefined = memory();
  const text: Pick<TextService, 'exclusively'> = {
    exclusively: (_, work) => {
      states = undefined;
      return work();
    },
  };
  const [, save] = boundEndpoints({ access: open, states: () => states, text });
  const call = { body: Buffer.from(''), headers: {}, remoteAddress: '::1' } as unknown as Call;
  const reply = await save?.handle(call);
  expect(reply && 'body' in reply && JSON.parse(String(reply.body))).toMatchObject({ success: false });
});

const refusals = [
  ['check_state', { success: false, old_states: [], new_state_size: 0, new_tokens: 0 }],
  ['save_state', { success: false, new_state_size: 0, new_tokens: 0 }],
  ['load_state', { success: false, new_tokens: 0 }],
  ['clear_state', { success: false }],
] as const;

test.each(refusals)('%s is refused in its own shape', async (name, refused) => {
  expect(await world({ enabled: false, password: undefined })(name)).toEqual(refused);
  const protectedWorld = world({ enabled: true, password: 'key' });
  for (const sent of [undefined, 'Bearer other', 'Bearer ', 'key', 'Basic key']) {
    expect(await protectedWorld(name, {}, sent)).toEqual(refused);
  }
  expect(await adminEndpointsWithoutModel(name)).toEqual(refused);
});

const adminEndpointsWithoutModel = (name: string) => {
  const [endpoint] = boundEndpoints({ access: open, states: () => undefined, ...line() }).filter(({ path }) =>
    path.endsWith(name),
  );
  const reply = endpoint?.handle({ body: Buffer.from(''), headers: {} } as unknown as Call);
  return Promise.resolve(reply).then((found) => JSON.parse(String(found && 'body' in found ? found.body : '')));
};

test('needs the admin password if there is one', async () => {
  const ask = world({ enabled: true, password: 'key' });
  expect((await ask('check_state', {}, 'Bearer key')).success).toBe(true);
  expect((await ask('check_state', {}, 'bearer  key ')).success).toBe(true);
});

test('adminLevel: 0 closed, 1 open, 2 with a password', () => {
  expect(adminLevel(open)).toBe(1);
  expect(adminLevel({ enabled: true, password: 'key' })).toBe(2);
  expect(adminLevel({ enabled: false, password: 'key' })).toBe(0);
});

describe('list_options and reload_config', () => {
  function swaps(access: AdminAccess = open, known: readonly string[] = ['a.kcpps', 'b.gguf']) {
    const log: unknown[] = [];
    const swap: ModelSwap = {
      options: async () => known,
      reload: async (option, base) => {
        log.push([option, base]);
        return known.includes(option);
      },
    };
    return { log, ask: asker(boundEndpoints({ access, states: memory, ...line(), swap })) };
  }

  const asker =
    (endpoints: readonly Endpoint[]) =>
    async (name: string, body: string | object = '', authorization?: string): Promise<unknown> => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const headers = authorization === undefined ? {} : { authorization };
      const call = { body: Buffer.from(text), headers, remoteAddress: '::1' } as unknown as Call;
      const reply = await endpoints.find(({ path }) => path === `/api/admin/${name}`)?.handle(call);
      if (!reply || !('body' in reply)) throw new Error('no reply');
      expect(reply.status).toBe(200);
      return JSON.parse(String(reply.body));
    };

  test('lists the options', async () => {
    expect(await swaps().ask('list_options')).toEqual(['a.kcpps', 'b.gguf']);
    expect(await swaps(open, []).ask('list_options')).toEqual([]);
  });

  test('switches to a known option only', async () => {
    const { ask, log } = swaps();
    expect(await ask('reload_config', { filename: 'a.kcpps' })).toEqual({ success: true });
    expect(await ask('reload_config', { filename: 'c.gguf' })).toEqual({ success: false });
    expect(log).toEqual([
      ['a.kcpps', undefined],
      ['c.gguf', undefined],
    ]);
  });

  test.each([
    [{ baseconfig: 'base' }, 'base'],
    [{ overrideconfig: 'base' }, 'base'],
    [{ baseconfig: 'base', overrideconfig: 'older' }, 'base'],
    [{ baseconfig: '' }, undefined],
    [{ baseconfig: null }, undefined],
  ])('%j is passed on as the base config %j', async (fields, base) => {
    const { ask, log } = swaps();
    await ask('reload_config', { filename: 'a.kcpps', ...fields });
    expect(log).toEqual([['a.kcpps', base]]);
  });

  test.each([
    {},
    '',
    { filename: 7 },
    { filename: null },
    { filename: ['a.kcpps'] },
    { filename: 'a.kcpps', baseconfig: 7 },
    { filename: 'a.kcpps', overrideconfig: {} },
  ])('%j changes nothing', async (body) => {
    const { ask, log } = swaps();
    expect(await ask('reload_config', body)).toEqual({ success: false });
    expect(log).toEqual([]);
  });

  test.each(['no JSON', '[]', '7', '{'])('%j is refused by its own error', async (body) => {
    await expect(swaps().ask('reload_config', body)).rejects.toBeInstanceOf(AppError);
  });

  test('a wrong or missing admin password lists and changes nothing', async () => {
    const { ask, log } = swaps({ enabled: true, password: 'key' });
    for (const sent of [undefined, 'Bearer other', 'Bearer ', 'key', 'Basic key']) {
      expect(await ask('list_options', '', sent)).toEqual([]);
      expect(await ask('reload_config', { filename: 'a.kcpps' }, sent)).toEqual({ success: false });
    }
    expect(log).toEqual([]);
    expect(await ask('list_options', '', 'Bearer key')).toEqual(['a.kcpps', 'b.gguf']);
    expect(await ask('reload_config', { filename: 'a.kcpps' }, 'Bearer key')).toEqual({ success: true });
  });

  test('are refused without --admin or a swap', async () => {
    const closed = swaps({ enabled: false, password: undefined });
    const fixed = asker(boundEndpoints({ access: open, states: memory, ...line() }));
    for (const ask of [closed.ask, fixed]) {
      expect(await ask('list_options')).toEqual([]);
      expect(await ask('reload_config', { filename: 'a.kcpps' })).toEqual({ success: false });
    }
    expect(closed.log).toEqual([]);
  });

  test('do not wait in the queue, because a swap waits for running requests', () => {
    const endpoints = boundEndpoints({ access: open, states: memory, ...line() });
    const queued = endpoints
      .filter(({ path }) => /list_options|reload_config/.test(path))
      .map((one) => one.rateLimited);
    expect(queued).toEqual([false, false]);
  });
});
