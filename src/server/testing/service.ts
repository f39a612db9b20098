import type { GenerationRequest } from '../../core/request.ts';
import { fixedTextSource, type TextService } from '../../core/text-service.ts';
import { type FakeEngine, fakeEngine, type Script } from '../../engines/testing/fake-engine.ts';
import { Queue } from '../../queue/queue.ts';
import { RequestQueue } from '../../queue/request-queue.ts';
import { textService } from '../../queue/text.ts';

export interface FakeService {
  readonly text: TextService;
  readonly engine: FakeEngine;
  readonly asked: GenerationRequest[];
}

/** A text service with a scripted engine; `pace` is called before each chunk. */
export function fakeService(
  script: (request: GenerationRequest) => Script,
  { pace = setImmediate, contextSize = 2048 }: { pace?: (next: () => void) => unknown; contextSize?: number } = {},
): FakeService {
  const asked: GenerationRequest[] = [];
  const engine = fakeEngine({
    script: (request) => {
      asked.push(request);
      return script(request);
    },
    pace: (next) => void pace(next),
    contextSize,
  });
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  return {
    text: textService({
      source: fixedTextSource(engine),
      requestQueue: new RequestQueue(queue, () => 0),
      randomSeed: () => 1,
    }),
    engine,
    asked,
  };
}
