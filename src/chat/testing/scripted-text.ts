import type { GenerationEvent } from '../../core/events.ts';
import { defaultControls, type GenerationRequest } from '../../core/request.ts';
import type { RequestContext } from '../../core/request-context.ts';
import { emptyCacheReport, type Reservation, type TextService } from '../../core/text-service.ts';
import { type Tool, text } from '../messages.ts';
import type { ChatRequest } from '../request.ts';

/** Test double of a text service: scripted replies, recorded requests. */
export function scriptedText(replies: readonly (string | readonly GenerationEvent[])[]) {
  const asked: GenerationRequest[] = [];
  const contexts: RequestContext[] = [];
  let released = 0;
  let passed = 0;
  let rested = 0;
  const stop = new AbortController();
  const reservation: Reservation = {
    generate(request) {
      const reply = replies[asked.length] ?? '';
      asked.push(request);
      return play(typeof reply === 'string' ? spoken(reply) : reply);
    },
    pass: () => {
      passed += 1;
    },
    rest: () => {
      rested += 1;
    },
    stopped: stop.signal,
    release: () => {
      released += 1;
    },
  };
  const service: TextService = {
    generate: (request) => reservation.generate(request),
    reserve: (context) => {
      contexts.push(context);
      return reservation;
    },
    room: () => 0,
    tokenize: async (words) => words.split(/\s+/).map((_, index) => index),
    detokenize: async () => '',
    pieces: async () => [],
    check: () => '',
    finished: () => undefined,
    queuePosition: () => undefined,
    exclusively: (_, work) => work(),
    abort: () => 'refused',
    lastLogprobs: () => undefined,
    state: () => ({ type: 'none' }),
    contextSize: () => 2048,
    performance: () => {
      throw new Error('not part of the script');
    },
    cacheReport: async () => emptyCacheReport,
    states: () => undefined,
  };
  return {
    service,
    asked,
    contexts,
    released: () => released,
    passed: () => passed,
    rested: () => rested,
    stop,
  };
}

/** A reply in pieces of three characters, as a model might write it. */
export function spoken(reply: string): GenerationEvent[] {
  const pieces = reply.match(/[\s\S]{1,3}/g) ?? [];
  return [
    { type: 'start', promptTokens: 10, cachedTokens: 4, maxTokens: 50, seed: 1 },
    ...pieces.map((piece): GenerationEvent => ({ type: 'text-delta', text: piece })),
    {
      type: 'finish',
      reason: 'stop',
      cause: 'end-token',
      usage: { promptTokens: 10, cachedTokens: 4, completionTokens: pieces.length },
      timings: { initMs: 1, promptMs: 2, generationMs: 3, processedTokens: 6 },
    },
  ];
}

async function* play(events: readonly GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

export const weather: Tool = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

export const time: Tool = {
  name: 'get_time',
  parameters: { type: 'object', properties: { zone: { type: 'string' } } },
};

export function chatRequest(
  words: string,
  changes: Partial<ChatRequest> & { readonly tools?: readonly Tool[] } = {},
): ChatRequest {
  const { tools = [], ...rest } = changes;
  return {
    conversation: { messages: [{ role: 'user', content: text(words) }], media: [], tools },
    continueAssistantTurn: true,
    toolChoice: { type: 'auto' },
    parallelToolCalls: true,
    output: { type: 'text' },
    reasoning: { effort: undefined, separate: true },
    templateVariables: {},
    memory: '',
    controls: { ...defaultControls, maxTokens: 50, overflow: 'refuse' },
    ...rest,
  };
}
