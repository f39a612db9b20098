import { describe, expect, test } from 'vitest';
import type { ImageEvent, ImageRequest } from '../../core/image.ts';
import { RemoteImage } from './image.ts';
import { poolOf } from './testing/backend-pool.ts';
import { type Handler, json, upstream, wellParley, wellVllm } from './testing/upstream.ts';

const never = new AbortController().signal;
const request: ImageRequest = {
  prompt: 'a red house',
  negativePrompt: '',
  width: 256,
  height: 128,
  steps: 8,
  guidance: 5,
  sampler: 'default',
  scheduler: 'default',
  seed: 11,
  count: 2,
  clipSkip: 0,
  strength: 0.6,
  previewEvery: 0,
};
const base64 = (text: string) => Buffer.from(text).toString('base64');
const drawn = json({ data: [{ b64_json: base64('one') }, { b64_json: base64('two') }] });

async function engineOn(handlers: Readonly<Record<string, Handler>>) {
  const one = await upstream(handlers);
  const { pool } = poolOf([one.address()]);
  const asPng = async (png: Uint8Array) => ({ png, width: 200, height: 100 });
  const engine = new RemoteImage(pool, { model: undefined, name: 'painter', asPng });
  engine.start();
  await engine.settled();
  return { engine, one };
}

async function all(events: AsyncIterable<ImageEvent>): Promise<readonly ImageEvent[]> {
  const list: ImageEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

describe('RemoteImage.draw', () => {
  test('uses the OpenAI API and reports the real size', async () => {
    const { engine, one } = await engineOn({ ...wellVllm, '/v1/images/generations': drawn });
    const events = await all(engine.generate(request, never));
    expect(events.map(({ type }) => type)).toEqual(['progress', 'image', 'image', 'finish']);
    expect(events[2]).toMatchObject({ index: 1, seed: 12, png: Buffer.from('two') });
    expect(events.at(-1)).toMatchObject({ width: 200, height: 100, notes: [expect.stringContaining('seed')] });
    expect(one.asked('/v1/images/generations')[0]?.body).toEqual({
      model: 'org/model-8b',
      prompt: 'a red house',
      n: 2,
      size: '256x128',
      response_format: 'b64_json',
    });
  });

  test('sends all fields to another Parley', async () => {
    const { engine, one } = await engineOn({
      ...wellParley,
      '/v1/images/generations': drawn,
      '/v1/images/edits': drawn,
    });
    const wanted = { ...request, negativePrompt: 'blurry' };
    expect((await all(engine.generate(wanted, never))).at(-1)).toMatchObject({ notes: [] });
    expect(one.asked('/v1/images/generations')[0]?.body).toMatchObject({
      negative_prompt: 'blurry',
      steps: 8,
      cfg_scale: 5,
      seed: 11,
    });
    await all(engine.generate({ ...wanted, initial: Buffer.from('old'), mask: Buffer.from('hole') }, never));
    expect(one.asked('/v1/images/edits')[0]?.body).toMatchObject({
      image: base64('old'),
      mask: base64('hole'),
      denoising_strength: 0.6,
    });
  });

  test('notes ignored fields', async () => {
    const { engine } = await engineOn({
      ...wellVllm,
      '/v1/images/generations': json({ data: [{ b64_json: base64('one') }] }),
    });
    const finish = (await all(engine.generate({ ...request, negativePrompt: 'blurry' }, never))).at(-1);
    expect(finish).toMatchObject({
      notes: expect.arrayContaining(['negative_prompt is not supported by the remote backend']),
    });
    expect((finish as { notes: readonly string[] }).notes.join()).toContain('gave 1 of 2 pictures');
  });

  test('rejects img2img without support, and upscaling', async () => {
    const { engine } = await engineOn({ ...wellVllm, '/v1/images/generations': drawn });
    await expect(all(engine.generate({ ...request, initial: new Uint8Array(1) }, never))).rejects.toMatchObject({
      code: 'unsupported',
    });
    await expect(engine.upscale()).rejects.toMatchObject({ code: 'unsupported' });
  });

  test('rejects without pictures', async () => {
    const { engine } = await engineOn({ ...wellVllm, '/v1/images/generations': json({ data: [{ url: 'x' }] }) });
    await expect(all(engine.generate(request, never))).rejects.toMatchObject({ code: 'engine-failed' });
    const refused = await engineOn({ ...wellVllm, '/v1/images/generations': json({ error: 'no such size' }, 400) });
    await expect(all(refused.engine.generate(request, never))).rejects.toThrow('no such size');
  });

  test('stops on abort', async () => {
    const stop = new AbortController();
    const { engine } = await engineOn({ ...wellVllm, '/v1/images/generations': () => stop.abort(new Error('gone')) });
    await expect(all(engine.generate(request, stop.signal))).rejects.toThrow('gone');
  });

  test('has its name before the first probe', async () => {
    const { engine } = await engineOn(wellVllm);
    expect(engine.facts()).toMatchObject({ name: 'painter', title: 'painter' });
    expect(engine.state()).toEqual({ type: 'ready' });
    await engine.stop();
    expect(engine.state()).toEqual({ type: 'idle' });
  });
});
