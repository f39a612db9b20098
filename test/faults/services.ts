import { spoken } from '../../bench/spoken.ts';
import { wavFile } from '../../src/audio/testing/waves.ts';
import { nativeClient } from '../live/client.ts';
import type { ServiceKind } from './fault.ts';

const sentence = 'Good morning. The meeting begins at nine.';
let recording: Promise<Buffer> | undefined;
/** A short recording of the built-in voice. */
export const wav = (): Promise<Buffer> => {
  recording ??= spoken(sentence).then((samples) => wavFile([samples], 16_000));
  return recording;
};

export function recordingForm(bytes: Uint8Array, fields: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData();
  form.set('model', 'whisper-1');
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(bytes)]), 'a.wav');
  return form;
}

async function post(base: string, path: string, body: object | FormData): Promise<Response> {
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: sent });
  if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  return reply;
}

function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(`${what} is not as it should be`);
}

type Engine = Exclude<ServiceKind, 'tools' | 'storage'>;

/** A small request of each kind, which succeeds or throws the reason. */
const requests: Readonly<Record<Engine, (base: string) => Promise<void>>> = {
  text: async (base) => {
    const { text } = await nativeClient(base).generate({ prompt: 'Once upon a time', max_length: 4 });
    holds(/^, there was/.test(text), `the text ${JSON.stringify(text)}`);
  },
  embedding: async (base) => {
    const reply = (await (await post(base, '/v1/embeddings', { input: 'weather' })).json()) as {
      data: { embedding: number[] }[];
    };
    holds(reply.data[0]?.embedding.length === 384, 'the vector');
  },
  image: async (base) => {
    const quick = { prompt: 'a star', width: 64, height: 64, steps: 1, cfg_scale: 1 };
    const { images } = (await (await post(base, '/sdapi/v1/txt2img', quick)).json()) as { images: string[] };
    holds(
      Buffer.from(images[0] ?? '', 'base64')
        .subarray(1, 4)
        .toString() === 'PNG',
      'the picture',
    );
  },
  speech: async (base) => {
    const reply = await post(base, '/v1/audio/speech', { input: 'Good morning.', response_format: 'wav' });
    holds((await reply.arrayBuffer()).byteLength > 10_000, 'the speech');
  },
  transcription: async (base) => {
    const reply = await post(base, '/v1/audio/transcriptions', recordingForm(await wav()));
    const { text } = (await reply.json()) as { text: string };
    holds(/morning|meeting/i.test(text), `the transcription ${JSON.stringify(text)}`);
  },
};

export function serve(base: string, kind: Engine): Promise<void> {
  return requests[kind](base);
}
