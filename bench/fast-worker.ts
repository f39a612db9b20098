import { warmUpTokens } from './warm-up.ts';
import { finishOf, send, serveWithoutModel, startOf } from './worker-without-model.mjs';

/**
 * Speaks the worker's part without a model: one message per token. It computes nothing but keeps its processor busy for
 * `BENCH_INTERVAL_US` between two tokens, as a model would. What the server spends on it is what it spends on any worker.
 */
const paceMs = Number(process.env.BENCH_INTERVAL_US ?? 0) / 1000;
const words = [' the', ' quick', ' brown', ' fox', ' said', ' "no"', '.', '\n', ' naïve', ' and'];

serveWithoutModel({
  description: 'no model',
  generate: ({ id, request }) => generate(id, request.maxTokens),
});

function generate(id: number, maxTokens: number): void {
  const intervalMs = maxTokens >= warmUpTokens ? 0 : paceMs;
  let done = 0;
  const step = (): void => {
    const until = performance.now() + intervalMs;
    while (performance.now() < until);
    send({ type: 'step', pieces: [{ type: 'text-delta', id, text: words[done % words.length] as string }] });
    done += 1;
    if (done >= maxTokens) send({ type: 'step', pieces: [finishOf(id, maxTokens)] });
    else setImmediate(step);
  };
  send({ type: 'step', pieces: [startOf(id, maxTokens)] });
  step();
}
