import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openHub } from '../../../src/library/testing/hub.ts';
import { nativeClient } from '../../live/client.ts';
import { embeddedModel, type StartServer } from '../../live/server.ts';
import { sentenceOf } from '../dialects.ts';
import { type Fault, faultGroup } from '../fault.ts';
import { type SmallDisk, smallDisk } from '../full-disk.ts';
import { recordingForm } from '../services.ts';
import { type StoringSubject, storingSubject } from '../subject.ts';

interface Setting extends StoringSubject {
  readonly disk: SmallDisk;
  readonly models: string;
  close(): Promise<void>;
}

/** Everything that the server writes is on the small disk. */
async function opened(start: StartServer): Promise<Setting> {
  const disk = smallDisk();
  console.log(`Disks are filled by: ${disk.how}.`);
  const folders = ['temporary', 'home', 'models', 'stores'].map((name) => join(disk.folder, name));
  for (const folder of folders) mkdirSync(folder);
  const [temporary = '', home = '', models = '', stores = ''] = folders;
  const model = readFileSync(embeddedModel).subarray(0, 6 * 2 ** 20);
  const hub = await openHub({ 'owner/name': { files: { 'new.gguf': model } } });
  const { TMPDIR, PARLEY_HOME, HF_ENDPOINT } = process.env;
  const before = { TMPDIR, PARLEY_HOME, HF_ENDPOINT };
  Object.assign(process.env, { TMPDIR: temporary, PARLEY_HOME: home, HF_ENDPOINT: hub.base });
  try {
    const flags = ['--diskcache', join(disk.folder, 'cache'), '--admin', '--admindir', models];
    const subject = await storingSubject(start, { flags, folder: stores });
    return {
      ...subject,
      disk,
      models,
      close: async () => {
        await subject.server.stop();
        disk.close();
        hub.close();
      },
    };
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** Runs the work while nothing can be written. */
async function whileFull<Result>({ disk, server }: Setting, work: () => Promise<Result>): Promise<Result> {
  const pids = [server.pid, server.worker()].filter((pid) => pid !== undefined);
  disk.fill(pids);
  try {
    return await work();
  } finally {
    disk.free(pids);
  }
}

const large = 'x'.repeat(100_000);

const rows: readonly Fault<Setting>[] = [
  {
    name: 'full disk: uploads of every dialect get status 507',
    kind: 'transcription',
    inject: (setting) =>
      whileFull(setting, async () => {
        const bytes = Buffer.alloc(1_000_000);
        const uploads = (field: string) => {
          const form = new FormData();
          form.append(field, new Blob([bytes]), 'a.png');
          form.append('prompt', 'a star');
          return form;
        };
        for (const [path, form, sentence] of [
          ['/v1/audio/transcriptions', recordingForm(bytes), sentenceOf.openai],
          ['/v1/images/edits', uploads('image'), sentenceOf.openai],
          ['/upload/image', uploads('image'), (body: unknown) => JSON.stringify(body)],
        ] as const) {
          const reply = await fetch(`${setting.server.base}${path}`, { method: 'POST', body: form });
          const text = await reply.text();
          expect([reply.status, text.slice(0, 300)]).toEqual([507, expect.stringContaining('is full')]);
          expect(sentence(JSON.parse(text))).toContain('Free some space');
        }
      }),
  },
  {
    name: 'full disk: saving a story fails, and the stored ones stay',
    kind: 'storage',
    short: true,
    inject: (setting) =>
      whileFull(setting, async () => {
        const { post } = nativeClient(setting.server.base);
        const save = await post('/api/extra/data/save', { slot: 11, title: 't', format: 'f', data: large });
        expect(save.json()).toMatchObject({
          success: false,
          error: expect.stringMatching(/could not be saved|ENOSPC|EFBIG/),
        });
        await setting.intact();
      }),
  },
  {
    name: 'full disk: saving a record fails, and the stored ones stay',
    kind: 'storage',
    inject: (setting) =>
      whileFull(setting, async () => {
        const { post } = nativeClient(setting.server.base);
        const save = await post('/api/extra/sync/save', { kind: 'chats', id: 'large', base: 0, data: large });
        expect(save.status).toBeGreaterThanOrEqual(500);
        expect(save.json()).toMatchObject({ success: false, error: expect.stringMatching(/saved/) });
        await setting.intact();
      }),
  },
  {
    name: 'full disk: the shared story stays as it was',
    kind: 'storage',
    inject: (setting) =>
      whileFull(setting, async () => {
        const { post } = nativeClient(setting.server.base);
        const published = await post('/api/extra/multiplayer/setstory', {
          full_update: true,
          data_format: 'f',
          data: large,
        });
        expect(published.json()).toMatchObject({ success: false });
        await setting.intact();
      }),
  },
  {
    name: 'full disk: prompts that cannot be cached are answered',
    kind: 'text',
    inject: (setting) =>
      whileFull(setting, async () => {
        for (const topic of ['rivers', 'ships']) {
          const prompt = Array.from({ length: 24 }, (_, line) => `Line ${line} about ${topic}: ${line * 7}.`).join(
            '\n',
          );
          const { status, text } = await nativeClient(setting.server.base).post('/v1/completions', {
            prompt,
            max_tokens: 4,
          });
          expect(status, text).toBe(200);
        }
      }),
  },
  {
    name: 'full disk: speech that is to be stored',
    kind: 'speech',
    inject: (setting) =>
      whileFull(setting, async () => {
        const { post } = nativeClient(setting.server.base);
        const answer = await post('/tts_to_file', {
          text: 'Good morning to all of you.',
          speaker_wav: 'any',
          language: 'en',
          file_name_or_path: 'a.wav',
        });
        expect([answer.status, answer.text]).toEqual([507, expect.stringContaining('is full')]);
      }),
  },
  {
    name: 'full disk: a download fails with the reason and leaves no model',
    kind: 'text',
    inject: (setting) =>
      whileFull(setting, async () => {
        const { text } = await nativeClient(setting.server.base).post('/api/pull', {
          model: 'owner/name/new.gguf',
        });
        const lines = text.trim().split('\n');
        expect(sentenceOf.ollama(JSON.parse(lines.at(-1) ?? ''))).toMatch(
          /it needs \d+ MB on the disk|could not be written|ENOSPC|EFBIG|no space/i,
        );
        const files = readdirSync(setting.models, { recursive: true }).map(String);
        expect(files.filter((name) => name.endsWith('.gguf'))).toEqual([]);
      }),
  },
];

export const disks = (start: StartServer) => faultGroup<Setting>({ name: 'disks', open: () => opened(start), rows });
