import { expect, test } from 'vitest';
import type { Probe } from '../core/probe.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import { probedGpus } from './own-machine.ts';
import type { ProbeResult } from './probe.ts';

const gpu = { name: 'a card', graphics: true, freeBytes: 5, totalBytes: 9 };
const processor = { name: 'a processor', graphics: false, freeBytes: 1, totalBytes: 1 };

function world(builds: readonly GpuBuild[], results: Partial<Record<Probe, ProbeResult>>) {
  const probed: Probe[] = [];
  let now = 0;
  const gpus = probedGpus({
    builds: () => builds,
    probe: async (probe) => {
      probed.push(probe);
      return results[probe] ?? { type: 'failed', reason: 'no driver' };
    },
    now: () => now,
  });
  return { gpus, probed, pass: (milliseconds: number) => (now += milliseconds) };
}

test('probedGpus: the GPUs of the first build that finds any', async () => {
  const { gpus, probed } = world(['none', 'vulkan', 'cuda'], {
    'llama vulkan': { type: 'loaded', devices: [processor, gpu] },
  });
  expect(await gpus()).toEqual([{ ...gpu, description: 'a card' }]);
  expect(probed).toEqual(['llama cuda', 'llama vulkan']);
});

test('probedGpus: none without a build for GPUs, and without GPUs', async () => {
  expect(await world(['none'], {}).gpus()).toEqual([]);
  expect(await world(['vulkan'], { 'llama vulkan': { type: 'loaded', devices: [processor] } }).gpus()).toEqual([]);
});

test('probedGpus: asks again after a minute', async () => {
  const { gpus, probed, pass } = world(['vulkan'], {});
  await gpus();
  await gpus();
  pass(61_000);
  await gpus();
  expect(probed).toHaveLength(2);
});
