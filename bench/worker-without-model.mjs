// The messages of a text worker that has no model, for engines of load tests and benches. Plain JavaScript: load tests start
// such an engine as it is, without a build.

/**
 * @typedef {import('../src/engines/llama/messages.ts').FromWorker} FromWorker
 * @typedef {import('../src/engines/llama/messages.ts').ToWorker} ToWorker
 * @typedef {object} Parts
 * @property {string} description of the model, for people who look at it
 * @property {(message: Extract<ToWorker, { type: 'generate' }>) => void} generate
 * @property {(id: number) => void} [abort]
 */

const contextSize = 2 ** 20;

/** @param {FromWorker} message */
export function send(message) {
  process.send?.(message);
}

/** @param {Parts} parts */
export function serveWithoutModel({ description, generate, abort }) {
  process.on('disconnect', () => process.exit(0));
  // As in a real worker, the server decides when it ends.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  process.on('message', (/** @type {ToWorker} */ message) => {
    if (message.type === 'load') send({ type: 'loaded', facts: modelOf(description) });
    else if (message.type === 'generate') generate(message);
    else if (message.type === 'abort') abort?.(message.id);
    else send({ type: 'answer', id: message.id, value: message.type === 'detokenize' ? '' : [] });
  });
}

/** @param {string} description */
function modelOf(description) {
  return {
    contextSize,
    trainedContext: contextSize,
    vocabularySize: 32_000,
    vocabularyType: 2,
    embeddingLength: 512,
    parameters: 1,
    sizeBytes: 1,
    description,
    chatTemplate: undefined,
    specialTokens: { bos: '<s>', eos: '</s>' },
    layers: 1,
    gpuLayers: 0,
    devices: [],
    gpus: [],
    cpuVariant: 'none',
    inputs: { image: false, audio: false },
    notes: [],
  };
}

/**
 * @param {number} id
 * @param {number} maxTokens
 */
export function startOf(id, maxTokens) {
  return /** @type {const} */ ({
    type: 'start',
    id,
    promptTokens: 1,
    cachedTokens: 0,
    maxTokens,
    seed: 1,
    droppedTokens: 0,
  });
}

/**
 * @param {number} id
 * @param {number} completionTokens
 * @param {boolean} [aborted]
 */
export function finishOf(id, completionTokens, aborted = false) {
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens };
  const timings = { initMs: 0, promptMs: 1, generationMs: 1, processedTokens: 1 };
  const why = aborted
    ? /** @type {const} */ ({ reason: 'aborted', cause: 'aborted' })
    : /** @type {const} */ ({ reason: 'length', cause: 'limit' });
  return { type: /** @type {const} */ ('finish'), id, ...why, usage, timings };
}
