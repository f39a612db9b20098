import type { FromWorker, ToWorker } from '../src/engines/llama/messages.ts';
import { warmUpTokens } from './warm-up.ts';

/**
 * Speaks the worker's part without a model: one message per token. It computes nothing but keeps its processor busy for
 * `BENCH_INTERVAL_US` between two tokens, as a model would. What the server spends on it is what it spends on any worker.
 */
const paceMs = Number(process.env.BENCH_INTERVAL_US ?? 0) / 1000;
const words = [' the', ' quick', ' brown', ' fox', ' said', ' "no"', '.', '\n', ' naïve', ' and'];

const send = (message: FromWorker): void => {
  process.send?.(message);
};

process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToWorker) => {
  if (message.type === 'load') loaded();
  else if (message.type === 'generate') generate(message.id, message.request.maxTokens);
  else if (message.type !== 'abort') send({ type: 'answer', id: message.id, value: [] });
});

function loaded(): void {
  send({
    type: 'loaded',
    model: {
      contextSize: 2 ** 20,
      trainedContext: 2 ** 20,
      vocabularySize: 32_000,
      vocabularyType: 2,
      embeddingLength: 512,
      parameters: 1,
      sizeBytes: 1,
      description: 'no model',
      chatTemplate: undefined,
      specialTokens: { bos: '<s>', eos: '</s>' },
      layers: 1,
      gpuLayers: 0,
      devices: [],
      cards: [],
      cpuVariant: 'none',
      inputs: { image: false, audio: false },
      notes: [],
    },
  });
}

function generate(id: number, maxTokens: number): void {
  const intervalMs = maxTokens >= warmUpTokens ? 0 : paceMs;
  let done = 0;
  const step = (): void => {
    const until = performance.now() + intervalMs;
    while (performance.now() < until);
    send({ type: 'step', pieces: [{ type: 'text-delta', id, text: words[done % words.length] as string }] });
    done += 1;
    if (done >= maxTokens) finish(id, maxTokens);
    else setImmediate(step);
  };
  send({
    type: 'step',
    pieces: [{ type: 'start', id, promptTokens: 1, cachedTokens: 0, maxTokens, seed: 1, droppedTokens: 0 }],
  });
  step();
}

function finish(id: number, completionTokens: number): void {
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens };
  const timings = { initMs: 0, promptMs: 1, generationMs: 1, processedTokens: 1 };
  send({ type: 'step', pieces: [{ type: 'finish', id, reason: 'length', cause: 'limit', usage, timings }] });
}
