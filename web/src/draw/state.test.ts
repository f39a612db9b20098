import { describe, expect, test } from 'vitest';
import { fakePage, skipPauses } from '../testing/page.ts';
import type { SavedImage } from './gallery.svelte.ts';
import { defaultSettings } from './image-request.ts';

const generated = { image: 'AAAA', seed: 7, parameters: '' };
const info = JSON.stringify({ seed: 7, all_seeds: [7], infotexts: [''] });
const stored = (id: string, madeAt: number): SavedImage => ({ ...generated, id, madeAt, wish: defaultSettings });

describe('gallery', () => {
  test('loads the saved images, the newest first, once', async () => {
    const page = fakePage();
    page.records('pictures').set('a', stored('a', 1)).set('b', stored('b', 2));
    const { gallery, newestImages } = await import('./gallery.svelte.ts');
    await gallery.load();
    await gallery.load();
    expect(newestImages().map(({ id }) => id)).toEqual(['b', 'a']);
  });

  test('saves new images with their settings', async () => {
    const page = fakePage();
    const { gallery, saveImages } = await import('./gallery.svelte.ts');
    const [first] = saveImages([generated], { ...defaultSettings, prompt: 'cat' });
    await gallery.flush();
    expect(gallery.all[0]).toMatchObject({ seed: 7, wish: { prompt: 'cat' } });
    expect(page.records('pictures').get(first?.id ?? '')).toMatchObject({ image: 'AAAA' });
  });

  test('restores a removed image at its place', async () => {
    const page = fakePage();
    for (const one of [stored('a', 1), stored('b', 2), stored('c', 3)]) page.records('pictures').set(one.id, one);
    const { gallery, newestImages } = await import('./gallery.svelte.ts');
    await gallery.load();
    await gallery.remove('b');
    expect(page.records('pictures').has('b')).toBe(false);
    gallery.put(stored('b', 2));
    await gallery.flush();
    expect(newestImages().map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    expect(page.records('pictures').has('b')).toBe(true);
  });
});

describe('draw', () => {
  test('returns the images and shows the progress of its own request', async () => {
    let finish: (body: object) => void = () => {};
    const page = fakePage({
      'sdapi/v1/txt2img': () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
      'sdapi/v1/progress': () => ({
        progress: 0.5,
        state: { sampling_step: 3, sampling_steps: 6 },
        current_image: 'BBBB',
      }),
    });
    const { draw, drawing } = await import('./drawing.svelte.ts');
    const images = draw({ ...defaultSettings, prompt: 'cat' }, {});
    await expect.poll(() => drawing).toMatchObject({ share: 0.5, step: 'Step 3 of 6', preview: 'BBBB' });
    finish({ images: ['AAAA'], info });
    expect(await images).toMatchObject([generated]);
    expect(drawing.running).toBe(false);
    expect(page.requestsTo('sdapi/v1/txt2img')[0]?.body).toMatchObject({ prompt: 'cat' });
  });

  test('upscaling: keeps prompt, settings and seed of the image, and does not claim to wait', async () => {
    let finish: (body: object) => void = () => {};
    fakePage({
      'sdapi/v1/extra-single-image': () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
      'sdapi/v1/progress': () => ({ progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null }),
    });
    const { newestImages, saveImages } = await import('./gallery.svelte.ts');
    const { draw, drawing } = await import('./drawing.svelte.ts');
    const made = { image: 'AAAA', seed: 7, parameters: 'cat\nSteps: 3' };
    saveImages([made], { ...defaultSettings, prompt: 'cat', steps: 3 });
    const upscale = {
      ...defaultSettings,
      manner: 'upscale',
      prompt: 'typed since',
      upscaler: 'Big',
      factor: 4,
    } as const;
    const images = draw(upscale, { image: 'AAAA' });
    expect(drawing).toMatchObject({ running: true, share: undefined, step: 'Upscaling …' });
    finish({ image: 'BBBB', html_info: '' });
    await images;
    expect(newestImages()[0]).toMatchObject({
      image: 'BBBB',
      seed: 7,
      parameters: 'cat\nSteps: 3',
      wish: { manner: 'upscale', prompt: 'cat', steps: 3, upscaler: 'Big', factor: 4 },
    });
  });

  test('upscaling an image of another program: has no prompt', async () => {
    fakePage({
      'sdapi/v1/extra-single-image': () => ({ image: 'BBBB', html_info: '' }),
      'sdapi/v1/progress': () => ({ progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null }),
    });
    const { newestImages } = await import('./gallery.svelte.ts');
    const { draw } = await import('./drawing.svelte.ts');
    await draw({ ...defaultSettings, manner: 'upscale', prompt: 'typed since' }, { image: 'CCCC' });
    expect(newestImages()[0]).toMatchObject({ wish: { manner: 'upscale', prompt: '' } });
  });

  test('stopDrawing aborts the request on the server and reports no error', async () => {
    const page = fakePage({
      'sdapi/v1/txt2img': (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      'sdapi/v1/progress': () => ({ progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null }),
    });
    const { draw, stopDrawing } = await import('./drawing.svelte.ts');
    const { notices } = await import('../ui/notices.svelte.ts');
    const images = draw({ ...defaultSettings, prompt: 'cat' }, {});
    await expect.poll(() => page.requestsTo('sdapi/v1/txt2img')).toHaveLength(1);
    stopDrawing();
    expect(await images).toEqual([]);
    expect(notices.list).toEqual([]);
    expect(page.requestsTo('api/extra/abort')[0]?.body).toEqual({
      genkey: page.requestsTo('sdapi/v1/txt2img')[0]?.body.genkey,
    });
  });

  test('fetches the images by key if the connection is lost', async () => {
    skipPauses();
    const page = fakePage({
      'sdapi/v1/txt2img': () => Promise.reject(new TypeError('network error')),
      'sdapi/v1/get_last.json': () => ({ images: ['AAAA'], info }),
      'sdapi/v1/progress': () => ({ progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null }),
    });
    const { draw } = await import('./drawing.svelte.ts');
    expect(await draw({ ...defaultSettings, prompt: 'cat' }, {})).toMatchObject([generated]);
    expect(page.localStorage.size).toBe(0);
  });

  test('does not ask for images that the server does not have yet', async () => {
    skipPauses();
    let looks = 0;
    const page = fakePage({
      'sdapi/v1/get_last.json': () => ({ images: ['AAAA'], info }),
      'sdapi/v1/progress': () => {
        looks += 1;
        const state = { sampling_step: 0, sampling_steps: 0 };
        return { progress: 0, state, current_image: null, stored: looks > 2 };
      },
    });
    page.localStorage.set('parley.drawing.page.K', JSON.stringify({ ...defaultSettings, prompt: 'cat' }));
    await import('./drawing.svelte.ts');
    const { newestImages } = await import('./gallery.svelte.ts');
    await expect.poll(() => newestImages()[0], { timeout: 10_000 }).toMatchObject({ image: 'AAAA' });
    expect(looks).toBeGreaterThan(2);
    expect(page.requestsTo('sdapi/v1/get_last.json')).toHaveLength(1);
  });

  test('saves the images of a drawing that was running before the page was reloaded', async () => {
    skipPauses();
    const page = fakePage({
      'sdapi/v1/get_last.json': () => ({ images: ['AAAA'], info }),
      'sdapi/v1/progress': () => ({ progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null }),
    });
    page.localStorage.set('parley.drawing.page.K', JSON.stringify({ ...defaultSettings, prompt: 'cat' }));
    await import('./drawing.svelte.ts');
    const { newestImages } = await import('./gallery.svelte.ts');
    await expect.poll(() => newestImages()[0]).toMatchObject({ image: 'AAAA', wish: { prompt: 'cat' } });
    await expect.poll(() => page.localStorage.size).toBe(0);
  });
});
