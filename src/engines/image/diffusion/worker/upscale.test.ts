import { describe, expect, test } from 'vitest';
import { readImage, resized, writePng } from '../../codec.ts';
import { repeating } from '../../testing/repeating.ts';
import type { DiffusionDriver } from './generate.ts';
import { upscale } from './generate.ts';

const never = new AbortController().signal;
const image = await writePng({ data: new Uint8Array(8 * 8 * 3).fill(90), width: 8, height: 8, channels: 3 });
const clear = await writePng({ data: new Uint8Array(8 * 8 * 4).fill(90), width: 8, height: 8, channels: 4 });

function world(upscaler: string | undefined = '/up/4x-Ultra.pth') {
  const sent: string[] = [];
  const runDriver: DiffusionDriver['run'] = async (task, { input }) => {
    expect(task).toEqual({ type: 'upscale' });
    const pixels = await readImage({ bytes: input ?? new Uint8Array(), field: 'x' });
    sent.push(`${pixels.width}×${pixels.height}×${pixels.channels}`);
    return writePng(await resized(pixels, { width: pixels.width * 4, height: pixels.height * 4 }));
  };
  const networkOf = async (scale: number) => repeating(scale, (size) => sent.push(`built-in ${size}`));
  const run = async (name: string, width: number, height: number, bytes = image) => {
    const larger = await upscale(
      { image: bytes, upscaler: name, width, height },
      { upscaler },
      {
        runDriver,
        networkOf,
        signal: never,
      },
    );
    const pixels = await readImage({ bytes: larger, field: 'x' });
    return `${pixels.width}×${pixels.height}×${pixels.channels}`;
  };
  return { sent, run };
}

describe('upscale', () => {
  test('uses the named file and returns exactly the requested size', async () => {
    const { run, sent } = world();
    expect(await run('4X-ultra', 20, 24)).toBe('20×24×3');
    expect(sent).toEqual(['8×8×3']);
  });

  test('keeps alpha, which the network does not get', async () => {
    const { run, sent } = world();
    expect(await run('4x-Ultra', 32, 32, clear)).toBe('32×32×4');
    expect(sent).toEqual(['8×8×3']);
  });

  test('uses a built-in method otherwise', async () => {
    const { run, sent } = world();
    expect(await run('ESRGAN-slim 2x', 16, 16)).toBe('16×16×3');
    expect(await run('Lanczos', 9, 9)).toBe('9×9×3');
    expect(sent.every((each) => each.startsWith('built-in'))).toBe(true);
  });

  test('rejects unknown names and sizes out of range', async () => {
    await expect(world().run('4x-Other', 16, 16)).rejects.toThrow('upscaler must be one of');
    await expect(world().run('4x-Ultra', 9000, 16)).rejects.toThrow('width must be');
    await expect(world().run('4x-Ultra', 16, 0)).rejects.toThrow('height must be');
    await expect(world().run('4x-Ultra', 16, 16, Uint8Array.of(1) as never)).rejects.toThrow('image must be');
  });

  test('a driver error is an engine failure', async () => {
    const runDriver = () => Promise.reject(new Error('bad file'));
    const parts = { runDriver, networkOf: async (scale: number) => repeating(scale), signal: never };
    const work = upscale({ image, upscaler: '4x', width: 9, height: 9 }, { upscaler: '/4x.pth' }, parts);
    await expect(work).rejects.toMatchObject({ code: 'engine-failed' });
  });
});
