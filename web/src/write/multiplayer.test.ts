import { expect, onTestFinished, test } from 'vitest';
import { sharedForm } from '../files/shared-form.ts';
import { newPassage, newStory, type Story, textOf } from '../story/story.ts';
import { fakePage } from '../testing/page.ts';

const mine = newStory({ id: 's', changed: 1, title: 'Mine', passages: [newPassage('a', 'person', 'Once.')] });
const theirs = { ...mine, id: 't', title: 'Theirs', passages: [newPassage('x', 'person', 'They wrote.')] };

async function opened(shared: Story | undefined) {
  const state = { data: shared ? sharedForm(shared).data : '', major: 1, idle: true };
  const turn = () => ({ turn_major: state.major, turn_minor: 0, idle: state.idle, data_format: 'parley_json' });
  const page = fakePage({
    'api/extra/multiplayer/getstory': () => new Response(state.data),
    'api/extra/multiplayer/status': turn,
    'api/extra/multiplayer/setstory': ({ data }: { data: string }) => {
      Object.assign(state, { data, major: state.major + 1 });
      return turn();
    },
  });
  page.records('stories').set('s', mine);
  const { library } = await import('../story/library.svelte.ts');
  await library.load();
  const { multiplayer } = await import('./multiplayer.svelte.ts');
  // The next poll would run after the test.
  onTestFinished(() => multiplayer.leave());
  return { page, state, library, multiplayer };
}

test('multiplayer: joins the shared story as a new story', async () => {
  const { library, multiplayer } = await opened(theirs);
  const id = await multiplayer.join(undefined);
  expect(library.find(id)).toMatchObject({ title: 'Theirs' });
  expect(library.find(id)?.passages.map(textOf)).toEqual(['They wrote.']);
  expect(multiplayer.turn).toBe('1.0');
});

test('multiplayer: shares the open story if the server has none', async () => {
  const { page, library, multiplayer } = await opened(undefined);
  expect(await multiplayer.join(library.find('s'))).toBe('s');
  expect(page.requestsTo('api/extra/multiplayer/setstory')[0]?.body).toMatchObject({ full_update: true });
});

test('multiplayer: asks for a story if there is none to join with', async () => {
  const { multiplayer } = await opened(undefined);
  const { notices } = await import('../ui/notices.svelte.ts');
  expect(await multiplayer.join(undefined)).toBeUndefined();
  expect(notices.list.map(({ text }) => text)).toEqual(['No story is shared yet. Open one of yours, then join.']);
});

test('multiplayer: merges the shared story into the local one after rejoining', async () => {
  const { library, multiplayer } = await opened(theirs);
  multiplayer.me.last = 's';
  expect(await multiplayer.join(undefined)).toBe('s');
  expect(library.stories).toHaveLength(1);
  expect(library.find('s')?.passages.map(textOf)).toEqual(['They wrote.']);
  library.undo('s');
  expect(library.find('s')?.passages.map(textOf)).toEqual(['Once.']);
});

test('multiplayer: knows when another person is writing', async () => {
  const { state, multiplayer } = await opened(theirs);
  state.idle = false;
  await multiplayer.join(undefined);
  expect(multiplayer.idle).toBe(false);
  multiplayer.leave();
  expect(multiplayer.idle).toBe(true);
});
