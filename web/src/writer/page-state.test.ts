import { expect, test } from 'vitest';
import { newPassage, newStory, type Story, textOf } from '../story/story.ts';
import { fakePage } from '../testing/page.ts';

const passages = [newPassage('a', 'person', 'One.\n\nTwo.\n\n'), newPassage('b', 'model', 'Three.')];
const story = newStory({ id: 's', changed: 1, passages });

async function opened(page = fakePage()) {
  page.records('stories').set('s', story);
  const { library } = await import('../story/library.svelte.ts');
  await library.load();
  const { editor, pendingCaret } = await import('./page-state.svelte.ts');
  const texts = () => (library.find('s') as Story).passages.map(textOf);
  return { page, library, editor, pendingCaret, texts };
}

test('editor: opens the paragraph at an offset with the caret in it', async () => {
  const { editor, pendingCaret } = await opened();
  editor.openAt('s', 'a', 8);
  expect(editor.now).toMatchObject({ passage: 'a', start: 6, end: 10, text: 'Two.' });
  expect(pendingCaret.take()).toBe(2);
  expect(pendingCaret.take()).toBeUndefined();
});

test('editor: puts the changed text into the story as one undo step', async () => {
  const { library, editor, texts } = await opened();
  editor.openAt('s', 'a', 6);
  editor.typed('Tw');
  editor.typed('Two and a half.');
  editor.finish();
  expect(texts()[0]).toBe('One.\n\nTwo and a half.\n\n');
  library.undo('s');
  expect(texts()[0]).toBe('One.\n\nTwo.\n\n');
});

test('editor: cancel leaves the story as it was', async () => {
  const { editor, texts } = await opened();
  editor.openAt('s', 'b', 0);
  editor.typed('Never.');
  editor.cancel();
  expect(texts()[1]).toBe('Three.');
  expect(editor.now).toBeUndefined();
});

test('editor: moves to the next paragraph, across passages', async () => {
  const { editor } = await opened();
  editor.openAt('s', 'a', 6);
  editor.move(1);
  expect(editor.now).toMatchObject({ passage: 'b', text: 'Three.' });
  editor.move(-1);
  expect(editor.now).toMatchObject({ passage: 'a', text: 'Two.' });
});

test('editor: joins a paragraph with the one before it', async () => {
  const { editor, texts } = await opened();
  editor.openAt('s', 'a', 6);
  editor.joinWithLast();
  expect(texts()[0]).toBe('One.\nTwo.\n\n');
});

test('editor: recovers typed text after a reload', async () => {
  const page = fakePage();
  const first = await opened(page);
  first.editor.openAt('s', 'b', 0);
  first.editor.typed('Four.');
  const kept = page.localStorage.get('parley.draft.write.edit') as string;
  const after = fakePage();
  after.localStorage.set('parley.draft.write.edit', kept);
  const { editor, texts } = await opened(after);
  editor.recover();
  expect(texts()[1]).toBe('Four.');
  expect(after.localStorage.has('parley.draft.write.edit')).toBe(false);
});

test('editor: drops an edit of text that was changed meanwhile', async () => {
  const { library, editor, texts } = await opened();
  editor.openAt('s', 'b', 0);
  editor.typed('Four.');
  library.change('s', (now) => ({ ...now, passages: [newPassage('b', 'model', 'Other.')] }));
  editor.finish();
  expect(texts()).toEqual(['Other.']);
});
