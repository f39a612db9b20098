import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerFault } from '../../src/protocols/testing/answer-fault.ts';
import { mutatedRequest } from '../../src/protocols/testing/random-bodies.ts';
import { type Answer, nativeClient, readFrames, saying } from '../live/client.ts';
import { untrainedServers } from '../live/server.ts';
import { type FuzzCase, fuzzCase } from './bodies.ts';

const startServer = untrainedServers();
const requests = 1200;
const atOnce = 8;

test('random requests: every response has a documented form, and the engine survives', async () => {
  const server = await startServer(['--genlimit', '4', '--quiet', '--contextsize', '512', '--multiuser', '32']);
  const client = nativeClient(server.base);
  const worker = server.worker();
  const cases = fc.sample(fuzzCase, { numRuns: requests, seed: Number(process.env.FUZZ_SEED ?? 20_260_101) });
  const failures: object[] = [];
  const statuses = new Map<number, number>();
  let next = 0;

  async function work(): Promise<void> {
    for (let mine = next++; mine < cases.length && failures.length < 5; mine = next++) {
      const sent = cases[mine] as FuzzCase;
      try {
        const answer = await client.call('POST', sent.path, sent.body);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        const wrong = whatIsWrong(sent, answer);
        if (wrong) failures.push({ wrong, ...summary(sent), status: answer.status, answer: answer.text.slice(0, 300) });
      } catch (error) {
        failures.push({ wrong: String((error as Error).cause ?? error), ...summary(sent) });
      }
      if (server.worker() !== worker) failures.push({ wrong: 'the engine died', ...summary(sent) });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));

  expect(failures).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(requests / 3);
  expect(statuses.get(400)).toBeGreaterThan(requests / 20);
  expect(server.worker()).toBe(worker);
  const { text } = await client.generate({ prompt: 'Once upon a time', ...saying('Hi.') });
  expect(text).toBe('Hi.');
});

test('mutated requests: the response has the form of the dialect, and the engine survives', async () => {
  const server = await startServer([
    '--genlimit',
    '4',
    '--quiet',
    '--contextsize',
    '512',
    '--multiuser',
    '32',
    '--jinja',
  ]);
  const client = nativeClient(server.base);
  const worker = server.worker();
  const seed = Number(process.env.FUZZ_SEED ?? 20_260_202);
  const cases = fc.sample(mutatedRequest, { numRuns: 800, seed });
  const failures: object[] = [];
  const work = async (): Promise<void> => {
    for (let sent = cases.pop(); sent && failures.length < 5; sent = cases.pop()) {
      const { status, headers, text } = await client.call('POST', sent.path, sent.body);
      // What the engine itself cannot do is a sentence of its own.
      const engine = status === 500 && text.includes('could not do this');
      const wrong = engine
        ? undefined
        : answerFault(sent.path, { status, type: headers.get('content-type') ?? '', text });
      if (wrong) failures.push({ wrong, ...summary(sent), status, answer: text.slice(0, 300) });
      if (server.worker() !== worker) failures.push({ wrong: 'the engine died', ...summary(sent) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  expect(failures).toEqual([]);
  const { text } = await client.generate({ prompt: 'Once upon a time', ...saying('Hi.') });
  expect(text).toBe('Hi.');
});

/** 503 is none of the expected ones: nothing here fills the queue. */
function whatIsWrong({ path }: FuzzCase, { status, text, headers }: Answer): string | undefined {
  if (![200, 400, 413, 500].includes(status)) return `status ${status}`;
  if (status === 500 && !text.includes('could not do this')) return 'an unexpected failure';
  if (headers.get('content-type') === 'text/event-stream') {
    const frames = readFrames(text);
    const last = frames.at(-1)?.data;
    return last?.finish_reason && frames.every(({ event }) => event === 'message')
      ? undefined
      : 'a stream without an end';
  }
  const body = JSON.parse(text) as Record<string, unknown>;
  if (status === 200) return undefined;
  const { msg } = (body.detail ?? {}) as { msg?: unknown };
  const helper = 'value' in body || 'success' in body;
  return typeof msg === 'string' || helper ? undefined : `${path} refuses in an unknown form`;
}

function summary({ path, body }: FuzzCase): { path: string; body: string } {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('latin1');
  return { path, body: text.slice(0, 1500) };
}
