import { inSlices, type Sliced } from '../../core/slices.ts';
import type { RenderedTemplate, TemplateInput } from '../template.ts';
import { type FromThread, messagesAtOnce, type ToThread } from './messages.ts';
import type { RenderElsewhere } from './prompt-template.ts';

export interface RenderThread {
  post(message: ToThread): void;
  /** Once: with its answer, or with undefined when the thread is gone without one. */
  readonly answer: Promise<FromThread | undefined>;
  end(): void;
}

export interface ThreadParts {
  readonly start: () => RenderThread;
  /** Calls back after so many milliseconds, unless it is cancelled. */
  readonly startTimer: (milliseconds: number, fire: () => void) => { cancel(): void };
  readonly most?: number;
  readonly milliseconds?: number;
}

/** Longer than the limits of the template in the thread, which end it with better words. */
const patienceMs = 40_000;

/**
 * Renders in threads, a fresh one each time: it can be ended in whatever it does, and its memory goes with it. Who comes
 * when all are busy waits for the first that is free.
 */
export function threadRenderer(source: string, parts: ThreadParts): RenderElsewhere {
  const { start, startTimer, most = 2, milliseconds = patienceMs } = parts;
  const waiting: (() => void)[] = [];
  let running = 0;

  async function enter(): Promise<void> {
    if (running < most) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** The place is handed on: nobody can come in between. */
  function leave(): void {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }

  async function renderIn(thread: RenderThread, input: TemplateInput, signal?: AbortSignal): Promise<RenderedTemplate> {
    let late = false;
    const timer = startTimer(milliseconds, () => {
      late = true;
      thread.end();
    });
    const gone = (): void => thread.end();
    signal?.addEventListener('abort', gone, { once: true });
    try {
      await inSlices(postConversation(thread, source, input), signal ? { signal } : {});
      const answer = await thread.answer;
      signal?.throwIfAborted();
      if (answer?.type === 'rendered') return answer.rendered;
      const ended = late ? 'the template does not come to an end' : 'the template needs too much memory';
      throw new Error(answer?.reason ?? ended);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', gone);
      thread.end();
    }
  }

  return async (input, signal) => {
    await enter();
    try {
      signal?.throwIfAborted();
      return await renderIn(start(), input, signal);
    } finally {
      leave();
    }
  };
}

function* postConversation(thread: RenderThread, source: string, input: TemplateInput): Sliced<void> {
  const { messages, media } = input.conversation;
  for (let from = 0; from < messages.length; from += messagesAtOnce) {
    thread.post({ type: 'messages', json: JSON.stringify(messages.slice(from, from + messagesAtOnce)) });
    yield;
  }
  // Only the kinds of media matter to a template, and the media themselves may be large.
  const kinds = media.map(({ kind }) => ({ kind, base64: '' }));
  const { continueAssistantTurn, serverVariables, requestVariables, reasoningEffort, now, tokens } = input;
  const rest = { continueAssistantTurn, serverVariables, requestVariables, reasoningEffort, now };
  const conversation = { ...input.conversation, messages: [], media: kinds };
  thread.post({ type: 'render', source, input: { ...rest, ...(tokens ? { tokens } : {}), conversation } });
}
