import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import type { StartServer } from '../../live/server.ts';
import { ask, askEverywhere, failedWith, openai, sentenceOf, type UnderWay } from '../dialects.ts';
import { type Fault, faultGroup } from '../fault.ts';
import { type StoringSubject, storingSubject } from '../subject.ts';
import { drip, type Misbehaviour, misbehaviours, redirectTo, startUpstream, type Upstream } from '../upstream.ts';

interface Setting extends StoringSubject {
  /** Behind `--remote`. */
  readonly text: Upstream;
  /** Behind `--sdremote`. */
  readonly image: Upstream;
  /** Nothing may follow a redirect to it. */
  readonly trap: Upstream;
  close(): Promise<void>;
}

const reply = 'Greetings from afar.';
const sseHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
const delta = (form: 'chat' | 'text', text: string) =>
  `data: ${JSON.stringify({ choices: [form === 'chat' ? { delta: { content: text } } : { text }] })}\n\n`;
const ending = `data: ${JSON.stringify({ choices: [{ delta: {}, text: '', finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const wholeReply = (form: 'chat' | 'text') => `${delta(form, 'Greetings ')}${delta(form, 'from afar.')}${ending}`;

/** A backend like vLLM, with one model. */
const textBackend = () =>
  startUpstream(({ url = '', method }, _body, response) => {
    if (method === 'GET') {
      response.setHeader('content-type', 'application/json');
      const models = { data: [{ id: 'afar', object: 'model', owned_by: 'vllm', max_model_len: 4096 }] };
      return void response.end(url === '/v1/models' ? JSON.stringify(models) : '{}');
    }
    response.setHeader('content-type', 'text/event-stream');
    response.end(wholeReply(url.includes('chat') ? 'chat' : 'text'));
  });

const imageReply =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQImWO4oKCAFTEMLQkAvk5EAeYFmHQAAAAASUVORK5CYII=';
const imageBackend = () =>
  startUpstream(({ url = '' }, _body, response) => {
    const lists: Readonly<Record<string, unknown>> = {
      '/sdapi/v1/options': { sd_model_checkpoint: 'distant' },
      '/sdapi/v1/sd-models': [{ title: 'distant', model_name: 'distant' }],
      '/sdapi/v1/samplers': [{ name: 'Euler' }],
      '/sdapi/v1/txt2img': { images: [imageReply], info: '{}' },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(lists[url] ?? []));
  });

const isWork = ({ method }: IncomingMessage) => method === 'POST';

async function opened(start: StartServer): Promise<Setting> {
  const [text, image, trap] = await Promise.all([
    textBackend(),
    imageBackend(),
    startUpstream((_request, _body, response) => void response.end('the secrets of this machine')),
  ]);
  const flags = ['--nomodel', '--remote', text.url, '--sdremote', image.url, 'kind=a1111', '--multiuser', '40'];
  const subject = await storingSubject(start, { flags, text: false });
  const { base } = subject.server;
  return {
    ...subject,
    text,
    image,
    trap,
    serves: async (kind) => {
      if (kind === 'image') {
        const { status, body } = await generateImage(base);
        if (status !== 200) throw new Error(`${status} ${body}`);
      } else {
        const { status, text: message } = await ask(base, openai, 'Hello', false).reply;
        if (status !== 200 || !message.includes(reply)) throw new Error(`${status} ${message}`);
      }
    },
    close: async () => {
      await Promise.all([text, image, trap].map((one) => one.close()));
    },
  };
}

async function generateImage(base: string, path = '/sdapi/v1/txt2img', signal?: AbortSignal) {
  const answer = await fetch(`${base}${path}`, {
    method: 'POST',
    body: JSON.stringify({ prompt: 'a star', width: 64, height: 64, steps: 1 }),
    ...(signal ? { signal } : {}),
  });
  return { status: answer.status, body: await answer.text() };
}

/** Every dialect, whole and streamed, ends with a sentence like this one. */
async function everywhereFails(requests: readonly UnderWay[], message: RegExp): Promise<void> {
  for (const one of requests) {
    const { status, sentence } = await failedWith(one);
    expect(sentence, `${one.dialect.name} ${one.stream}`).toMatch(message);
    expect([200, 500, 502, 503]).toContain(status);
  }
}

async function imageFails(base: string, message: RegExp): Promise<void> {
  for (const [path, sentence] of [
    ['/sdapi/v1/txt2img', sentenceOf.native],
    ['/v1/images/generations', sentenceOf.openai],
  ] as const) {
    const { status, body } = await generateImage(base, path);
    expect([500, 502, 503], body).toContain(status);
    expect(sentence(JSON.parse(body))).toMatch(message);
  }
}

interface Row {
  readonly how: string;
  readonly misbehaviour: Misbehaviour;
  readonly text: RegExp;
  /** Undefined if pictures cannot fail like this. */
  readonly image: RegExp | undefined;
  readonly short?: boolean;
}

const begun = (form: 'chat' | 'text') => `${sseHead}${delta(form, 'Greetings ')}`;
const closed = /connection closed|socket hang up|broke off|ended without an end|no answer/;

const rows: readonly Row[] = [
  { how: 'close the connection at once', misbehaviour: misbehaviours['close at once'], text: closed, image: closed },
  { how: 'reset the connection at once', misbehaviour: misbehaviours['reset at once'], text: closed, image: closed },
  {
    how: 'close after the head',
    misbehaviour: misbehaviours['close after the head'],
    text: closed,
    image: /no JSON|cannot be used/,
  },
  { how: 'are no HTTP servers', misbehaviour: misbehaviours.garbage, text: /./, image: /./ },
  {
    how: 'send endless headers',
    misbehaviour: misbehaviours['endless headers'],
    text: /headers are too large/,
    image: /headers are too large/,
  },
  {
    how: 'send one endless event',
    misbehaviour: misbehaviours['one endless event'],
    text: /broke off in the middle of this reply: .*\w{4}/,
    image: undefined,
    short: true,
  },
  {
    how: 'send an endless body',
    misbehaviour: misbehaviours['an endless body'],
    text: /larger than 32 MB/,
    image: /larger than 128 MB/,
  },
  { how: 'send invalid JSON', misbehaviour: misbehaviours['invalid JSON'], text: /no JSON/, image: /no JSON/ },
  { how: 'send invalid events', misbehaviour: misbehaviours['invalid events'], text: /no JSON/, image: undefined },
  { how: 'send a web page', misbehaviour: misbehaviours['a web page'], text: closed, image: /no JSON/ },
  {
    how: 'send a compressed reply',
    misbehaviour: misbehaviours['a compressed reply'],
    text: /compressed/,
    image: /compressed/,
  },
  {
    how: 'answer with status 500 and a page',
    misbehaviour: misbehaviours['status 500 with a page'],
    text: /answered 500/,
    image: /answered 500/,
  },
  { how: 'answer with status 429', misbehaviour: misbehaviours['status 429'], text: /slow down/, image: /slow down/ },
  {
    how: 'reset in the middle of a reply',
    misbehaviour: (_, socket) => void socket.write(begun('chat'), () => setImmediate(() => socket.resetAndDestroy())),
    text: closed,
    image: undefined,
  },
  {
    how: 'end in the middle of a reply',
    misbehaviour: (_, socket) => void socket.end(begun('chat')),
    text: closed,
    image: undefined,
  },
];

const misbehaving = ({ how, misbehaviour, text, image, short }: Row): readonly Fault<Setting>[] => [
  {
    name: `text backends that ${how}`,
    kind: 'text',
    ...(short ? { short } : {}),
    inject: async (setting) => {
      setting.text.misbehave(misbehaviour, isWork);
      await everywhereFails(askEverywhere(setting.server.base, 'Hello'), text);
      setting.text.misbehave();
    },
  },
  ...(image === undefined
    ? []
    : [
        {
          name: `image backends that ${how}`,
          kind: 'image',
          inject: async (setting: Setting) => {
            setting.image.misbehave(misbehaviour, isWork);
            await imageFails(setting.server.base, image);
            setting.image.misbehave();
          },
        } as const,
      ]),
];

/** Redirects lead nowhere, least of all into this machine or the metadata of a cloud. */
const redirects: readonly Fault<Setting>[] = [
  ['this machine', ({ trap }: Setting) => `${trap.url}/secrets`],
  ['cloud metadata', () => 'http://169.254.169.254/latest/meta-data/'],
  ['a file', () => 'file:///etc/passwd'],
].map(([where, location]) => ({
  name: `backends that redirect to ${where}`,
  kind: 'text',
  inject: async (setting) => {
    const redirect = redirectTo((location as (setting: Setting) => string)(setting));
    setting.text.misbehave(redirect, isWork);
    setting.image.misbehave(redirect, isWork);
    await everywhereFails(askEverywhere(setting.server.base, 'Hello'), /redirects are not followed/);
    await imageFails(setting.server.base, /redirects are not followed/);
    expect(setting.trap.requests()).toBe(0);
    setting.text.misbehave();
    setting.image.misbehave();
  },
}));

const others: readonly Fault<Setting>[] = [
  {
    name: 'text backends that refuse connections',
    kind: 'text',
    inject: async ({ text, server }) => {
      await text.close();
      await everywhereFails(askEverywhere(server.base, 'Hello'), /is not reachable/);
      await text.open();
    },
  },
  {
    name: 'image backends that refuse connections',
    kind: 'image',
    inject: async ({ image, server }) => {
      await image.close();
      await imageFails(server.base, /is not reachable/);
      await image.open();
    },
  },
  {
    name: 'text backends that hang before the head: clients can leave',
    kind: 'text',
    inject: async ({ text, server }) => {
      text.misbehave(misbehaviours.hang, isWork);
      await leaveAll(() => askEverywhere(server.base, 'Hello'), text);
      text.misbehave();
    },
  },
  {
    name: 'text backends that hang in the middle of a reply: clients can leave',
    kind: 'text',
    inject: async ({ text, server }) => {
      text.misbehave((_, socket) => void socket.write(begun('chat')), isWork);
      await leaveAll(() => askEverywhere(server.base, 'Hello'), text);
      text.misbehave();
    },
  },
  {
    name: 'image backends that hang: clients can leave',
    kind: 'image',
    inject: async ({ image, server }) => {
      const before = image.requests();
      image.misbehave(misbehaviours.hang, ({ url = '' }) => url.includes('txt2img'));
      const controller = new AbortController();
      const requests = generateImage(server.base, '/sdapi/v1/txt2img', controller.signal);
      await expect.poll(image.requests).toBeGreaterThan(before);
      controller.abort();
      await expect(requests).rejects.toThrow();
      image.misbehave();
    },
  },
  {
    name: 'text backends that freeze: requests fail after the health checks',
    kind: 'text',
    inject: async ({ text, server }) => {
      text.misbehave((_, socket) => void socket.write(begun('chat')));
      await everywhereFails(askEverywhere(server.base, 'Hello'), /no answer|not reachable|broke off/);
      text.misbehave();
    },
  },
  ...[
    ['send byte by byte', (socket: Socket) => drip(socket, `${sseHead}${wholeReply('chat')}`)] as const,
    ['never end a reply after its last event', (socket: Socket) => socket.write(sseHead + wholeReply('chat'))] as const,
  ].map(([how, send]) => ({
    name: `text backends that ${how}: the reply is whole`,
    kind: 'text' as const,
    inject: async ({ text, server }: Setting) => {
      text.misbehave((_, socket) => void send(socket), isWork);
      const requests = askEverywhere(server.base, 'Hello').filter(({ dialect }) => dialect.name !== 'native');
      for (const { reply: whole } of requests) {
        const { status, text: message } = await whole;
        expect(status).toBe(200);
        expect(message).toMatch(/afar/);
      }
      text.misbehave();
    },
  })),
];

/** Leaves when every request is at the backend. */
async function leaveAll(start: () => readonly UnderWay[], { requests }: Upstream): Promise<void> {
  const before = requests();
  const asked = start();
  await expect.poll(requests).toBeGreaterThanOrEqual(before + asked.length);
  for (const { leave } of asked) leave();
  await Promise.allSettled(asked.map(({ reply: left }) => left));
}

export const upstreams = (start: StartServer) =>
  faultGroup<Setting>({
    name: 'backends of --remote and --sdremote',
    open: () => opened(start),
    rows: [...rows.flatMap(misbehaving), ...redirects, ...others],
  });
