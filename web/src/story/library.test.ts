import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';
import { append, withText } from './passages.ts';
import { newPassage, newStory, type Story } from './story.ts';

const story = newStory({ id: 's', changed: 1, passages: [newPassage('a', 'person', 'Once.')] });

async function loaded(stories: readonly Story[] = [story], page = fakePage()) {
  for (const one of stories) page.records('stories').set(one.id, one);
  const { library } = await import('./library.svelte.ts');
  await library.load();
  return { page, library };
}

test('story library: loads stories with the newest first and adds missing fields', async () => {
  const old = { id: 'old', changed: 9, passages: [] } as unknown as Story;
  const { library } = await loaded([story, old]);
  expect(library.stories.map(({ id }) => id)).toEqual(['old', 's']);
  expect(library.find('old')?.mode).toBe('story');
  expect(library.find(undefined)).toBeUndefined();
});

test('story library: prefers the backup of a page that closed before it had saved', async () => {
  const page = fakePage();
  page.localStorage.set('parley.rescue', JSON.stringify([{ ...story, changed: 5, title: 'Newer' }]));
  const { library } = await loaded([story], page);
  expect(library.find('s')?.title).toBe('Newer');
  await library.flush();
  expect(page.records('stories').get('s')).toMatchObject({ title: 'Newer' });
  expect(page.localStorage.has('parley.rescue')).toBe(false);
});

test('story library: backs up unsaved changes when the page closes', async () => {
  const { page, library } = await loaded();
  library.change('s', (now) => ({ ...now, memory: 'Winter' }));
  page.fire('pagehide');
  const [name = '', text = ''] =
    [...page.localStorage].find(([one]) => one.startsWith('parley.unsaved.stories.')) ?? [];
  expect(text).toContain('Winter');
  await library.flush();
  expect(page.localStorage.has(name)).toBe(false);
  const next = fakePage();
  next.localStorage.set(name, text);
  const after = await loaded([{ ...story, title: 'Fox' }], next);
  expect(after.library.find('s')).toMatchObject({ memory: 'Winter', title: 'Fox' });
  expect(next.localStorage.has(name)).toBe(false);
});

test('story library: undo and redo restore the passages but not the memory', async () => {
  const { library } = await loaded();
  library.change('s', (now) => append(now, newPassage('b', 'model', ' More.')), { undoable: true });
  library.change('s', (now) => ({ ...now, memory: 'Winter' }));
  library.undo('s');
  expect(library.find('s')).toMatchObject({ passages: [{ id: 'a' }], memory: 'Winter' });
  library.redo('s');
  expect(library.find('s')?.passages.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('story library: keeps no undo step for text that arrives in pieces', async () => {
  const { library } = await loaded();
  library.change('s', (now) => ({ ...now, passages: now.passages.map((one) => withText(one, 'Twice.')) }));
  expect(library.historyOf('s').past).toEqual([]);
});

test('story library: a change that returns the same story saves nothing', async () => {
  const { library } = await loaded();
  library.change('s', (now) => now);
  expect(library.find('s')).toBe(library.stories[0]);
  expect(library.find('s')?.changed).toBe(1);
});

test('story library: copies a story under a new id, without its running reply', async () => {
  const pending = { key: 'K', passage: 'a', begin: '', stops: [] };
  const { library } = await loaded([{ ...story, title: 'Fox', pending }]);
  const copy = library.copy(library.find('s') as Story);
  expect(copy).toMatchObject({ title: 'Fox (copy)', passages: story.passages });
  expect(copy.id).not.toBe('s');
  expect(copy.pending).toBeUndefined();
});

test('story library: removes a story from the database', async () => {
  const { page, library } = await loaded();
  library.remove('s');
  expect(library.stories).toEqual([]);
  await expect.poll(() => page.records('stories').size).toBe(0);
});
