import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { fold } from '../core/fold.ts';
import type { GenerationRequest, SharingTraits } from '../core/request.ts';
import { generateAll } from './generate-all.ts';
import { finishEvent, play, scriptedText, startEvent } from './testing/doubles.ts';

const request = (prompt: string, media: GenerationRequest['media'] = []) => ({ prompt, media }) as GenerationRequest;
const ticket = { genkey: '', client: 'test', signal: new AbortController().signal };

/** A place in the queue that says each prompt again; `broken` fails before its first event. */
function place() {
  const notes = { traits: [] as SharingTraits[], released: 0, aborted: () => false };
  const { text } = scriptedText([], {
    reserve: ({ signal }, traits) => {
      notes.traits.push(traits);
      notes.aborted = () => signal.aborted;
      return {
        generate({ prompt }) {
          if (prompt === 'broken') throw new AppError('engine-lost', { capability: 'text' });
          return play([startEvent(), { type: 'text-delta', text: prompt }, finishEvent()]);
        },
        release: () => {
          notes.released += 1;
        },
      };
    },
  });
  return { text, notes };
}

test('one text needs no place of its own, and none needs nothing', async () => {
  const { text, asked } = scriptedText([startEvent(), finishEvent()]);
  expect(generateAll(text, [], ticket)).toEqual([]);
  expect(generateAll(text, [request('a')], ticket)).toHaveLength(1);
  expect(asked).toHaveLength(1);
});

test('several come one after the other from one place, which is given back', async () => {
  const { text, notes } = place();
  const all = generateAll(text, [request('a'), request('b')], ticket);
  expect(await Promise.all(all.map(async (events) => (await fold(events)).text))).toEqual(['a', 'b']);
  expect(notes.released).toBe(1);
});

test('one that fails says so, and the others go on', async () => {
  const { text, notes } = place();
  const [bad, good] = generateAll(text, [request('broken'), request('b')], ticket);
  await expect(fold(bad as never)).rejects.toThrow('engine stopped');
  expect((await fold(good as never)).text).toBe('b');
  expect(notes.released).toBe(1);
});

test('whoever stops reading one stops them all', async () => {
  const { text, notes } = place();
  const [first] = generateAll(text, [request('a'), request('b')], ticket);
  await first?.[Symbol.asyncIterator]().return?.();
  expect(notes.aborted()).toBe(true);
});

test('the one with media speaks for all when it comes to sharing the engine', () => {
  const { text, notes } = place();
  generateAll(text, [request('a'), request('b', [{ kind: 'image', base64: 'AAAA' }])], ticket);
  expect(notes.traits).toMatchObject([{ media: [{ kind: 'image' }] }]);
});
