import { expect } from 'vitest';
import { talk } from '../../../bench/spoken.ts';
import { wavFile } from '../../../src/audio/testing/waves.ts';
import { nativeClient } from '../../live/client.ts';
import type { StartServer } from '../../live/server.ts';
import { askEverywhere, failedWith, sentenceOf } from '../dialects.ts';
import { type Fault, faultGroup } from '../fault.ts';
import { atWork, cannotLimit, limit, virtualBytes, workerOf } from '../processes.ts';
import { recordingForm, serve } from '../services.ts';
import { type StoringSubject, storingSubject } from '../subject.ts';
import { until } from '../until.ts';

/** Long work of one kind, in its dialects. Each ends with an error after its engine is lost. */
interface Work {
  readonly kind: 'text' | 'embedding' | 'image' | 'speech' | 'transcription';
  readonly engine: string;
  /** Starts work that takes seconds, different each time: a request that ends an engine twice is refused. */
  readonly start: (base: string, mark: string) => Promise<readonly Running[]>;
}

interface Running {
  readonly what: string;
  /** Resolves with the sentence of the error; rejects if it was answered. */
  readonly failed: Promise<{ readonly status: number; readonly sentence: string }>;
}

type Sentence = (body: unknown) => string;

/** A request whose error has this form. `cut` if its head may be sent already, so that only its end tells. */
function running(
  base: string,
  path: string,
  body: object | FormData,
  sentence: Sentence,
  { mayBeCut = false } = {},
): Running {
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  const failed = (async () => {
    const reply = await fetch(`${base}${path}`, { method: 'POST', body: sent });
    const text = await reply.text().catch((error: Error) => {
      if (mayBeCut && reply.status === 200) return `cut: ${error.message}`;
      throw error;
    });
    if (mayBeCut && text.startsWith('cut: ')) return { status: 500, sentence: lostSentence };
    expect(reply.status, `${path}: ${text.slice(0, 200)}`).toBeGreaterThanOrEqual(400);
    return { status: reply.status, sentence: sentence(JSON.parse(text)) };
  })();
  failed.catch(() => {});
  return { what: path, failed };
}

/** The text of a connection that was cut after the head of the reply. */
const lostSentence = 'The engine stopped in the middle of this request';

let speech: Promise<Buffer> | undefined;

const works: readonly Work[] = [
  {
    kind: 'text',
    engine: 'llama',
    start: async (base, mark) => {
      const running = askEverywhere(base, `Tell me a story about ${mark}.`);
      await Promise.all(running.filter(({ stream }) => stream).map(({ begun }) => begun));
      await nativeClient(base).performanceWhere(({ queue }) => queue === 0);
      return running.map((one) => {
        const failed = failedWith(one);
        failed.catch(() => {});
        return { what: `${one.dialect.name}, ${one.stream ? 'streamed' : 'whole'}`, failed };
      });
    },
  },
  {
    kind: 'embedding',
    engine: 'embedding',
    start: async (base, mark) => {
      const input = Array.from({ length: 400 }, (_, line) => `${mark} line ${line}. `.repeat(20));
      return [
        running(base, '/v1/embeddings', { input }, sentenceOf.openai),
        running(base, '/api/embed', { model: 'any', input: [...input, 'ollama'] }, sentenceOf.ollama),
      ];
    },
  },
  {
    kind: 'image',
    engine: 'image',
    start: async (base, prompt) => [
      running(
        base,
        '/sdapi/v1/txt2img',
        { prompt, width: 64, height: 64, steps: 150, batch_size: 4 },
        sentenceOf.native,
      ),
    ],
  },
  {
    kind: 'speech',
    engine: 'speech',
    start: async (base, mark) => {
      const input = `This is a long sentence about ${mark}, one of many more to come. `.repeat(120);
      return [running(base, '/v1/audio/speech', { input }, sentenceOf.openai, { mayBeCut: true })];
    },
  },
  {
    kind: 'transcription',
    engine: 'transcription',
    start: async (base, mark) => {
      speech ??= talk(120).then((samples) => wavFile([samples], 16_000));
      const form = recordingForm(await speech, { prompt: mark });
      return [running(base, '/v1/audio/transcriptions', form, sentenceOf.openai)];
    },
  },
];

/** All of them fail with a sentence that says what happened. */
async function fail(runnings: readonly Running[], message: RegExp): Promise<void> {
  for (const { what, failed } of runnings) {
    const { status, sentence } = await failed;
    expect(sentence, what).toMatch(message);
    expect([200, 500, 503], what).toContain(status);
  }
}

const lost = /stopped in the middle of this request/;
const silent = /did not answer any more|stopped in the middle/;

/** Loads the engine and returns its process. */
async function loaded({ server }: StoringSubject, { kind, engine }: Work): Promise<number> {
  await until(() => serve(server.base, kind));
  return workerOf(server, engine);
}

const faultsOf = (work: Work): readonly Fault<StoringSubject>[] => {
  const { kind, engine, start } = work;
  return [
    {
      name: `${kind} engine killed while idle`,
      kind,
      inject: async (subject) => {
        process.kill(await loaded(subject, work), 'SIGKILL');
      },
    },
    {
      name: `${kind} engine killed during work`,
      kind,
      short: kind === 'text',
      inject: async (subject) => {
        const worker = await loaded(subject, work);
        const running = await start(subject.server.base, `a killed ${kind} engine`);
        await atWork(worker);
        process.kill(worker, 'SIGKILL');
        await fail(running, lost);
      },
    },
    {
      name: `${kind} engine killed while it is loaded again`,
      kind,
      inject: async (subject) => {
        const worker = await loaded(subject, work);
        process.kill(worker, 'SIGKILL');
        process.kill(await workerOf(subject.server, engine, worker), 'SIGKILL');
      },
    },
    {
      name: `${kind} engine stopped (SIGSTOP) during work`,
      kind,
      inject: async (subject) => {
        const worker = await loaded(subject, work);
        const running = await start(subject.server.base, `a stopped ${kind} engine`);
        await atWork(worker);
        process.kill(worker, 'SIGSTOP');
        await fail(running, silent);
      },
    },
    {
      name: `${kind} engine out of memory during work`,
      kind,
      cannot: cannotLimit,
      inject: async (subject) => {
        const worker = await loaded(subject, work);
        limit(worker, `--as=${virtualBytes(worker)}:`);
        // It may do with what it has, report a failure, or end.
        const sentence = await serve(subject.server.base, kind).then(() => 'It was served.', String);
        expect(sentence).toMatch(/It was served|engine (could not do this|stopped)/);
        limit(await workerOf(subject.server, engine), '--as=unlimited:');
      },
    },
    {
      name: `${kind} engine out of memory while it is loaded`,
      kind,
      cannot: cannotLimit,
      inject: async (subject) => {
        const worker = await loaded(subject, work);
        process.kill(worker, 'SIGKILL');
        const next = await workerOf(subject.server, engine, worker);
        limit(next, `--as=${virtualBytes(next) + 2 ** 20}:`);
      },
    },
  ];
};

export const workers = (start: StartServer) =>
  faultGroup<StoringSubject>({
    name: 'engine processes',
    open: () =>
      storingSubject(start, {
        flags: ['--parallelrequests', '8', '--batchall', '--contextsize', '8192', '--multiuser', '40'],
      }),
    rows: works.flatMap(faultsOf),
  });
