import { beforeEach, expect, test, vi } from 'vitest';
import { fakePage } from '../testing/page.ts';

beforeEach(() => {
  vi.useFakeTimers();
  return () => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  };
});

const unreachable = new TypeError('Failed to fetch');
const progress = { progress: 0, state: { sampling_step: 0, sampling_steps: 0 }, current_image: null, stored: false };

/** A drawing whose request fails; `answer` is what the server says about its progress. */
async function drawing(answer: () => Response) {
  fakePage();
  vi.stubGlobal('fetch', async (address: string | URL) => {
    if (String(address).includes('sdapi/v1/progress')) return answer();
    throw unreachable;
  });
  const { startDrawing } = await import('./drawing-task.ts');
  const settled = vi.fn();
  startDrawing(
    () => ({ path: 'sdapi/v1/txt2img', body: {} }),
    () => {},
  ).images.then(settled, settled);
  return settled;
}

test('startDrawing: fails at once if the server cannot be reached from the beginning', async () => {
  const settled = await drawing(() => {
    throw unreachable;
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(settled).toHaveBeenCalledWith(unreachable);
});

test('startDrawing: waits for the images if the connection is lost later', async () => {
  const settled = await drawing(() => Response.json(progress));
  await vi.advanceTimersByTimeAsync(3000);
  expect(settled).not.toHaveBeenCalled();
});
