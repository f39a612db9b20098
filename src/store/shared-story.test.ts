import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StoryTooLong } from './save-slots.ts';
import { SharedStory, type SharedStoryOptions } from './shared-story.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

function storyIn(own: Partial<SharedStoryOptions> = {}) {
  const path = own.path ?? join(freshFolder(), 'story.json');
  const warnings: string[] = [];
  const clock = { ms: 1000 };
  const shared = new SharedStory({
    path,
    parse: async (bytes) => JSON.parse(bytes.toString()),
    warn: (sentence) => warnings.push(sentence),
    now: () => new Date(0),
    clock: () => clock.ms,
    ...own,
  });
  const update = (story: string, full = false) => shared.update({ story, format: 'plain', full });
  const turn = async () => {
    const { story, format, major, minor } = await shared.turn();
    return { story, format, major, minor };
  };
  return { path, shared, update, turn, warnings, clock };
}

describe('SharedStory', () => {
  test('begins empty, in turn 1.1', async () => {
    expect(await storyIn().turn()).toEqual({ story: '', format: '', major: 1, minor: 1 });
  });

  test('counts continuations and new stories', async () => {
    const { update, turn } = storyIn();
    await update('a');
    expect(await turn()).toEqual({ story: 'a', format: 'plain', major: 1, minor: 2 });
    await update('ab');
    expect(await turn()).toMatchObject({ story: 'ab', major: 1, minor: 3 });
    await update('other', true);
    expect(await turn()).toMatchObject({ story: 'other', major: 2, minor: 1 });
  });

  test('gives every turn once for concurrent updates', async () => {
    const { update } = storyIn();
    const turns = await Promise.all(['a', 'b', 'c', 'd'].map((text) => update(text)));
    expect(turns.map(({ minor }) => minor)).toEqual([2, 3, 4, 5]);
  });

  test('is read by the next instance', async () => {
    const first = storyIn();
    await first.update('"A line"\n🦜\ud83e', true);
    const second = storyIn({ path: first.path });
    expect(await second.turn()).toEqual({ story: '"A line"\n🦜\ud83e', format: 'plain', major: 2, minor: 1 });
    expect((await second.update('more')).minor).toBe(2);
  });

  test('limits the length, and a story that is too long changes nothing', async () => {
    const { update, turn } = storyIn({ limits: { characters: 10, senders: 3 } });
    await update('12345');
    await expect(update('123456')).rejects.toBeInstanceOf(StoryTooLong);
    expect(await turn()).toMatchObject({ story: '12345', minor: 2 });
  });

  test.each([
    ['[1]', 'it holds no story'],
    ['{"story": 5, "format": "", "major": 1, "minor": 1}', 'it holds no story'],
    ['{"story": "a", "format": "", "major": 0, "minor": 1}', 'it holds no turns'],
    ['{"story": "a", "format": "", "major": 1, "minor": "2"}', 'it holds no turns'],
  ])('renames a file that cannot be read (%s)', async (content, reason) => {
    const { path, turn, update, warnings } = storyIn();
    writeFileSync(path, content);
    expect(await turn()).toMatchObject({ story: '', major: 1, minor: 1 });
    expect(warnings[0]).toContain(`is damaged (${reason})`);
    await update('new');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ format: 'plain', major: 1, minor: 2, story: 'new' });
  });

  test('leaves a file of a newer version alone', async () => {
    const { path, turn, update } = storyIn();
    const content = '{"file_version":2,"anything":"else"}';
    writeFileSync(path, content);
    await expect(turn()).rejects.toThrow(`${path} is left alone: it was written by a newer version of Parley`);
    await expect(update('new')).rejects.toThrow('update Parley, or use another file');
    expect(readFileSync(path, 'utf8')).toBe(content);
  });
});

describe('SharedStory: busy senders', () => {
  test('none at first, and never the sender itself', () => {
    const { shared } = storyIn();
    expect(shared.isOtherBusy('me')).toBe(false);
    shared.busy('me');
    expect(shared.isOtherBusy('me')).toBe(false);
    expect(shared.isOtherBusy('you')).toBe(true);
    expect(shared.isOtherBusy('')).toBe(true);
  });

  test('expire after six seconds', () => {
    const { shared, clock } = storyIn();
    shared.busy('me');
    clock.ms += 5999;
    expect(shared.isOtherBusy('you')).toBe(true);
    shared.busy('me');
    clock.ms += 5999;
    expect(shared.isOtherBusy('you')).toBe(true);
    clock.ms += 1;
    expect(shared.isOtherBusy('you')).toBe(false);
  });

  test('without a name are ignored', () => {
    const { shared } = storyIn();
    shared.busy('');
    expect(shared.isOtherBusy('you')).toBe(false);
  });

  test('are limited to a number, the latest', () => {
    const { shared, clock } = storyIn({ limits: { characters: 10, senders: 2 } });
    for (const sender of ['a', 'b', 'a', 'c']) {
      clock.ms += 1;
      shared.busy(sender);
    }
    // `a` and `c` are busy, `b` has expired.
    clock.ms += 5998;
    expect(shared.isOtherBusy('a')).toBe(true);
    clock.ms += 1;
    expect([shared.isOtherBusy('c'), shared.isOtherBusy('a')]).toEqual([false, true]);
  });

  test('are compared by the first 200 characters', () => {
    const { shared } = storyIn();
    shared.busy(`${'x'.repeat(200)}1`);
    expect(shared.isOtherBusy(`${'x'.repeat(200)}2`)).toBe(false);
  });
});
