import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { Reservation, TextService } from '../core/text-service.ts';
import { handTimer } from '../http/testing/world.ts';
import { chatAdapter } from './adapters/adapter.ts';
import { type Message, text } from './messages.ts';
import { chatService } from './service.ts';
import type { SummaryModel } from './summary-model.ts';
import { chatRequest, scriptedText } from './testing/scripted-text.ts';

/** Each word is a token. */
const words = (count: number, word: string): string => Array.from({ length: count }, () => word).join(' ');
const turn = (question: string, answer: string): Message[] => [
  { role: 'user', content: text(question) },
  { role: 'assistant', content: text(answer) },
];
const long: readonly Message[] = [
  ...turn('first', words(350, 'alpha')),
  ...turn('second', words(350, 'beta')),
  ...turn('third', words(200, 'gamma')),
  { role: 'user', content: text('last') },
];

function service(script: TextService, contextSize: number, summaryModel?: SummaryModel) {
  const marks = { userStart: ' <user> ', assistantStart: ' <assistant> ', assistantGen: ' <assistant> ' };
  return chatService({
    text: { ...script, contextSize: () => contextSize },
    tags: { ...chatAdapter({}).tags, ...marks, userEnd: '', assistantEnd: '' },
    tagsWithoutThinking: undefined,
    templateText: undefined,
    template: async () => undefined,
    templateUse: { chats: false, tools: false, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => 'call_1',
    warn: () => undefined,
    summaryModel,
  });
}

interface Options {
  readonly select?: SummaryModel['select'];
  readonly contextSize?: number;
  /** What the text service of the other model does instead. */
  readonly other?: Partial<TextService>;
}

function world(replies: { readonly own: readonly string[]; readonly other: readonly string[] }, options: Options = {}) {
  const own = scriptedText(replies.own);
  const other = scriptedText(replies.other);
  const { contextSize = 1000 } = options;
  const log: string[] = [];
  const contexts: RequestContext[] = [];
  const script: TextService = {
    ...other.service,
    reserve: (context, traits) => {
      log.push(`summary, own model rested ${own.rested()} times`);
      contexts.push(context);
      context.watch?.generationBegun?.({} as GenerationRequest, contextSize, 1);
      return other.service.reserve(context, traits);
    },
    ...options.other,
  };
  const timer = handTimer();
  const chosen = { chat: service(script, contextSize), contextSize, release: () => void log.push('released') };
  const chat = service(own.service, 1000, {
    name: 'small',
    select: options.select ?? (async () => chosen),
    timeoutSeconds: 7,
    startTimer: timer.startTimer,
  });
  const abort = new AbortController();
  const used: unknown[] = [];
  async function ask(compaction?: { readonly trigger: number; readonly pause: boolean }) {
    const base = chatRequest('', { conversation: { messages: long, media: [], tools: [] } });
    const controls = { ...base.controls, maxTokens: 100, overflow: 'compact' as const };
    const events: GenerationEvent[] = [];
    const watch = { used: (counts: unknown) => void used.push(counts) };
    const context: RequestContext = { genkey: 'k', client: 'me', signal: abort.signal, watch };
    for await (const event of chat.reply({ ...base, controls, ...(compaction && { compaction }) }, context))
      events.push(event);
    const start = events.find((event) => event.type === 'start');
    const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.text] : []));
    return { events, warnings, compaction: start?.compaction };
  }
  const prompts = ({ asked }: typeof own) => asked.map(({ prompt }) => prompt);
  return {
    ask,
    log,
    contexts,
    timer,
    abort,
    used,
    own: () => prompts(own),
    other: () => prompts(other),
    asked: other.asked,
  };
}

const fallback = (reason: string) =>
  `small could not write the summary (${reason}), so the model of the chat wrote it.`;

describe('--compactmodel', () => {
  test('the other model summarises a transcript; the model of the chat gives up its turn meanwhile and answers', async () => {
    const { ask, own, other, log, contexts, asked } = world({
      own: ['Gamma.'],
      other: ['They spoke of letters.'],
    });
    const { compaction, warnings } = await ask();
    expect(other()).toHaveLength(1);
    expect(other()[0]).toMatch(/<conversation>\n\[User\]: first\n\[Assistant\]: alpha[\s\S]*Summarise/);
    expect(asked[0]).toMatchObject({ maxTokens: 125, overflow: 'refuse', stop: expect.any(Array) });
    expect(own()).toHaveLength(1);
    expect(own()[0]).toContain('They spoke of letters.');
    expect(compaction?.fallback).toBeUndefined();
    expect(warnings).toEqual(['The conversation was compacted: 3 messages summarised.']);
    expect(log).toEqual(['summary, own model rested 1 times', 'released']);
    expect(contexts[0]).toMatchObject({ client: 'me', genkey: '', admitted: true });
  });

  test('its context decides how many pieces there are', async () => {
    const { ask, other, own } = world(
      { own: ['Gamma.'], other: Array.from({ length: 9 }, (_, index) => `Part ${index}.`) },
      { contextSize: 400 },
    );
    await ask();
    expect(other().length).toBeGreaterThan(2);
    for (const prompt of other()) expect(prompt.split(/\s+/).length).toBeLessThan(350);
    expect(other()[1]).toContain('Part 0.');
    expect(own()[0]).toContain(`Part ${other().length - 1}.`);
  });

  test('also for a client that asks for its summary', async () => {
    const { ask, own } = world({ own: [], other: ['All of it.'] }, { contextSize: 2000 });
    expect((await ask({ trigger: 0, pause: true })).compaction?.summary).toMatch(/^All of it\./);
    expect(own()).toEqual([]);
  });

  test('the model of the chat needs no other', async () => {
    const { ask, own } = world({ own: ['Summary.', 'Gamma.'], other: [] }, { select: async () => undefined });
    expect((await ask()).warnings).toEqual(['The conversation was compacted: 3 messages summarised.']);
    expect(own()).toHaveLength(2);
  });

  const failing: Readonly<Record<string, readonly [Options & { readonly other?: Partial<TextService> }, string]>> = {
    'that cannot be loaded': [
      {
        select: () => Promise.reject(new AppError('model-load-failed', { model: 'small', reason: 'the file is gone' })),
      },
      'the file is gone',
    ],
    'whose queue is closed': [
      {
        other: {
          reserve: () => {
            throw new AppError('stopping', {});
          },
        },
      },
      'the model could not write a summary (The server is stopping. Please try again when it is back)',
    ],
    'that cannot count tokens': [
      {
        other: {
          tokenize: () => Promise.reject(new AppError('model-load-failed', { model: 'small', reason: 'no memory' })),
        },
      },
      'no memory',
    ],
    'that writes nothing': [{}, 'the model wrote an empty summary'],
  };
  test.each(Object.entries(failing))(
    'a model %s: that of the chat writes the summary, and the reply says so',
    async (_, [options, reason]) => {
      const { ask, own, log } = world({ own: ['Own summary.', 'Gamma.'], other: [''] }, options);
      const { compaction, warnings } = await ask();
      expect(compaction).toMatchObject({
        summary: 'Own summary.',
        fallback: expect.stringContaining('small could not'),
      });
      expect(warnings).toEqual([`The conversation was compacted: 3 messages summarised. ${fallback(reason)}`]);
      expect(own()).toHaveLength(2);
      expect(log.filter((line) => line === 'released')).toHaveLength(options.select ? 0 : 1);
    },
  );

  /** A turn that never comes. */
  const waiting = (): Reservation => ({
    generate: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
    pass: () => undefined,
    rest: () => undefined,
    stopped: new AbortController().signal,
    release: () => undefined,
  });

  test('a model that does not begin in time: that of the chat writes the summary', async () => {
    let reached = () => {};
    const waits = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const reserve = () => {
      reached();
      return waiting();
    };
    const { ask, timer, own, log } = world({ own: ['Own summary.', 'Gamma.'], other: [] }, { other: { reserve } });
    const reply = ask();
    await waits;
    timer.pass(7000);
    expect((await reply).compaction?.fallback).toContain('small');
    expect([own().length, log]).toEqual([2, ['released']]);
  });

  test('a client that leaves while it waits: the reply ends as aborted, without another summary', async () => {
    let reached = () => {};
    const waits = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const reserve = () => {
      reached();
      return waiting();
    };
    const { ask, abort, own, log } = world({ own: ['never'], other: [] }, { other: { reserve } });
    const reply = ask();
    await waits;
    abort.abort();
    expect((await reply).events).toMatchObject([{ type: 'start' }, { type: 'finish', reason: 'aborted' }]);
    expect([own(), log]).toEqual([[], ['released']]);
  });
});
