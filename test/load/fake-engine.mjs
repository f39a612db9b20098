// A fake text engine for load tests: it speaks the worker's part of the messages and computes nothing. Its words are numbered, so
// that a reader sees whether all of them came, in order. Words in the prompt control it:
//   [gate PATH]   after five words it waits until the file exists
//   [fast]        many words in each step
//   [turn]        the first word is the number of the generation: t1, t2, …
import { existsSync } from 'node:fs';

const stepMs = 5;
const fastWords = 100;
const wordsBeforeGate = 5;

const running = new Map();
let turns = 0;
const send = (message) => process.send?.(message);

process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
process.on('message', (message) => {
  if (message.type === 'load') loaded();
  else if (message.type === 'generate') generate(message);
  else if (message.type === 'abort') abort(message.id);
  else send({ type: 'answer', id: message.id, value: message.type === 'detokenize' ? '' : [] });
});

function loaded() {
  const size = 2 ** 20;
  const model = {
    contextSize: size,
    trainedContext: size,
    vocabularySize: 32_000,
    vocabularyType: 2,
    embeddingLength: 512,
    parameters: 1,
    sizeBytes: 1,
    description: 'a fake engine without a model',
    specialTokens: { bos: '<s>', eos: '</s>' },
    layers: 1,
    gpuLayers: 0,
    devices: [],
    cpuVariant: 'none',
    inputs: { image: false, audio: false },
    notes: [],
  };
  send({ type: 'loaded', model });
  setInterval(step, stepMs);
}

function generate({ id, request }) {
  const { maxTokens, prompt, memory } = request;
  const gate = /\[gate ([^\]]+)\]/.exec(`${memory}${prompt}`)?.[1];
  running.set(id, { done: 0, maxTokens, gate, most: prompt.includes('[fast]') ? fastWords : 1 });
  turns += 1;
  const turn = prompt.includes('[turn]') ? [{ type: 'text-delta', id, text: ` t${turns}` }] : [];
  send({
    type: 'step',
    pieces: [{ type: 'start', id, promptTokens: 1, cachedTokens: 0, maxTokens, seed: 1, droppedTokens: 0 }, ...turn],
  });
}

/** All running generations together, as a batch: their pieces are one message. */
function step() {
  const pieces = [];
  for (const [id, generation] of running) {
    const { done, maxTokens, gate, most } = generation;
    if (gate !== undefined && done >= wordsBeforeGate && !existsSync(gate)) continue;
    const last = Math.min(
      maxTokens,
      done + most,
      gate !== undefined && done < wordsBeforeGate ? wordsBeforeGate : maxTokens,
    );
    for (; generation.done < last; generation.done++)
      pieces.push({ type: 'text-delta', id, text: ` w${generation.done}` });
    if (generation.done >= maxTokens) pieces.push(finish(id, 'length', 'limit'));
  }
  if (pieces.length > 0) send({ type: 'step', pieces });
}

function abort(id) {
  if (running.has(id)) send({ type: 'step', pieces: [finish(id, 'aborted', 'aborted')] });
}

function finish(id, reason, cause) {
  const completionTokens = running.get(id).done;
  running.delete(id);
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens };
  const timings = { initMs: 0, promptMs: 1, generationMs: 1, processedTokens: 1 };
  return { type: 'finish', id, reason, cause, usage, timings };
}
