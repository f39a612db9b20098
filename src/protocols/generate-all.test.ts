import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { FinishReason } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import type { GenerationRequest, SharingTraits } from '../core/request.ts';
import { generateAll } from './generate-all.ts';
import { finishEvent, onlyPlace, play, scriptedText, startEvent } from './testing/doubles.ts';

const request = (prompt: string, media: GenerationRequest['media'] = []) => ({ prompt, media }) as GenerationRequest;
const requestContext = { genkey: '', client: 'test', signal: new AbortController().signal };

const lost = new AppError('engine-lost', { capability: 'text' });

/** A place in the queue that says each prompt again; `broken` fails before its first event, `lost` with it. */
function place() {
  const notes = { traits: [] as SharingTraits[], released: 0, aborted: () => false };
  const { text } = scriptedText([], {
    reserve: ({ signal }, traits) => {
      notes.traits.push(traits);
      notes.aborted = () => signal.aborted;
      return {
        generate({ prompt }) {
          if (prompt === 'broken') throw lost;
          if (prompt === 'lost') return play([{ type: 'error', error: lost }]);
          return play([startEvent(), { type: 'text-delta', text: prompt }, finishEvent()]);
        },
        ...onlyPlace,
        release: () => {
          notes.released += 1;
        },
      };
    },
  });
  return { text, notes };
}

test('generateAll: one request needs no reservation, none needs nothing', async () => {
  const { text, asked } = scriptedText([startEvent(), finishEvent()]);
  expect(generateAll(text, [], requestContext)).toEqual([]);
  expect(generateAll(text, [request('a')], requestContext)).toHaveLength(1);
  expect(asked).toHaveLength(1);
});

test('generateAll: several requests share one reservation, which is released', async () => {
  const { text, notes } = place();
  const all = generateAll(text, [request('a'), request('b')], requestContext);
  expect(await Promise.all(all.map(async (events) => (await fold(events)).text))).toEqual(['a', 'b']);
  expect(notes.released).toBe(1);
});

test.each(['broken', 'lost'])('generateAll: a failed request does not stop the others (%s)', async (prompt) => {
  const { text, notes } = place();
  const [bad, good] = generateAll(text, [request(prompt), request('b')], requestContext);
  await expect(fold(bad as never)).rejects.toThrow('engine stopped');
  expect((await fold(good as never)).text).toBe('b');
  expect([notes.released, notes.aborted()]).toEqual([1, false]);
});

test('generateAll: to stop reading one reply stops them all', async () => {
  const { text, notes } = place();
  const [first] = generateAll(text, [request('a'), request('b')], requestContext);
  await first?.[Symbol.asyncIterator]().return?.();
  expect(notes.aborted()).toBe(true);
});

test('generateAll: the request with media is used for admission', () => {
  const { text, notes } = place();
  generateAll(text, [request('a'), request('b', [{ kind: 'image', base64: 'AAAA' }])], requestContext);
  expect(notes.traits).toMatchObject([{ media: [{ kind: 'image' }] }]);
});

/** Places for so many at once; each generation ends when the test says so. */
function hall(capacity: number) {
  const running: string[] = [];
  const ends = new Map<string, (reason?: FinishReason) => void>();
  const notes = { places: 0, passed: 0, released: 0, aborted: false };
  const { text } = scriptedText([], {
    room: () => capacity - notes.places + notes.released,
    reserve: ({ signal }) => {
      notes.places += 1;
      signal.addEventListener('abort', () => {
        notes.aborted = true;
        for (const end of ends.values()) end('aborted');
      });
      return {
        async *generate({ prompt }) {
          running.push(prompt);
          yield startEvent();
          const reason = signal.aborted
            ? 'aborted'
            : await new Promise<FinishReason>((resolve) => ends.set(prompt, (why = 'stop') => resolve(why)));
          yield { type: 'text-delta', text: prompt };
          yield finishEvent({ reason });
        },
        ...onlyPlace,
        pass: () => {
          notes.passed += 1;
        },
        release: () => {
          notes.released += 1;
        },
      };
    },
  });
  return { text, notes, running, end: (prompt: string, reason?: FinishReason) => ends.get(prompt)?.(reason) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const four = ['a', 'b', 'c', 'd'].map((prompt) => request(prompt));

describe('generateAll: several prompts', () => {
  test('run in parallel if slots are free', async () => {
    const { text, running, end, notes } = hall(3);
    const all = generateAll(text, four, requestContext);
    await settled();
    expect(running).toEqual(['a', 'b', 'c']);
    end('b');
    await settled();
    expect(running).toEqual(['a', 'b', 'c', 'd']);
    for (const prompt of ['a', 'c', 'd']) end(prompt);
    expect(await Promise.all(all.map(async (events) => (await fold(events)).text))).toEqual(['a', 'b', 'c', 'd']);
    expect([notes.places, notes.released]).toEqual([3, 3]);
  });

  test('let other clients go first after each but the last', async () => {
    const { text, end, notes } = hall(1);
    const all = generateAll(text, four, requestContext);
    for (const { prompt } of four) {
      await settled();
      end(prompt);
    }
    await Promise.all(all.map(fold));
    expect([notes.places, notes.passed, notes.released]).toEqual([1, 3, 1]);
  });

  test('take more slots as they become free', async () => {
    const { text, running, end, notes } = hall(2);
    notes.places = 1;
    generateAll(text, four, requestContext);
    await settled();
    expect(running).toEqual(['a']);
    notes.released = 1;
    end('a');
    await settled();
    expect(running).toEqual(['a', 'b', 'c']);
  });

  test('all stop if one is stopped by its key', async () => {
    const { text, end, notes } = hall(2);
    const all = generateAll(text, four, requestContext);
    await settled();
    end('b', 'aborted');
    const reasons = await Promise.all(all.map(async (events) => (await fold(events)).reason));
    expect(reasons).toEqual(['aborted', 'aborted', 'aborted', 'aborted']);
    expect([notes.aborted, notes.released]).toEqual([true, notes.places]);
  });

  test('report the queue status of one slot only', () => {
    const standings: unknown[] = [];
    const { text } = scriptedText([startEvent()], { room: () => 1 });
    const reserve: typeof text.reserve = (own, traits) => {
      standings.push(own.onQueued);
      return text.reserve(own, traits);
    };
    const placed = () => undefined;
    generateAll({ ...text, reserve }, four, { ...requestContext, onQueued: placed });
    expect(standings.filter((one) => one === placed)).toHaveLength(1);
    expect(standings.length).toBeGreaterThan(1);
  });
});
