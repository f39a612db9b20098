import { expect, test } from 'vitest';
import type { EmbeddingService } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import type { RequestContext } from '../core/request-context.ts';
import { Latch } from '../core/synchronization.ts';
import type { IndexStep } from './document-store.ts';
import { Indexer } from './indexer.ts';

/** A store with these passages to embed, and an embedding engine that the test controls. */
function world(
  count: number,
  embed: (inputs: number, context: RequestContext) => Promise<void> = async () => undefined,
) {
  const left = Array.from({ length: count }, (_, id) => ({ id, text: `text ${id}` }));
  const files = [7];
  const done: number[] = [];
  const warnings: string[] = [];
  const read: number[] = [];
  const retries: (() => void)[] = [];
  const faults: { next?: Error } = {};
  const idle = new Latch();
  let work: () => void = () => undefined;
  const next = async (): Promise<IndexStep | undefined> => {
    if (faults.next) throw faults.next;
    const [file] = files;
    if (file !== undefined) return { type: 'read', collection: 'c', file, name: 'a' };
    if (left.length === 0) idle.release();
    return left.length === 0 ? undefined : { type: 'embed', collection: 'c', passages: left.slice(0, 8) };
  };
  const store = {
    call: next,
    callWith: async (_tools: object, method: string, _collection: string, own: number | readonly number[]) => {
      if (method === 'read') read.push(...files.splice(0));
      const ids = [own].flat();
      if (method === 'setVectors') done.push(...ids);
      if (method === 'setVectors') left.splice(0, ids.length);
    },
    watch: (onWork: () => void, signal: AbortSignal) => {
      work = onWork;
      onWork();
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  };
  const service = {
    name: 'model',
    embed: async ({ inputs }: { readonly inputs: readonly unknown[] }, context: RequestContext) => {
      await embed(inputs.length, context);
      return {
        vectors: inputs.map(() => [new Float32Array([1])]),
        tokens: [],
        truncated: [],
        pooling: 'mean',
        loadMs: 0,
      };
    },
  } as unknown as EmbeddingService;
  const indexer = new Indexer({
    store: store as never,
    embedding: () => service,
    turn: async () => () => undefined,
    startTimer: (_, passed) => {
      retries.push(passed);
      return { cancel: () => undefined, restart: () => undefined };
    },
    warn: (sentence) => warnings.push(sentence),
  });
  return { indexer, left, done, read, warnings, retries, faults, idle, work: () => work() };
}

test('Indexer: reads files, embeds their passages, and waits for more', async () => {
  const { indexer, done, read, left, idle, work } = world(20);
  const first = idle.wait();
  indexer.start();
  await first;
  expect(read).toEqual([7]);
  expect(done).toHaveLength(20);
  const second = idle.wait();
  left.push({ id: 20, text: 'more' });
  work();
  await second;
  expect(done).toHaveLength(21);
  await indexer.stop();
});

test('Indexer: a batch that gave way to a request is done again', async () => {
  let tries = 0;
  const { indexer, done, warnings, idle } = world(8, async (_, { giveWay, signal }) => {
    tries += 1;
    if (tries > 1) return;
    giveWay?.();
    signal.throwIfAborted();
  });
  const end = idle.wait();
  indexer.start();
  await end;
  expect([tries, done.length, warnings]).toEqual([2, 8, []]);
  await indexer.stop();
});

test('Indexer: a full disk is reported once, and work goes on when there is room', async () => {
  const { indexer, done, warnings, retries, faults, idle } = world(8);
  faults.next = new AppError('disk-full', {});
  indexer.start();
  await expect.poll(() => retries.length).toBe(1);
  retries.shift()?.();
  await expect.poll(() => retries.length).toBe(1);
  expect(warnings).toEqual(['Documents are not indexed: the disk is full. It is tried again.']);
  delete faults.next;
  const end = idle.wait();
  retries.shift()?.();
  await end;
  expect(done).toHaveLength(8);
  await indexer.stop();
});

test('Indexer: stops while it waits', async () => {
  const { indexer, retries, faults } = world(1);
  faults.next = new Error('down');
  indexer.start();
  await expect.poll(() => retries.length).toBe(1);
  await indexer.stop();
});
