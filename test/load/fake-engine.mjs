// A fake text engine for load tests: it speaks the worker's part of the messages and computes nothing. Its words are numbered, so
// that a reader sees whether all of them came, in order. Words in the prompt control it:
//   [gate PATH]   after five words it waits until the file exists
//   [fast]        many words in each step
//   [turn]        the first word is the number of the generation: t1, t2, …
//   [replies …]   its replies, one for each generation in which these words stand (see scripted.ts)
import { existsSync } from 'node:fs';
import { finishOf, send, serveWithoutModel, startOf } from '../../bench/worker-without-model.mjs';

const stepMs = 5;
const fastWords = 100;
const wordsBeforeGate = 5;

/** Long enough for several pieces, short enough to cut words. */
const pieceLength = 4;

const running = new Map();
/** How many replies of each script have been given. */
const scripts = new Map();
let turns = 0;

serveWithoutModel({ description: 'a fake engine without a model', generate, abort });
setInterval(step, stepMs);

function generate({ id, request }) {
  const { maxTokens, prompt, memory } = request;
  const script = /\[replies ([\w-]+)\]/.exec(`${memory}${prompt}`)?.[1];
  if (script !== undefined) return send({ type: 'step', pieces: [startOf(id, maxTokens), ...nextReply(id, script)] });
  const gate = /\[gate ([^\]]+)\]/.exec(`${memory}${prompt}`)?.[1];
  running.set(id, { done: 0, maxTokens, gate, most: prompt.includes('[fast]') ? fastWords : 1 });
  turns += 1;
  const turn = prompt.includes('[turn]') ? [{ type: 'text-delta', id, text: ` t${turns}` }] : [];
  send({ type: 'step', pieces: [startOf(id, maxTokens), ...turn] });
}

/** After the last reply of a script it says nothing more. */
function nextReply(id, script) {
  const served = scripts.get(script) ?? 0;
  scripts.set(script, served + 1);
  const { replies } = JSON.parse(Buffer.from(script, 'base64url').toString());
  const texts = (replies[served] ?? '').match(new RegExp(`.{1,${pieceLength}}`, 'gsu')) ?? [];
  const pieces = texts.map((text) => ({ type: 'text-delta', id, text }));
  return [...pieces, { ...finishOf(id, pieces.length), reason: 'stop', cause: 'end-token' }];
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
    if (generation.done >= maxTokens) pieces.push(finish(id));
  }
  if (pieces.length > 0) send({ type: 'step', pieces });
}

function abort(id) {
  if (running.has(id)) send({ type: 'step', pieces: [finish(id, true)] });
}

function finish(id, aborted = false) {
  const { done } = running.get(id);
  running.delete(id);
  return finishOf(id, done, aborted);
}
