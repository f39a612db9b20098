import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { UsageLog } from './usage-log.ts';

const freshFolder = freshFolders();
const noon = (day: number) => new Date(2026, 10, day, 12).getTime();

function world(limits?: { readonly days: number; readonly clients: number }) {
  const path = join(freshFolder(), 'state', 'usage.json');
  const clock = { now: noon(18) };
  const warnings: string[] = [];
  const log = () =>
    new UsageLog({ path, warn: (line) => warnings.push(line), now: () => clock.now, ...(limits && { limits }) });
  const opened = async () => {
    const one = log();
    await one.open();
    return one;
  };
  return { path, clock, warnings, opened };
}

const used = (log: UsageLog, days = 7) =>
  log.list(days).map(({ day, client, requests, promptTokens }) => [day, client, requests, promptTokens]);

describe('UsageLog', () => {
  test('UsageLog: counts by client: the key, the password or the address', async () => {
    const log = await world().opened();
    const request = (address: string, key?: string, password = false) => {
      const watch = log.watch({ remoteAddress: address });
      watch.authorized?.(key, true, password);
      // Two jobs of one request.
      watch.queued?.('text');
      watch.queued?.('text');
      watch.used?.({ promptTokens: 10, completionTokens: 5 });
      watch.used?.({ promptTokens: 1 });
    };
    request('192.0.2.1', 'phone');
    request('192.0.2.2', 'phone');
    request('192.0.2.1', undefined, true);
    request('192.0.2.1');
    expect(used(log)).toEqual([
      ['2026-11-18', 'key phone', 2, 22],
      ['2026-11-18', 'password', 1, 11],
      ['2026-11-18', 'address 192.0.2.1', 1, 11],
    ]);
    expect(log.tokensToday('phone')).toBe(32);
  });

  test('UsageLog: keeps images and seconds of sound across restarts', async () => {
    const { opened } = world();
    const log = await opened();
    log.add('key phone', { images: 2, audioSecondsIn: 1.25 });
    log.add('key phone', { audioSecondsOut: 0.5 });
    await log.save();
    expect((await opened()).list(1)).toEqual([
      {
        day: '2026-11-18',
        client: 'key phone',
        requests: 0,
        promptTokens: 0,
        completionTokens: 0,
        images: 2,
        audioSecondsIn: 1.25,
        audioSecondsOut: 0.5,
      },
    ]);
  });

  test('UsageLog: servers that share the file add up', async () => {
    const { opened } = world();
    const [one, other] = [await opened(), await opened()];
    one.add('password', { promptTokens: 1 });
    other.add('password', { promptTokens: 2 });
    await one.save();
    await other.save();
    other.add('password', { promptTokens: 4 });
    await other.save();
    await other.save();
    expect(used(other)).toEqual([['2026-11-18', 'password', 0, 7]]);
    expect(used(await opened())).toEqual([['2026-11-18', 'password', 0, 7]]);
  });

  test('UsageLog: lists the last days, today first, and keeps a limited number of them', async () => {
    const { opened, clock } = world({ days: 3, clients: 9 });
    const log = await opened();
    for (const day of [14, 16, 17, 18]) {
      clock.now = noon(day);
      log.add('password', { promptTokens: day });
    }
    expect(used(log, 2).map(([day]) => day)).toEqual(['2026-11-18', '2026-11-17']);
    await log.save();
    expect(used(log, 100).map(([day]) => day)).toEqual(['2026-11-18', '2026-11-17', '2026-11-16']);
  });

  test('UsageLog: addresses beyond the limit are counted together, keys never', async () => {
    const { opened } = world({ days: 3, clients: 2 });
    const log = await opened();
    for (const client of ['address a', 'address b', 'address c', 'address d', 'key phone', 'address a'])
      log.add(client, { requests: 1 });
    const expected = [
      ['2026-11-18', 'address a', 2, 0],
      ['2026-11-18', 'address b', 1, 0],
      ['2026-11-18', 'others', 2, 0],
      ['2026-11-18', 'key phone', 1, 0],
    ];
    expect(used(log)).toEqual(expected);
    await log.save();
    expect(used(await opened())).toEqual(expected);
  });

  test('UsageLog: a key over its tokens of today is refused until midnight', async () => {
    const { opened, clock } = world();
    const log = await opened();
    const phone = { name: 'phone', tokensPerDay: 100 };
    log.add('key phone', { promptTokens: 60, completionTokens: 39 });
    expect(log.overLimit(phone)).toBeUndefined();
    log.add('key phone', { completionTokens: 1 });
    expect(log.overLimit({ name: 'phone' })).toBeUndefined();
    const error = log.overLimit(phone);
    expect(error).toMatchObject({ status: 429, details: { retryAfterSeconds: 12 * 3600 } });
    expect(error?.message).toContain('again from 2026-11-19 00:00');
    clock.now = noon(19);
    expect(log.overLimit(phone)).toBeUndefined();
  });

  test('UsageLog: forgets a key, also in the file and what is not saved yet', async () => {
    const { opened, path } = world();
    const log = await opened();
    await log.forget('anna');
    log.add('key anna', { requests: 1 });
    log.add('key ben', { requests: 2 });
    await log.save();
    log.add('key anna', { requests: 1 });
    await log.forget('anna');
    await log.save();
    expect(used(log)).toEqual([['2026-11-18', 'key ben', 2, 0]]);
    expect(readFileSync(path, 'utf8')).not.toContain('anna');
  });

  test('UsageLog: a file of a later version is left alone, and counting goes on in memory', async () => {
    const { opened, path, warnings } = world();
    const log = await opened();
    log.add('password', { promptTokens: 1 });
    await log.save();
    const later = readFileSync(path, 'utf8').replace('"file_version":1', '"file_version":9');
    writeFileSync(path, later);
    log.add('password', { promptTokens: 2 });
    await log.save();
    await log.save();
    expect(used(log)).toEqual([['2026-11-18', 'password', 0, 3]]);
    expect(readFileSync(path, 'utf8')).toBe(later);
    expect(warnings).toEqual([expect.stringContaining('Usage cannot be stored in')]);
  });
});
