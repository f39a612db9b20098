import { expect, test } from 'vitest';
import type { SavedStates } from '../../core/saved-states.ts';
import type { Call } from '../../http/call.ts';
import { type AdminAccess, adminLevel } from './access.ts';
import { adminEndpoints } from './routes.ts';

/** Two places; the present state grows with each save. */
function memory(): SavedStates & { busy: boolean } {
  const places = [0, 0];
  let tokens = 7;
  const figures = (count: number) => ({ tokens: count, bytes: count * 10 });
  const states = {
    busy: false,
    count: places.length,
    check: async () => ({ places: places.map(figures), current: figures(tokens) }),
    save: async (place: number) => {
      if (states.busy) return null;
      places[place] = tokens;
      tokens += 1;
      return figures(places[place] ?? 0);
    },
    load: async (place: number) => (places[place] ? figures(places[place]) : null),
    clear: async () => {
      places.fill(0);
    },
  };
  return states;
}

const open: AdminAccess = { enabled: true, password: undefined };

function world(access: AdminAccess, states: SavedStates | undefined = memory()) {
  const endpoints = adminEndpoints({ access, states: () => states });
  return async (name: string, body: string | object = {}, authorization?: string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = authorization === undefined ? {} : { authorization };
    const call = { body: Buffer.from(text), headers } as unknown as Call;
    const reply = await endpoints.find(({ path }) => path === `/api/admin/${name}`)?.handle(call);
    if (!reply || !('body' in reply)) throw new Error('no reply');
    expect(reply.status).toBe(200);
    return JSON.parse(String(reply.body));
  };
}

test('a state is saved, seen, taken up and forgotten', async () => {
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
  'the place in %j is the first',
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
  '%j names no place, and nothing is overwritten',
  async (body) => {
    await expect(world(open)('save_state', body)).rejects.toMatchObject({ code: 'invalid-field' });
  },
);

test('what a generation is at work on is not saved', async () => {
  const states = memory();
  states.busy = true;
  expect(await world(open, states)('save_state')).toEqual({ success: false, new_state_size: 0, new_tokens: 0 });
});

const refusals = [
  ['check_state', { success: false, old_states: [], new_state_size: 0, new_tokens: 0 }],
  ['save_state', { success: false, new_state_size: 0, new_tokens: 0 }],
  ['load_state', { success: false, new_tokens: 0 }],
  ['clear_state', { success: false }],
] as const;

test.each(refusals)('%s is refused in its own words', async (name, refused) => {
  expect(await world({ enabled: false, password: undefined })(name)).toEqual(refused);
  const protectedWorld = world({ enabled: true, password: 'key' });
  for (const sent of [undefined, 'Bearer other', 'Bearer ', 'key', 'Basic key']) {
    expect(await protectedWorld(name, {}, sent)).toEqual(refused);
  }
  expect(await adminEndpointsWithoutModel(name)).toEqual(refused);
});

const adminEndpointsWithoutModel = (name: string) => {
  const [endpoint] = adminEndpoints({ access: open, states: () => undefined }).filter(({ path }) =>
    path.endsWith(name),
  );
  const reply = endpoint?.handle({ body: Buffer.from(''), headers: {} } as unknown as Call);
  return Promise.resolve(reply).then((found) => JSON.parse(String(found && 'body' in found ? found.body : '')));
};

test('the admin password opens it', async () => {
  const ask = world({ enabled: true, password: 'key' });
  expect((await ask('check_state', {}, 'Bearer key')).success).toBe(true);
  expect((await ask('check_state', {}, 'bearer  key ')).success).toBe(true);
});

test('without a key of their own the paths are guarded like others', () => {
  const accesses = (access: AdminAccess) =>
    adminEndpoints({ access, states: () => undefined }).map((one) => one.access);
  expect(new Set(accesses(open))).toEqual(new Set(['guarded']));
  expect(new Set(accesses({ enabled: true, password: 'key' }))).toEqual(new Set(['open']));
});

test('clients are told whether it is open, and whether with a key', () => {
  expect(adminLevel(open)).toBe(1);
  expect(adminLevel({ enabled: true, password: 'key' })).toBe(2);
  expect(adminLevel({ enabled: false, password: 'key' })).toBe(0);
});
