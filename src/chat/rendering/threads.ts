import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { inSlices, type Sliced } from '../../core/slices.ts';
import type { StartTimeout } from '../../core/timers.ts';
import { renderAll } from '../lost-turns.ts';
import type { Conversation } from '../messages.ts';
import type { ChatTemplate, RenderedTemplate, TemplateInput } from '../template.ts';
import { EndlessTemplateError } from '../template-limits.ts';
import type { FromThread, ToThread } from './thread.ts';

/** Renders a conversation of any length. Rejects when the template cannot be run with it, or would omit part of it. */
export type PromptTemplate = (input: TemplateInput, signal?: AbortSignal) => Promise<RenderedTemplate>;

/** Conversations up to this length are rendered faster than a thread starts. */
const maxInlineMessages = 300;
/** This many characters of tool definitions take about as long as a message. */
const toolCharacters = 1000;

/** How long the template takes, in messages. */
function lengthOf({ messages, tools }: Conversation): number {
  return messages.length + (tools.length === 0 ? 0 : Math.floor(JSON.stringify(tools).length / toolCharacters));
}

/** Renders long conversations in a thread, and after a time-out on the main thread all that are as long. */
export function promptTemplate(inline: ChatTemplate, inThread: PromptTemplate): PromptTemplate {
  let maxLength = maxInlineMessages;
  return async (input, signal) => {
    const length = lengthOf(input.conversation);
    if (length > maxLength) return inThread(input, signal);
    try {
      return renderAll(inline, input);
    } catch (error) {
      if (!(error instanceof EndlessTemplateError)) throw error;
      maxLength = Math.min(maxLength, length - 1);
      return inThread(input, signal);
    }
  };
}

export interface RenderThread {
  post(message: ToThread): void;
  /** Resolves once: with the answer, or with undefined if the thread ended without one. */
  readonly answer: Promise<FromThread | undefined>;
  end(): void;
}

interface ThreadOptions {
  readonly start: () => RenderThread;
  readonly startTimer: StartTimeout;
  readonly maxThreads?: number;
}

/** Longer than the time limit of the template in the thread, whose error is more precise. */
const timeoutMs = 40_000;

/** Renders in threads, a new one each time: it can be terminated at any point, and its memory is freed with it. */
export function threadRenderer(source: string, { start, startTimer, maxThreads = 2 }: ThreadOptions): PromptTemplate {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function renderIn(thread: RenderThread, input: TemplateInput, signal?: AbortSignal): Promise<RenderedTemplate> {
    let late = false;
    const timer = startTimer(timeoutMs, () => {
      late = true;
      thread.end();
    });
    const aborted = (): void => thread.end();
    signal?.addEventListener('abort', aborted, { once: true });
    try {
      await inSlices(postConversation(thread, source, input), signal ? { signal } : {});
      const answer = await thread.answer;
      signal?.throwIfAborted();
      if (answer?.type === 'rendered') return answer.rendered;
      const reason = late ? 'the template does not come to an end' : 'the template needs too much memory';
      throw new Error(answer?.reason ?? reason);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', aborted);
      thread.end();
    }
  }

  return async (input, signal) => {
    if (running < maxThreads) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      signal?.throwIfAborted();
      return await renderIn(start(), input, signal);
    } finally {
      // The slot is handed on directly, so that no new request can take it.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

/** Messages are copied in pieces: a long conversation in one message would block this thread while it is copied. */
const messagesAtOnce = 500;

function* postConversation(thread: RenderThread, source: string, input: TemplateInput): Sliced<void> {
  const { messages, media } = input.conversation;
  for (let from = 0; from < messages.length; from += messagesAtOnce) {
    thread.post({ type: 'messages', json: JSON.stringify(messages.slice(from, from + messagesAtOnce)) });
    yield;
  }
  // Templates use only the kinds of media, and the media themselves may be large.
  const kinds = media.map(({ kind }) => ({ kind, base64: '' }));
  const conversation = { ...input.conversation, messages: [], media: kinds };
  const { continueAssistantTurn, serverVariables, requestVariables, reasoningEffort, now } = input;
  const rest = { continueAssistantTurn, serverVariables, requestVariables, reasoningEffort, now };
  thread.post({ type: 'render', source, input: { ...rest, conversation } });
}

/** Enough for the longest conversation that a body can hold, at most a quarter of the machine. */
const memoryMegabytes = Math.min(4096, Math.floor(totalmem() / 4 / 2 ** 20));

/** A thread of this process that runs the given file. */
export function startWorkerThread(entry: URL): RenderThread {
  const worker = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: memoryMegabytes }, stdout: false });
  worker.unref();
  const answer = new Promise<FromThread | undefined>((resolve) => {
    worker.once('message', resolve);
    worker.on('error', (error: NodeJS.ErrnoException) => {
      const reason = `the thread for the template could not be started: ${error.message}`;
      resolve(error.code === 'ERR_WORKER_INIT_FAILED' ? { type: 'failed', reason } : undefined);
    });
    worker.once('exit', () => resolve(undefined));
  });
  return { post: (message) => worker.postMessage(message), answer, end: () => void worker.terminate() };
}
