import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Medium } from '../../src/core/request.ts';
import { nativeClient } from '../live/client.ts';
import { runProgram } from '../live/program.ts';
import { embeddedModel, liveServers } from '../live/server.ts';
import { type Engine, engines } from './engine.ts';
import {
  earTokens,
  gridTokens,
  writeBothWaysProjector,
  writeEarProjector,
  writeGridProjector,
  writeRowsModel,
  writeRowsProjector,
} from './models.ts';
import { ensurePack, packs } from './pack.ts';
import { png } from './png.ts';
import { openReference, type Reference } from './reference.ts';
import { wav } from './wav.ts';

const folder = mkdtempSync(join(tmpdir(), 'vision-'));
const projector = join(folder, 'projector.gguf');
const missing = await ensurePack();
if (missing) console.warn(`Skipped, because ${missing}`);
const startEngine = engines();
const startServer = liveServers();

const image = (file: Buffer): Medium => ({ kind: 'image', base64: file.toString('base64'), format: 'image/png' });
const stripes = image(png(90, 60, (x) => (x % 20 < 10 ? [255, 0, 0] : [0, 0, 255])));
const circle = image(png(64, 64, (x, y) => ((x - 32) ** 2 + (y - 32) ** 2 < 400 ? [255, 255, 0] : [0, 80, 0])));
const story = 'Once upon a time (Attached Image 1) there was';

beforeAll(async () => {
  process.env.PARLEY_PACKS = packs;
  await writeGridProjector(projector, 512);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(missing !== undefined)('with a projector', () => {
  let seeing: Engine;
  /** Computes every prompt anew, token by token, so that equal prompts give equal numbers. */
  let forgetful: Engine;
  beforeAll(async () => {
    [seeing, forgetful] = await Promise.all([
      startEngine(embeddedModel, { mmproj: projector, batchsize: -1 }),
      startEngine(embeddedModel, { mmproj: projector, batchsize: -1, nofastforward: true }),
    ]);
  });

  test('modalities: vision, not audio', () => {
    expect(seeing.host.state()).toMatchObject({ type: 'ready', model: { inputs: { image: true, audio: false } } });
  });

  test('text only: same text as without a projector', async () => {
    const plain = await startEngine(embeddedModel, { batchsize: -1 });
    const prompt = 'The old man went to the sea and';
    const [with_, without] = await Promise.all([seeing.ask(prompt), plain.ask(prompt)]);
    expect(with_.text).toBe(without.text);
    expect(with_.text).not.toBe('');
    await plain.host.stop();
  });

  test('image: adds its tokens to the prompt, and another image changes the reply', async () => {
    const [first, second, none] = [
      await seeing.ask(story, { media: [stripes] }),
      await seeing.ask(story, { media: [circle] }),
      await seeing.ask('Once upon a time \n\n there was'),
    ];
    expect(first.error).toBeUndefined();
    expect(first.promptTokens).toBe(none.promptTokens + gridTokens);
    expect(new Set([first.text, second.text, none.text]).size).toBe(3);
  });

  test('cache: gives the reply of a fresh computation in every turn', async () => {
    let prompt = 'A girl looked at (Attached Image 1) and at (Attached Image 2). She said:';
    for (let turn = 0; turn < 3; turn += 1) {
      const media = [circle, stripes];
      const [cached, fresh] = [await seeing.ask(prompt, { media }), await forgetful.ask(prompt, { media })];
      expect(cached.text).toBe(fresh.text);
      expect(fresh.cachedTokens).toBe(0);
      if (turn > 0) expect(cached.cachedTokens).toBeGreaterThan(2 * gridTokens);
      prompt += `${cached.text} And then`;
    }
  });

  test('cache: a changed image is computed again, the text before it is reused', async () => {
    const begin = 'This is a long beginning of a story about a dog who liked to look at pictures. ';
    const request = `${begin}(Attached Image 1) The dog`;
    const first = await seeing.ask(request, { media: [stripes] });
    const other = await seeing.ask(request, { media: [circle] });
    const again = await seeing.ask(request, { media: [circle] });
    expect(other.cachedTokens).toBeGreaterThan(10);
    expect(other.cachedTokens).toBeLessThan(first.promptTokens - gridTokens);
    expect(again.cachedTokens).toBe(again.promptTokens - 1);
    expect(other.text).toBe((await forgetful.ask(request, { media: [circle] })).text);
  });

  test('image without a placeholder: is placed before the text', async () => {
    const reply = await seeing.ask('What is this?', { media: [stripes], memory: 'Some memory. ' });
    const mentioned = await seeing.ask('What is this?', {
      media: [stripes],
      memory: 'Attached Media:\n(Attached Image 1)\n\nSome memory. ',
    });
    expect([reply.text, reply.promptTokens]).toEqual([mentioned.text, mentioned.promptTokens]);
  });

  test('overlong prompt: an image is dropped as a whole, with a warning', async () => {
    const prompt = `(Attached Image 1)${' and the cat ran away'.repeat(30)}`;
    const reply = await seeing.ask(prompt, { media: [stripes], maxContext: 128 });
    expect(reply.warnings).toEqual(expect.arrayContaining(['prompt-trimmed', 'media-dropped']));
    expect(reply.error).toBeUndefined();
  });

  test('invalid image: is refused with a message, and the next request is served', async () => {
    const broken = png(20, 20, () => [1, 2, 3]).subarray(0, 40);
    for (const file of [broken, Buffer.from('hello'), Buffer.alloc(0)]) {
      const { error } = await seeing.ask(story, { media: [circle, image(file)] });
      expect(error).toMatchObject({ code: 'invalid-field', status: 400, details: { field: 'images' } });
      expect(error?.message).toContain('number 2');
    }
    expect((await seeing.ask(story, { media: [stripes] })).error).toBeUndefined();
  });

  test('oversized image: is refused before it is decoded', async () => {
    const bomb = png(1, 1, () => [0, 0, 0]);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    expect((await seeing.ask(story, { media: [image(bomb)] })).error?.message).toContain('60000 × 60000');
  });

  test('audio: is refused by a vision-only projector', async () => {
    const { error } = await seeing.ask(story, { media: [{ kind: 'audio', base64: 'UklGRg==' }] });
    expect(error).toMatchObject({ code: 'unsupported', details: { feature: 'Audio input' } });
  });

  test('large image: is scaled down and accepted', async () => {
    const large = image(png(1500, 700, (x, y) => [x & 255, y & 255, 0]));
    expect(await seeing.ask(story, { media: [large] })).toMatchObject({ error: undefined, cause: 'limit' });
  });

  test('abort during image prefill: ends as stopped', async () => {
    const fresh = [1, 2, 3].map((shade) => image(png(400, 400, (x, y) => [x & 255, y & 255, shade])));
    const { reply, abort } = seeing.begin(story, { media: fresh });
    abort();
    expect(await reply).toMatchObject({ cause: 'aborted', error: undefined });
    expect((await seeing.ask(story, { media: [stripes] })).error).toBeUndefined();
  });

  test('negative prompt with an image: is refused', async () => {
    const guided = await startEngine(embeddedModel, { mmproj: projector, enableguidance: true });
    const guidance = { negativePrompt: 'sad', scale: 2 };
    expect((await guided.ask(story, { media: [stripes], guidance })).error).toMatchObject({ code: 'unsupported' });
    expect((await guided.ask(story, { guidance })).error).toBeUndefined();
    await guided.host.stop();
  });

  test('image prefill: other requests continue, and all texts are the same as alone', async () => {
    const shared = await startEngine(embeddedModel, { mmproj: projector, parallelrequests: 3, batchsize: -1 });
    const request = [
      ['The dog ran to the tree and', {}],
      [story, { media: [stripes] }],
      [story, { media: [circle] }],
    ] as const;
    const together = await Promise.all(request.map(([prompt, more]) => shared.ask(prompt, more)));
    const alone = [];
    for (const [prompt, more] of request) alone.push((await forgetful.ask(prompt, more)).text);
    expect(together.map(({ text }) => text)).toEqual(alone);
    await shared.host.stop();
  });
});

describe.skipIf(missing !== undefined)('other position and attention types', () => {
  const [model, eyes] = [join(folder, 'rows.gguf'), join(folder, 'rows-projector.gguf')];
  const settings = { mmproj: eyes, visionmaxtokens: 64 };
  let reference: Reference;
  const bothWays = join(folder, 'both-ways-projector.gguf');
  beforeAll(async () => {
    const { width } = await writeRowsModel(model, embeddedModel);
    await writeRowsProjector(eyes, width);
    await writeBothWaysProjector(bothWays, 512);
    reference = openReference();
  });

  test('non-causal attention: an image larger than a batch is refused', async () => {
    const engine = await startEngine(embeddedModel, { mmproj: bothWays, batchsize: 8 });
    const { error } = await engine.ask(story, { media: [stripes] });
    expect(error?.message).toContain('start the server with --batchsize 16');
    await engine.host.stop();
  });

  test('M-RoPE: the cache gives the reply of a fresh computation', async () => {
    const [keeping, fresh] = await Promise.all([
      startEngine(model, { ...settings, batchsize: -1 }),
      startEngine(model, { ...settings, batchsize: -1, nofastforward: true }),
    ]);
    let prompt = 'A long enough beginning (Attached Image 1) between the two (Attached Image 2) pictures';
    for (let turn = 0; turn < 3; turn += 1) {
      const media = turn < 2 ? [stripes, circle] : [stripes, stripes];
      const [cached, anew] = [await keeping.ask(prompt, { media }), await fresh.ask(prompt, { media })];
      expect(cached.error).toBeUndefined();
      expect(cached.text).toBe(anew.text);
      if (turn > 0) expect(cached.cachedTokens).toBeGreaterThan(10);
      prompt += `${cached.text} and`;
    }
  });

  test.each([
    ['sequential positions', embeddedModel, projector],
    ['M-RoPE positions', model, eyes],
    ['non-causal attention', embeddedModel, bothWays],
  ])('%s: the reply is that of the library', async (_, path, mmproj) => {
    const engine = await startEngine(path, { ...settings, mmproj });
    const { text, promptTokens } = await engine.ask(story, { media: [stripes], endTokens: 'ignore' });
    await engine.host.stop();
    const file = Buffer.from(stripes.base64, 'base64');
    const parts = { before: 'Once upon a time ', after: '\n\n there was' };
    const expected = await reference.reply({ model: path, projector: mmproj, file, ...parts, count: 12 });
    expect([text, promptTokens]).toEqual([expected.text, expected.promptTokens]);
  });
});

test.skipIf(missing !== undefined)('audio input: different recordings give different replies', async () => {
  const ears = join(folder, 'ears.gguf');
  await writeEarProjector(ears, 512);
  const hearing = await startEngine(embeddedModel, { mmproj: ears, contextsize: 2048 });
  expect(hearing.host.state()).toMatchObject({ model: { inputs: { image: false, audio: true } } });
  const tone = (pitch: number): Medium => {
    const file = wav(2, (at) => Math.sin(at * pitch));
    return { kind: 'audio', base64: file.toString('base64'), format: 'wav' };
  };
  const prompt = 'Once upon a time (Attached Audio 1) there was';
  const [low, high, again] = [
    await hearing.ask(prompt, { media: [tone(900)] }),
    await hearing.ask(prompt, { media: [tone(2000)] }),
    await hearing.ask(prompt, { media: [tone(2000)] }),
  ];
  expect(low.promptTokens).toBeGreaterThan(earTokens);
  expect(high.text).not.toBe(low.text);
  expect([again.text, again.cachedTokens]).toEqual([high.text, high.promptTokens - 1]);
  const broken: Medium = { kind: 'audio', base64: Buffer.from('RIFF....WAVEnonsense').toString('base64') };
  expect((await hearing.ask(prompt, { media: [broken] })).error).toMatchObject({ details: { field: 'audio' } });
  expect((await hearing.ask(prompt, { media: [stripes] })).error).toMatchObject({ code: 'unsupported' });
  await hearing.host.stop();
});

test.skipIf(missing !== undefined)('server with a projector: accepts images over HTTP', async () => {
  const server = await startServer(['--quiet', '--usecpu', '--mmproj', projector]);
  const client = nativeClient(server.base);
  const request = { prompt: story, images: [stripes.base64], max_length: 8 };
  const [actual, other, none] = [
    await client.generate(request),
    await client.generate({ ...request, images: [circle.base64] }),
    await client.generate({ ...request, images: [] }),
  ];
  expect(actual.prompt_tokens).toBeGreaterThan(gridTokens);
  expect(new Set([actual.text, other.text, none.text]).size).toBe(3);
  const broken = await client.post('/api/v1/generate', { ...request, images: [Buffer.from('no').toString('base64')] });
  expect([broken.status, broken.text]).toEqual([400, expect.stringContaining('PNG, JPEG, GIF or BMP')]);
  expect((await client.generate(request)).text).toBe(actual.text);
  await server.stop();
});

describe('invalid --mmproj: ends the start with the reason', () => {
  const flags = ['--port', '0', '--threads', '1', '--usecpu', '--mmproj'];

  test('a projector without the pack', async () => {
    process.env.PARLEY_PACKS = folder;
    const { code, stdout, stderr } = await runProgram([...flags, projector]);
    process.env.PARLEY_PACKS = packs;
    expect(code).toBe(3);
    expect(stdout + stderr).toContain('parley pack add vision');
  });

  test.skipIf(missing !== undefined)('a projector for another model', async () => {
    const wrong = join(folder, 'wrong.gguf');
    await writeGridProjector(wrong, 256);
    const { code, stdout, stderr } = await runProgram([...flags, wrong]);
    expect(code).toBe(3);
    expect(stdout + stderr).toMatch(/mismatch/);
  });

  test.skipIf(missing !== undefined)('a file that is not a projector', async () => {
    const { code, stdout, stderr } = await runProgram([...flags, embeddedModel]);
    expect(code).toBe(3);
    expect(stdout + stderr).toContain('could not be loaded');
  });
});
