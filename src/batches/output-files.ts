import type { BatchResult } from '../core/batches.ts';
import type { BatchStore } from './store.ts';

/** What the output and error files of the OpenAI API say of a request that was not run. */
const reasons = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  cancelled: { code: 'batch_cancelled', message: 'This request was not executed before the batch was cancelled.' },
} as const;

/** A result for each request: the replies, then what was not run. */
export async function* resultsOf(
  store: BatchStore,
  id: string,
  missing: 'cancelled' | 'expired',
): AsyncGenerator<BatchResult> {
  const done = new Set<string>();
  for await (const reply of store.replies(id)) {
    done.add(reply.customId);
    yield reply;
  }
  for await (const { customId } of store.requests(id)) if (!done.has(customId)) yield { customId, type: missing };
}

/** The lines of the file of replies, or of that of errors. The number of a line is that of its result among all. */
export async function* fileLines(
  id: string,
  results: AsyncIterable<BatchResult>,
  file: 'output' | 'errors',
): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const result of results) {
    number += 1;
    const isReply = result.type === 'reply' && result.status < 400;
    if (isReply === (file === 'output')) yield line(id, number, result);
  }
}

function line(id: string, number: number, result: BatchResult): Uint8Array {
  const head = { id: `batch_req_${id.slice('batch_'.length)}_${number}`, custom_id: result.customId };
  const response =
    result.type === 'reply'
      ? { response: { status_code: result.status, request_id: result.requestId, body: result.body }, error: null }
      : { response: null, error: reasons[result.type] };
  return Buffer.from(`${JSON.stringify({ ...head, ...response })}\n`);
}
