import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeImage } from '../testing/pictures.ts';
import { LastDrawings, progressReply, shareDone } from './progress.ts';

const now = Date.UTC(2026, 0, 15, 9, 30);
const running = {
  genkey: 'mine',
  skipped: false,
  step: 8,
  steps: 20,
  images: 0,
  count: 1,
  secondsSoFar: 4,
  preview: Buffer.from('png'),
};

function world() {
  const fake = fakeImage();
  const last = new LastDrawings();
  const look = (query = '') =>
    progressReply({ query: new URLSearchParams(query), remoteAddress: '::1' }, fake.imageJobs, last, now) as ReturnType<
      typeof JSON.parse
    >;
  return { fake, last, look };
}

describe('GET /sdapi/v1/progress', () => {
  test('is exactly zero while nothing is drawn', () => {
    expect(world().look()).toEqual({
      progress: 0,
      eta_relative: 0,
      state: {
        skipped: false,
        interrupted: false,
        stopping_generation: false,
        job: '',
        job_count: 0,
        job_timestamp: '20260115093000',
        job_no: 0,
        sampling_step: 0,
        sampling_steps: 0,
      },
      current_image: null,
      current_task: null,
      textinfo: null,
    });
  });

  test('shows progress without the picture to all clients', () => {
    const { fake, look } = world();
    fake.progress = running;
    const seen = look();
    expect(seen).toMatchObject({
      progress: 0.4031,
      eta_relative: 5.92,
      current_image: null,
      textinfo: 'Status: diffusing, Step: 8/20',
    });
    expect(seen.state).toMatchObject({ job_count: 1, job_no: 0, sampling_step: 8, sampling_steps: 20 });
  });

  test('shows the preview only for the key, unless skip_current_image is set', () => {
    const { fake, look } = world();
    fake.progress = running;
    expect(look('genkey=mine')).toMatchObject({
      current_image: Buffer.from('png').toString('base64'),
      current_task: 'mine',
    });
    expect(look('id_task=mine').current_task).toBe('mine');
    expect(look('genkey=mine&skip_current_image=true')).toMatchObject({ progress: 0.4031, current_image: null });
    expect(look('genkey=theirs')).toMatchObject({ progress: 0, state: { job_count: 0 }, current_task: null });
    fake.progress = undefined;
    expect(look('genkey=mine').progress).toBe(0);
  });

  test('shows no preview and no task of a drawing without a key', () => {
    const { fake, look } = world();
    fake.progress = { ...running, genkey: '' };
    expect(look('genkey=')).toMatchObject({ progress: 0.4031, current_image: null, current_task: null });
  });

  test('shows that the picture is being skipped', () => {
    const { fake, look } = world();
    fake.progress = { ...running, skipped: true };
    expect(look().state).toMatchObject({ skipped: true, interrupted: false });
  });

  test('shows that the prompt is being read', () => {
    const { fake, look } = world();
    fake.progress = { ...running, step: 0 };
    expect(look()).toMatchObject({ progress: 0.03, textinfo: 'Status: conditioning' });
  });

  test('shareDone: only grows, and is below 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 10 }), (steps, count) => {
        let before = 0;
        for (let images = 0; images < count; images++) {
          for (let step = 0; step <= steps; step++) {
            const share = shareDone({ step, steps, images, count });
            expect(share).toBeGreaterThanOrEqual(before);
            expect(share).toBeLessThan(1);
            before = share;
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});
