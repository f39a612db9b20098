import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { ObservedRequest } from '../../core/request-observer.ts';
import { ExchangeRecord, type RecordOptions } from '../exchange-record.ts';

export const chatHead: ObservedRequest = {
  id: 'req_1',
  method: 'POST',
  path: '/base/v1/chat/completions',
  family: 'openai',
  endpoint: '/v1/chat/completions',
  remoteAddress: '10.0.0.7',
  headers: { authorization: 'Bearer secret-key' },
};

export const word: GenerationEvent = { type: 'text-delta', text: 'word ' };

export const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  cause: 'end-token',
  usage: { promptTokens: 10, cachedTokens: 6, completionTokens: 3 },
  timings: { initMs: 1, promptMs: 20, generationMs: 60, processedTokens: 4 },
};

export const storyRequest = { prompt: 'Once', maxTokens: 16, sampling: { temperature: 0.5 } } as GenerationRequest;

/** A request at a time that the test moves; `over` has its record when it is reported. */
export function exchange(head: Partial<ObservedRequest> = {}, options: Partial<RecordOptions> = {}) {
  let now = 5000;
  const over: ExchangeRecord[] = [];
  const record = new ExchangeRecord(
    { ...chatHead, ...head },
    {
      now: () => now,
      time: () => Date.parse('2030-01-02T03:04:05.000Z'),
      over: [(one) => over.push(one)],
      ...options,
    },
  );
  const wait = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { record, over, wait };
}

/** A streamed chat of three tokens: 2 ms of body, 5 of queue, 3 of load, 20 to the first token, 30 to each other one. */
export function chat(head: Partial<ObservedRequest> = {}, options: Partial<RecordOptions> = {}) {
  const { record, over, wait } = exchange(head, options);
  record.authorized('phone');
  wait(2);
  record.received();
  record.replied(200);
  record.queued('text');
  wait(5);
  record.dequeued(5);
  wait(3);
  record.engineReady('text', 'mini', 3, undefined);
  record.generationBegun(storyRequest, 2048, 1);
  wait(20);
  for (let token = 0; token < 3; token += 1) {
    if (token > 0) wait(30);
    record.event(word, 1);
  }
  record.event(finish, 1);
  record.left();
  return { record, over, wait };
}
