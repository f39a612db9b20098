import { expect, test } from 'vitest';
import type { Probe } from '../core/probe.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import { probedCards } from './own-machine.ts';
import type { ProbeResult } from './probe.ts';

const card = { name: 'a card', graphics: true, freeBytes: 5, totalBytes: 9 };
const processor = { name: 'a processor', graphics: false, freeBytes: 1, totalBytes: 1 };

function world(builds: readonly GpuBuild[], results: Partial<Record<Probe, ProbeResult>>) {
  const probed: Probe[] = [];
  let now = 0;
  const cards = probedCards({
    builds: () => builds,
    probe: async (probe) => {
      probed.push(probe);
      return results[probe] ?? { type: 'failed', reason: 'no driver' };
    },
    now: () => now,
  });
  return { cards, probed, pass: (milliseconds: number) => (now += milliseconds) };
}

test('probedCards: the cards of the first build that finds any', async () => {
  const { cards, probed } = world(['none', 'vulkan', 'cuda'], {
    'llama vulkan': { type: 'loaded', devices: [processor, card] },
  });
  expect(await cards()).toEqual([{ ...card, description: 'a card' }]);
  expect(probed).toEqual(['llama cuda', 'llama vulkan']);
});

test('probedCards: none without a build for cards, and without cards', async () => {
  expect(await world(['none'], {}).cards()).toEqual([]);
  expect(await world(['vulkan'], { 'llama vulkan': { type: 'loaded', devices: [processor] } }).cards()).toEqual([]);
});

test('probedCards: asks again after a minute', async () => {
  const { cards, probed, pass } = world(['vulkan'], {});
  await cards();
  await cards();
  pass(61_000);
  await cards();
  expect(probed).toHaveLength(2);
});
