import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { talk } from '../../../bench/spoken.ts';
import { wavFile } from '../../../src/audio/testing/waves.ts';
import { nativeClient } from '../../live/client.ts';
import type { StartServer } from '../../live/server.ts';
import { textDialects } from '../dialects.ts';
import { type Fault, faultGroup, type ServiceKind } from '../fault.ts';
import { atWork, workerOf } from '../processes.ts';
import { recordingForm, serve } from '../services.ts';
import { type StoringSubject, storingSubject } from '../subject.ts';
import { until } from '../until.ts';

/** A client that writes bytes by hand. */
interface RawClient {
  readonly socket: Socket;
  /** Everything that came so far. */
  text(): string;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;
}

async function rawClient({ server }: StoringSubject, first = ''): Promise<RawClient> {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.on('error', () => {}).setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  if (first !== '') socket.write(first);
  return { socket, text: () => text, closed };
}

const head = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
const whole = (path: string, body: object): string => {
  const text = JSON.stringify(body);
  return `${head(path, Buffer.byteLength(text))}${text}`;
};

const short = { prompt: 'Once upon a time', max_length: 3, temperature: 0 };
const endless = (prompt: string) => ({ prompt, max_length: 1500, ban_eos_token: true });

/** Neither running nor waiting requests are left. */
async function idle({ server }: StoringSubject): Promise<void> {
  const client = nativeClient(server.base);
  await until(async () => {
    const { idle: free, queue } = await client.performance();
    return free === 1 && queue === 0;
  });
}

/** Sends a text byte by byte, with pauses. */
async function dribble(socket: Socket, text: string): Promise<void> {
  for (const byte of Buffer.from(text)) {
    socket.write(Buffer.from([byte]));
    await pause(3);
  }
}

const phases: readonly Fault<StoringSubject>[] = [
  {
    name: '50 clients that leave as soon as they are connected',
    kind: 'text',
    inject: async (subject) => {
      const clients = await Promise.all(Array.from({ length: 50 }, () => rawClient(subject)));
      for (const { socket } of clients) socket.resetAndDestroy();
      await idle(subject);
    },
  },
  {
    name: 'a client that leaves in the middle of the head',
    kind: 'text',
    inject: async (subject) => {
      const { socket } = await rawClient(subject, 'POST /api/v1/generate HTTP/1.1\r\nhost: loc');
      await pause(50);
      socket.destroy();
      await idle(subject);
    },
  },
  {
    name: 'a client that leaves in the middle of the body',
    kind: 'text',
    short: true,
    inject: async (subject) => {
      for (const { path } of textDialects) {
        const { socket } = await rawClient(subject, `${head(path(false), 1000)}{"prompt":"Hal`);
        await pause(50);
        socket.destroy();
      }
      await idle(subject);
    },
  },
  {
    name: 'a client that leaves in the middle of an upload',
    kind: 'transcription',
    inject: async (subject) => {
      const start =
        'POST /v1/audio/transcriptions HTTP/1.1\r\nhost: localhost\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 9000000\r\n\r\n' +
        '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF';
      const { socket } = await rawClient(subject, start);
      socket.write('x'.repeat(500_000));
      await pause(100);
      socket.resetAndDestroy();
    },
  },
  {
    name: 'clients that leave while they are queued',
    kind: 'text',
    inject: async (subject) => {
      const clients = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          rawClient(subject, whole('/api/v1/generate', endless(`Queued ${index}`))),
        ),
      );
      const client = nativeClient(subject.server.base);
      await until(async () => ((await client.performance()).queue ?? 0) > 0);
      for (const { socket } of clients) socket.destroy();
      await idle(subject);
    },
  },
  {
    name: 'a client that leaves during prefill',
    kind: 'text',
    inject: async (subject) => {
      const worker = await workerOf(subject.server, 'llama');
      const prompt = Array.from({ length: 900 }, (_, line) => `Line ${line} is ${(line * 7919) % 1009}.`).join(' ');
      const { socket } = await rawClient(subject, whole('/api/v1/generate', { ...short, prompt }));
      await atWork(worker);
      socket.destroy();
      await idle(subject);
    },
  },
  {
    name: 'clients of every dialect that leave during decoding',
    kind: 'text',
    inject: async (subject) => {
      const clients = await Promise.all(
        textDialects.map(({ path, endless: body }) =>
          rawClient(subject, whole(path(true), body('Tell me a long story.', true))),
        ),
      );
      await until(() => clients.some(({ text }) => text().length > 500));
      for (const { socket } of clients) socket.resetAndDestroy();
      await idle(subject);
    },
  },
];

/** Leaves while an engine works for it. */
const during = (kind: ServiceKind & ('image' | 'speech' | 'transcription' | 'embedding'), start: StartWork) => ({
  name: `a client that leaves during ${kind} work`,
  kind,
  inject: async (subject: StoringSubject) => {
    await until(() => serve(subject.server.base, kind));
    const worker = await workerOf(subject.server, kind);
    const controller = new AbortController();
    const work = start(subject.server.base, controller.signal).catch(() => undefined);
    await atWork(worker);
    controller.abort();
    await work;
  },
});
type StartWork = (base: string, signal: AbortSignal) => Promise<unknown>;

const post = (base: string, path: string, body: object, signal: AbortSignal) =>
  fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body), signal }).then((reply) => reply.arrayBuffer());

const engines: readonly Fault<StoringSubject>[] = [
  during('image', (base, signal) =>
    post(base, '/sdapi/v1/txt2img', { prompt: 'a sea', width: 64, height: 64, steps: 150, batch_size: 4 }, signal),
  ),
  during('speech', (base, signal) =>
    post(base, '/v1/audio/speech', { input: 'One more sentence of very many. '.repeat(200) }, signal),
  ),
  during('embedding', (base, signal) => {
    const input = Array.from({ length: 300 }, (_, line) => `line ${line} of a text. `.repeat(20));
    return post(base, '/v1/embeddings', { input }, signal);
  }),
  during('transcription', async (base, signal) => {
    const body = recordingForm(wavFile([await talk(90)], 16_000));
    return fetch(`${base}/v1/audio/transcriptions`, { method: 'POST', body, signal }).then((reply) => reply.text());
  }),
];

const slow: readonly Fault<StoringSubject>[] = [
  {
    name: 'a client that sends head and body byte by byte is served',
    kind: 'text',
    inject: async (subject) => {
      const { socket, text } = await rawClient(subject);
      await dribble(socket, whole('/api/v1/generate', short));
      await until(() => text().includes('completion_tokens'));
      expect(text()).toMatch(/^HTTP\/1\.1 200/);
      socket.destroy();
    },
  },
  {
    // The end of its side cannot be told from a client that is gone.
    name: 'a client that closes its side after the request counts as gone',
    kind: 'text',
    inject: async (subject) => {
      const { socket, closed } = await rawClient(subject);
      socket.end(whole('/api/v1/generate', endless('Half closed')));
      await closed;
      await idle(subject);
    },
  },
  {
    name: 'a client that closes its side in the middle of the body',
    kind: 'text',
    inject: async (subject) => {
      const { socket, closed } = await rawClient(subject);
      socket.end(`${head('/api/v1/generate', 1000)}{"prompt":`);
      await closed;
    },
  },
  {
    name: 'a client that sends what is no HTTP',
    kind: 'text',
    inject: async (subject) => {
      const { text, closed, socket } = await rawClient(
        subject,
        '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03nonsense\r\n\r\n',
      );
      await until(() => text().includes('400 Bad Request'));
      socket.end();
      await closed;
    },
  },
  {
    name: 'a client that sends endless headers',
    kind: 'text',
    inject: async (subject) => {
      const { socket, text, closed } = await rawClient(subject, 'GET / HTTP/1.1\r\nhost: localhost\r\n');
      for (let sent = 0; sent < 100 && socket.writable; sent += 1) socket.write(`x-${sent}: ${'x'.repeat(1000)}\r\n`);
      // The answer is lost if the client is still sending when the connection is closed.
      await Promise.race([closed, until(() => text().includes('HTTP/1.1 431'))]);
      socket.destroy();
    },
  },
  {
    name: 'a client that never reads a stream is disconnected',
    kind: 'speech',
    inject: async (subject) => {
      const input = 'A rather long sentence, which is spoken and never heard by anybody. '.repeat(150);
      const { socket, closed } = await rawClient(subject);
      socket.pause();
      socket.write(whole('/v1/audio/speech', { input, response_format: 'pcm' }));
      // The engine stops when nobody reads, and the connection is closed after --stalltimeout.
      await until(() => serve(subject.server.base, 'speech'));
      socket.once('end', () => socket.end()).resume();
      await closed;
    },
  },
  {
    name: '24 clients that never read their streams: others are served',
    kind: 'text',
    inject: async (subject) => {
      const body = { ...endless('Nobody reads this.'), max_length: 30 };
      const clients = await Promise.all(
        Array.from({ length: 24 }, async () => {
          const client = await rawClient(subject);
          client.socket.pause();
          client.socket.write(whole('/api/extra/generate/stream', body));
          return client;
        }),
      );
      await idle(subject);
      for (const { socket } of clients) socket.destroy();
    },
  },
];

export const clients = (start: StartServer) =>
  faultGroup<StoringSubject>({
    name: 'clients',
    open: () => storingSubject(start, { flags: ['--stalltimeout', '2', '--multiuser', '40'] }),
    rows: [...phases, ...engines, ...slow],
  });
