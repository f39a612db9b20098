import { expect, test } from 'vitest';
import type { PackInstalls } from '../../core/pack-installs.ts';
import { callOf } from '../testing/doubles.ts';
import { packEndpoints } from './packs.ts';

function world(enabled = true) {
  const changes: string[] = [];
  const pack = {
    name: 'ears',
    brings: 'Speech to text.',
    licence: 'MIT',
    bytes: 5,
    state: 'absent',
    inUse: false,
  } as const;
  const job = { state: 'running', doneBytes: 1, totalBytes: 5, reason: undefined } as const;
  const packs: PackInstalls = {
    list: async () => [{ ...pack, job }],
    add: (name) => changes.push(`add ${name}`) > 0 && name === 'ears',
    remove: async (name) => changes.push(`remove ${name}`) > 0 && name === 'ears',
  };
  const endpoints = packEndpoints({ access: { enabled, password: undefined }, packs: async () => packs });
  const send = async (path: string, body: unknown = {}) => {
    const reply = await endpoints.find((one) => one.path === path)?.handle(callOf(path, body), undefined);
    return reply && 'body' in reply ? JSON.parse(String(reply.body)) : undefined;
  };
  return { send, changes };
}

test('packs: lists what each brings, and the progress of its installation', async () => {
  expect(await world().send('/api/admin/packs')).toEqual({
    packs: [
      {
        name: 'ears',
        brings: 'Speech to text.',
        licence: 'MIT',
        bytes: 5,
        state: 'absent',
        in_use: false,
        job: { state: 'running', done_bytes: 1, total_bytes: 5, reason: null },
      },
    ],
  });
});

test('packs: adds and removes those of the catalogue, by name', async () => {
  const { send, changes } = world();
  expect(await send('/api/admin/packs/add', { name: 'ears' })).toEqual({ success: true });
  expect(await send('/api/admin/packs/remove', { name: 'ears' })).toEqual({ success: true });
  expect(await send('/api/admin/packs/add', { name: 'x' })).toEqual({
    success: false,
    error: 'There is no pack x for this system.',
  });
  await expect(send('/api/admin/packs/add', {})).rejects.toMatchObject({ code: 'invalid-field' });
  expect(changes).toEqual(['add ears', 'remove ears', 'add x']);
});

test.each(['', '/add', '/remove'])('packs%s: for administrators only', async (path) => {
  const { send, changes } = world(false);
  await expect(send(`/api/admin/packs${path}`, { name: 'ears' })).rejects.toMatchObject({ code: 'admin-only' });
  expect(changes).toEqual([]);
});
