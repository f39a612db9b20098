import { expect, test } from 'vitest';
import { callOf } from '../testing/doubles.ts';
import { logEndpoints } from './log.ts';

function world(enabled = true) {
  const asked: number[] = [];
  const log = {
    after: (number: number) => {
      asked.push(number);
      return [{ number: 3, time: 0, level: 'info', text: 'The key is hunter22.' }];
    },
  };
  const redact = (text: string) => text.replace('hunter22', '[redacted]');
  const [endpoint] = logEndpoints({ access: { enabled, password: undefined }, log, redact });
  const send = async (query = '') => {
    const call = callOf('/api/admin/log', {});
    const reply = await endpoint?.handle({ ...call, query: new URLSearchParams(query) }, undefined);
    return reply && 'body' in reply ? JSON.parse(String(reply.body)) : undefined;
  };
  return { asked, send };
}

test('log: the lines of the console after a number, without secrets', async () => {
  const { asked, send } = world();
  expect(await send('after=2')).toEqual({
    lines: [{ number: 3, time: '1970-01-01T00:00:00.000Z', level: 'info', text: 'The key is [redacted].' }],
  });
  await send();
  await send('after=nothing');
  expect(asked).toEqual([2, 0, 0]);
});

test('log: for administrators only', async () => {
  await expect(world(false).send()).rejects.toMatchObject({ code: 'admin-only' });
});
