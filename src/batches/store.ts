import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type {
  Batch,
  BatchCounts,
  BatchRequest,
  BatchResult,
  BatchSender,
  BatchUsage,
  NewBatch,
} from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import { OrderedIds, orderedIdPattern } from '../core/ids.ts';
import { hasMembers, isObject } from '../core/json.ts';
import type { Clock } from '../core/timers.ts';
import { AtomicFile, versionedJson } from '../store/atomic-file.ts';
import { linesOf } from './lines.ts';

/** A batch as it is stored. */
export interface StoredBatch extends Batch {
  readonly api: NewBatch['api'];
  readonly sender: BatchSender;
  readonly outputSeconds?: number;
  /** The ids of its output files. */
  readonly planned?: { readonly output: string; readonly errors: string };
}

export const noUsage: BatchUsage = { input: 0, cached: 0, output: 0, reasoning: 0 };

const batchIds = new RegExp(`^(?:msg)?batch_${orderedIdPattern}$`);
/** Lines were written by this program. */
const maxLineBytes = 1024 * 2 ** 20;

interface BatchStoreOptions extends Pick<Clock, 'now'> {
  readonly folder: string;
  readonly warn: (sentence: string) => void;
}

/**
 * The batches of one owner, a folder for each: `batch.json` is its state, `requests.jsonl` has its requests, and `results.jsonl` grows by a
 * line for each reply. A line that a crash has cut off is removed, and its request runs again.
 */
export class BatchStore {
  readonly #ids: OrderedIds;
  readonly #files = new Map<string, AtomicFile<StoredBatch | undefined>>();

  constructor(private readonly options: BatchStoreOptions) {
    this.#ids = new OrderedIds(options.now);
  }

  /** The newest first. */
  async list(): Promise<readonly StoredBatch[]> {
    const names = await readdir(this.options.folder).catch(() => []);
    const ids = names.filter((name) => batchIds.test(name)).sort(newestFirst);
    const batches = await Promise.all(ids.map((id) => this.find(id)));
    return batches.filter((batch) => batch !== undefined);
  }

  async find(id: string): Promise<StoredBatch | undefined> {
    return batchIds.test(id) ? this.#file(id).read() : undefined;
  }

  async get(id: string): Promise<StoredBatch> {
    const batch = await this.find(id);
    if (!batch) throw new AppError('not-stored', { what: 'batch', id });
    return batch;
  }

  newId(api: NewBatch['api']): string {
    return this.#ids.next(api === 'messages' ? 'msgbatch_' : 'batch_');
  }

  async makeFolder(id: string): Promise<void> {
    await mkdir(this.folderOf(id), { recursive: true, mode: 0o700 });
  }

  create(batch: StoredBatch): Promise<StoredBatch> {
    return this.change(batch.id, () => batch);
  }

  /** Resolves when the new state is on the disk. */
  async change(id: string, next: (batch: StoredBatch) => StoredBatch): Promise<StoredBatch> {
    const changed = await this.#file(id).change((present) => next(present as StoredBatch));
    return changed as StoredBatch;
  }

  async delete(id: string): Promise<void> {
    this.#files.delete(id);
    await rm(this.folderOf(id), { recursive: true, force: true });
  }

  /** Requests and results are no longer needed. */
  async deleteContent(id: string): Promise<void> {
    for (const path of [this.#requestsPath(id), this.#resultsPath(id)]) await rm(path, { force: true });
  }

  /** Of requests and results. */
  async bytes(): Promise<number> {
    let sum = 0;
    for (const { id } of await this.list())
      for (const path of [this.#requestsPath(id), this.#resultsPath(id)])
        sum += (await stat(path).catch(() => ({ size: 0 }))).size;
    return sum;
  }

  folderOf(id: string): string {
    return join(this.options.folder, id);
  }

  /** Writes all requests atomically: either none or all of them are stored. */
  async writeRequests<Result>(
    id: string,
    write: (add: (request: BatchRequest) => Promise<void>) => Promise<Result>,
  ): Promise<Result> {
    const path = this.#requestsPath(id);
    const part = `${path}.part`;
    const stream = createWriteStream(part, { mode: 0o600 });
    const done = finished(stream);
    done.catch(() => undefined);
    try {
      const result = await write(async ({ customId, body }) => {
        const line = `${JSON.stringify({ custom_id: customId, body })}\n`;
        if (!stream.write(line)) await Promise.race([once(stream, 'drain'), done]);
      });
      stream.end();
      await done;
      await rename(part, path);
      return result;
    } catch (error) {
      stream.destroy();
      await rm(part, { force: true });
      throw error;
    }
  }

  async *requests(id: string): AsyncGenerator<BatchRequest> {
    for await (const { custom_id: customId, body } of objectsIn(this.#requestsPath(id)))
      if (typeof customId === 'string' && isObject(body)) yield { customId, body };
  }

  async *replies(id: string): AsyncGenerator<BatchResult & { readonly type: 'reply' }> {
    for await (const { custom_id: customId, status, request_id: requestId, body } of objectsIn(this.#resultsPath(id)))
      yield { type: 'reply', customId: String(customId), status: Number(status), requestId: String(requestId), body };
  }

  /** Removes a last line that was cut off, so that others can follow. */
  async repairResults(id: string): Promise<void> {
    const path = this.#resultsPath(id);
    const handle = await open(path, 'r').catch(() => undefined);
    if (!handle) return;
    try {
      const { size } = await handle.stat();
      const step = 64 * 1024;
      for (let end = size; end > 0; end -= step) {
        const start = Math.max(0, end - step);
        const { buffer } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
        const newline = buffer.lastIndexOf(0x0a);
        if (newline === -1 && start > 0) continue;
        if (start + newline + 1 < size) await truncate(path, start + newline + 1);
        return;
      }
    } finally {
      await handle.close();
    }
  }

  async appendReply(id: string, { customId, status, requestId, body }: BatchResult & { readonly type: 'reply' }) {
    const handle = await open(this.#resultsPath(id), 'a', 0o600);
    try {
      await handle.appendFile(`${JSON.stringify({ custom_id: customId, status, request_id: requestId, body })}\n`);
    } finally {
      await handle.close();
    }
  }

  #requestsPath(id: string): string {
    return join(this.folderOf(id), 'requests.jsonl');
  }

  #resultsPath(id: string): string {
    return join(this.folderOf(id), 'results.jsonl');
  }

  #file(id: string): AtomicFile<StoredBatch | undefined> {
    const { warn, now } = this.options;
    const known =
      this.#files.get(id) ??
      new AtomicFile<StoredBatch | undefined>({
        path: join(this.folderOf(id), 'batch.json'),
        empty: undefined,
        maxBytes: 16 * 2 ** 20,
        warn,
        now,
        ...versionedJson<StoredBatch | undefined>(batchIn, (batch) => batch),
      });
    this.#files.set(id, known);
    return known;
  }
}

async function* objectsIn(path: string): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const isThere = await stat(path).catch(() => undefined);
  if (!isThere) return;
  for await (const line of linesOf(createReadStream(path), maxLineBytes)) {
    if ('tooLong' in line) continue;
    const value: unknown = JSON.parse(line.bytes.toString());
    if (isObject(value)) yield value;
  }
}

function batchIn(content: Readonly<Record<string, unknown>>): StoredBatch {
  const { file_version: _, ...batch } = content;
  const texts = { id: 'string', status: 'string', endpoint: 'string', api: 'string' } as const;
  const others = {
    createdAt: 'number',
    expiresAt: 'number',
    sender: 'object',
    counts: 'object',
    usage: 'object',
  } as const;
  if (!hasMembers(batch, { ...texts, ...others })) throw new Error('it is incomplete');
  return batch as unknown as StoredBatch;
}

function newestFirst(one: string, other: string): number {
  const order = (id: string): string => id.slice(id.indexOf('_'));
  return order(one) < order(other) ? 1 : -1;
}

/** Counts and usage with one more reply. */
export function counted(
  { counts, usage }: { readonly counts: BatchCounts; readonly usage: BatchUsage },
  { status, body }: Pick<BatchResult & { readonly type: 'reply' }, 'status' | 'body'>,
) {
  const well = status < 400;
  const field = well ? 'succeeded' : 'failed';
  return { counts: { ...counts, [field]: counts[field] + 1 }, usage: well ? summed(usage, body) : usage };
}

/** In the words of chat completions, and in those of Responses and Messages. */
function summed(usage: BatchUsage, body: unknown): BatchUsage {
  const own = isObject(body) && isObject(body.usage) ? body.usage : {};
  const inside = (name: string, field: string): number => {
    const details = own[name];
    return isObject(details) && typeof details[field] === 'number' ? details[field] : 0;
  };
  const plain = (name: string): number => (typeof own[name] === 'number' ? own[name] : 0);
  return {
    input: usage.input + plain('prompt_tokens') + plain('input_tokens'),
    cached:
      usage.cached +
      inside('prompt_tokens_details', 'cached_tokens') +
      inside('input_tokens_details', 'cached_tokens') +
      plain('cache_read_input_tokens'),
    output: usage.output + plain('completion_tokens') + plain('output_tokens'),
    reasoning:
      usage.reasoning +
      inside('completion_tokens_details', 'reasoning_tokens') +
      inside('output_tokens_details', 'reasoning_tokens'),
  };
}
