import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { wavFile } from '../src/audio/testing/waves.ts';
import { stockGraph } from '../src/protocols/comfy/testing/graphs.ts';
import { childrenOf, residentMegabytes } from './process-figures.ts';

/** One task of a kind: resolves when it is over, rejects where the server's answer is not the one of a sound server. */
export type SendTask = (base: string, signal: AbortSignal) => Promise<void>;

/** A small task of each kind that a server does without anything else installed. */
export const taskKinds: Readonly<Record<string, SendTask>> = {
  text: (base, signal) => post(base, '/api/v1/generate', { prompt: 'Once upon a time', max_length: 8 }, signal),
  streamed: (base, signal) =>
    post(base, '/v1/completions', { prompt: 'Once upon a time', max_tokens: 8, stream: true }, signal),
  embedding: (base, signal) => post(base, '/v1/embeddings', { input: ['a boat', 'a tree'] }, signal),
  speech: (base, signal) => post(base, '/v1/audio/speech', { input: 'One. Two.', response_format: 'mp3' }, signal),
  transcription: async (base, signal) => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(quietWav)]), 'quiet.wav');
    await finished(await fetch(`${base}/v1/audio/transcriptions`, { method: 'POST', body: form, signal }));
  },
  picture: (base, signal) => post(base, '/sdapi/v1/txt2img', { prompt: 'a heart', ...small }, signal),
  upscale: (base, signal) => post(base, '/sdapi/v1/extra-single-image', { image: png, upscaling_resize: 2 }, signal),
  graph: async (base, signal) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const reply = await fetch(`${base}/prompt`, {
      method: 'POST',
      body: JSON.stringify({ prompt: stockGraph({ steps: 1, cfg: 1, seed }) }),
      signal,
    });
    const { prompt_id: id } = (await reply.json()) as { prompt_id: string };
    for (;;) {
      const history = (await (await fetch(`${base}/history/${id}`, { signal })).json()) as object;
      if (id in history) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
  tools: (base, signal) => post(base, '/v1/chat/completions', toolChat, signal),
};

const small = { steps: 1, cfg_scale: 1, width: 64, height: 64 };
const quietWav = wavFile([new Float32Array(8000)], 16_000);
/** One grey pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const toolChat = {
  messages: [{ role: 'user', content: 'What is the weather in Rome?' }],
  max_tokens: 8,
  tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }],
};

async function post(base: string, path: string, body: object, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await finished(await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body), headers, signal }));
}

async function finished(reply: Response): Promise<void> {
  const bytes = await reply.arrayBuffer();
  if (reply.status === 200) return;
  throw new Error(`${new URL(reply.url).pathname} ${reply.status} ${Buffer.from(bytes).toString().slice(0, 200)}`);
}

/** So many tasks of a kind, one after the other; every third is cut off by its client. Resolves to what went wrong. */
export async function taskRounds(base: string, send: SendTask, count: number): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let round = 0; round < count; round++) {
    const stop = new AbortController();
    // At different moments: before the task begins, in the middle, and when it is all but done.
    const cut = round % 3 === 2 ? setTimeout(() => stop.abort(), (round * 7) % 50) : undefined;
    await send(base, stop.signal).catch((error: Error) => {
      if (!stop.signal.aborted) wrong.push(error.message);
    });
    clearTimeout(cut);
  }
  return wrong;
}

/** What a server holds: of itself, and of all its children together. */
export interface Holdings {
  readonly serverMegabytes: number;
  readonly childMegabytes: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly children: number;
  readonly temporaryFiles: number;
}

/** Temporary files are those with the id of one of the processes in their name; folders of test runs (`parley-test-`) have other ids. */
export function holdingsOf(pid: number): Holdings {
  const children = childrenOf(pid);
  const all = [pid, ...children];
  const count = (folder: string): number => all.reduce((sum, each) => sum + entries(`/proc/${each}/${folder}`), 0);
  return {
    serverMegabytes: residentMegabytes(pid),
    childMegabytes: children.reduce((sum, each) => sum + residentMegabytes(each), 0),
    descriptors: count('fd'),
    threads: count('task'),
    children: children.length,
    temporaryFiles: readdirSync(tmpdir()).filter((name) =>
      new RegExp(`^parley-(?!test-).*\\b(${all.join('|')})\\b`).test(name),
    ).length,
  };
}

function entries(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}
