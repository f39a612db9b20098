import { describe, expect, test } from 'vitest';
import type { Call } from '../../http/call.ts';
import { asked } from '../testing/asked.ts';
import { formOf } from '../testing/forms.ts';
import { pngOf } from '../testing/pictures.ts';
import { stockBody } from './testing/graphs.ts';
import { comfyWorld } from './testing/world.ts';

const by = (name: string): Partial<Call> => ({ key: { name, scopes: ['images'], weight: 1 } });

function world() {
  const { endpoints, ...rest } = comfyWorld();
  const get = (target: string, own: Partial<Call> = {}) => asked(endpoints, 'GET', target, '', own);
  const post = (target: string, body: unknown, own: Partial<Call> = {}) => asked(endpoints, 'POST', target, body, own);
  return { ...rest, get, post };
}

describe('ComfyUI: prompts and pictures of another key', () => {
  test('waiting prompts are neither listed nor removed', async () => {
    const { get, post } = world();
    await post('/prompt', stockBody(), by('one'));
    expect((await get('/queue', by('other'))).json).toEqual({ queue_running: [], queue_pending: [] });
    await post('/queue', { clear: true }, by('other'));
    expect((await get('/queue', by('one'))).json.queue_pending).toHaveLength(1);
  });

  test('results and their pictures are neither shown nor removed', async () => {
    const { get, post, drawAll } = world();
    const { prompt_id: id } = (await post('/prompt', stockBody(), by('one'))).json;
    await drawAll();
    const outputs = Object.values((await get(`/history/${id}`, by('one'))).json[id].outputs);
    const [{ filename }] = (outputs[0] as { images: [{ filename: string }] }).images;
    expect([(await get('/history', by('other'))).json, (await get(`/history/${id}`)).json]).toEqual([{}, {}]);
    await post('/history', { clear: true }, by('other'));
    await post('/history', { delete: [id] }, by('other'));
    expect(Object.keys((await get('/history', by('one'))).json)).toEqual([id]);
    const picture = `/view?filename=${filename}`;
    const found = [by('one'), by('other'), {}].map(async (own) => (await get(picture, own)).status);
    expect(await Promise.all(found)).toEqual([200, 404, 404]);
  });

  test('forget: leaves nothing of an owner, and all of others', async () => {
    const { get, post, drawAll, prompts } = world();
    for (const name of ['one', 'other']) await post('/prompt', stockBody(), by(name));
    await drawAll();
    const form = await formOf({}, [{ field: 'image', name: 'photo.png', bytes: pngOf(4, 4) }]);
    await post('/upload/image', '', { ...form, ...by('one') });
    const { prompt_id: waiting } = (await post('/prompt', stockBody(), by('one'))).json;
    await prompts.forget('key one');
    expect(prompts.remaining).toBe(0);
    expect((await get('/history', by('one'))).json).toEqual({});
    expect((await get(`/history/${waiting}`, by('one'))).json).toEqual({});
    expect(prompts.files.of('key one').all()).toEqual([]);
    expect(Object.keys((await get('/history', by('other'))).json)).toHaveLength(1);
    expect(prompts.files.of('key other').all()).toHaveLength(1);
  });

  test('sent pictures have names of their own key', async () => {
    const { get, post } = world();
    const send = async (red: number, own: Partial<Call>) => {
      const form = await formOf({}, [{ field: 'image', name: 'photo.png', bytes: pngOf(4, 4, [red, 0, 0, 255]) }]);
      return (await post('/upload/image', '', { ...form, ...own })).json.name;
    };
    expect([await send(1, by('one')), await send(2, by('other'))]).toEqual(['photo.png', 'photo.png']);
    const bytes = async (own: Partial<Call>) => (await get('/view?filename=photo.png&type=input', own)).bytes;
    expect((await bytes(by('one'))).equals(await bytes(by('other')))).toBe(false);
  });

  test('an interrupt stops running prompts of its own key only', async () => {
    const { get, post, timer, drawAll } = world();
    const { prompt_id: id } = (await post('/prompt', stockBody(), by('one'))).json;
    timer.pass(100);
    await post('/interrupt', { prompt_id: id }, by('other'));
    await post('/interrupt', {}, by('other'));
    await drawAll();
    expect((await get('/history', by('one'))).json[id].status.completed).toBe(true);
  });
});
