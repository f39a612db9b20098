import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { router } from '../../http/router.ts';
import { SharedStory } from '../../store/shared-story.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, scriptedText } from '../testing/doubles.ts';
import { multiplayerEndpoints, type StoryContext } from './stories.ts';

const freshFolder = freshFolders();

function game() {
  const path = join(freshFolder(), 'story.json');
  const world = { ms: 0, generating: false };
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const story = new SharedStory({
    path,
    parse: async (bytes) => JSON.parse(bytes.toString()),
    warn,
    now: () => new Date(0),
    clock: () => world.ms,
    limits: { characters: 100, senders: 10 },
  });
  return { path, world, warnings, ...asking({ story, warn }, () => world.generating) };
}

function asking(parts: StoryContext, isGenerating = () => false) {
  const { text } = scriptedText([]);
  const performance = () => ({ ...text.performance(), idle: !isGenerating() });
  const endpoints = router(bindAll(multiplayerEndpoints(parts), { text: { ...text, performance } }));
  const raw = async (what: string, body: unknown = '') => {
    const path = `/api/extra/multiplayer/${what}`;
    const reply = await endpoints.find('POST', path)?.handle(callOf(path, body));
    if (!reply || !('body' in reply)) throw new Error('no whole reply');
    expect(reply.headers).toMatchObject({ 'content-type': 'application/json' });
    return [reply.status, String(reply.body)] as const;
  };
  const ask = async (what: 'status' | 'setstory', body?: unknown) => {
    const [status, text] = await raw(what, body);
    return [status, JSON.parse(text)];
  };
  return { ask, getStory: () => raw('getstory') };
}

const update = { full_update: false, data_format: 'kcpp_lzma_b64', sender: 'KCPP1', data: 'XQAAAQ==' };

describe('multiplayer story', () => {
  test('is empty in the first turn', async () => {
    const { ask, getStory } = game();
    expect(await ask('status', { sender: 'KCPP1', senderbusy: false })).toEqual([
      200,
      { turn_major: 1, turn_minor: 1, idle: true, data_format: '' },
    ]);
    expect(await getStory()).toEqual([200, '']);
  });

  test('continues turn by turn, and is returned as it was sent', async () => {
    const { ask, getStory } = game();
    const turn = { idle: true, data_format: 'kcpp_lzma_b64' };
    expect(await ask('setstory', update)).toEqual([200, { success: true, turn_major: 1, turn_minor: 2, ...turn }]);
    expect(await ask('setstory', { ...update, full_update: true })).toEqual([
      200,
      { success: true, turn_major: 2, turn_minor: 1, ...turn },
    ]);
    expect(await ask('setstory', { ...update, data: 'no "JSON" at all' })).toMatchObject([200, { turn_minor: 2 }]);
    expect(await getStory()).toEqual([200, 'no "JSON" at all']);
    expect(await ask('status')).toEqual([200, { turn_major: 2, turn_minor: 2, ...turn }]);
  });

  test.each<[unknown]>([[''], ['{'], ['[]'], [{ sender: {} }], [{ senderbusy: 'maybe' }]])(
    'status: answers the invalid body %j',
    async (body) => {
      expect(await game().ask('status', body)).toMatchObject([200, { turn_major: 1, idle: true }]);
    },
  );

  test.each<[unknown, string]>([
    ['', 'No story submitted!'],
    [{ ...update, data: '' }, 'No story submitted!'],
    [{ ...update, data: null }, 'No story submitted!'],
    [{ ...update, data: [1] }, 'Submitted story invalid!'],
    [{ ...update, full_update: 'perhaps' }, 'Submitted story invalid!'],
    [{ ...update, sender: [] }, 'Submitted story invalid!'],
    ['{"data": "x', 'Submitted story invalid!'],
    ['7', 'Submitted story invalid!'],
    [{ ...update, data: 'x'.repeat(101) }, 'Story is too long!'],
  ])('setstory: refuses %j', async (body, error) => {
    const { ask, getStory } = game();
    await ask('setstory', update);
    expect(await ask('setstory', body)).toEqual([400, { success: false, error }]);
    expect(await ask('status')).toMatchObject([200, { turn_major: 1, turn_minor: 2 }]);
    expect(await getStory()).toEqual([200, update.data]);
  });

  test('setstory: refuses a story that cannot be stored, and logs it', async () => {
    const { path, ask, warnings } = game();
    rmSync(dirname(path), { recursive: true });
    const [status, body] = await ask('setstory', update);
    expect([status, body]).toEqual([
      500,
      { success: false, error: expect.stringMatching(/could not be kept: ENOENT/) },
    ]);
    expect(warnings).toEqual([body.error]);
  });
});

describe('multiplayer: idle', () => {
  const idle = async (ask: ReturnType<typeof game>['ask'], sender: string | number) =>
    (await ask('status', { sender }))[1].idle;

  test('false while anything is generated', async () => {
    const { ask, world } = game();
    world.generating = true;
    expect(await idle(ask, 'a')).toBe(false);
    world.generating = false;
    expect(await idle(ask, 'a')).toBe(true);
  });

  test('false if another sender was busy within six seconds', async () => {
    const { ask, world } = game();
    await ask('status', { sender: 'a', senderbusy: true });
    expect([await idle(ask, 'a'), await idle(ask, 'b')]).toEqual([true, false]);
    expect((await ask('setstory', { ...update, sender: 'b' }))[1].idle).toBe(false);
    world.ms += 6000;
    expect(await idle(ask, 'b')).toBe(true);
  });

  test('true for requests without a sender', async () => {
    const { ask } = game();
    await ask('status', { sender: 'a', senderbusy: false });
    await ask('setstory', update);
    expect(await idle(ask, 'b')).toBe(true);
  });

  test('works with a number as sender', async () => {
    const { ask } = game();
    await ask('status', { sender: 7, senderbusy: 1 });
    expect([await idle(ask, 7), await idle(ask, '7'), await idle(ask, 8)]).toEqual([true, true, false]);
  });
});

test('multiplayer: every path has its reply without --multiplayer', async () => {
  const { ask, getStory } = asking({ warn: () => undefined });
  expect(await ask('status')).toEqual([200, { error: 'Multiplayer not enabled!' }]);
  expect(await getStory()).toEqual([200, '']);
  expect(await ask('setstory', update)).toEqual([400, { success: false, error: 'Multiplayer not enabled!' }]);
});

test('multiplayer: no path is queued', () => {
  for (const endpoint of multiplayerEndpoints({ warn: () => undefined })) {
    expect(endpoint).toMatchObject({ method: 'POST', match: 'ending', queued: false });
  }
});
