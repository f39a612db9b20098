import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ImageRequest } from '../src/core/image.ts';
import { sketch } from '../src/engines/image/facts.ts';
import { SeededNoise } from '../src/engines/image/flow/sampling.ts';
import { generate, openSketch, sketchNetwork } from '../src/engines/image/worker/generate.ts';
import { UpscalingNetworks } from '../src/engines/image/worker/upscale.ts';
import { OnnxSession } from '../src/engines/onnx/session.ts';
import { withFloatWeights } from './float-weights.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { lowest } from './statistics.ts';

const steps = 12;
const request: ImageRequest = {
  prompt: '',
  negativePrompt: '',
  width: sketch.side,
  height: sketch.side,
  steps,
  guidance: 2.5,
  sampler: 'Euler',
  scheduler: 'Simple',
  seed: 1,
  count: 1,
  clipSkip: 0,
  strength: 1,
  previewEvery: 0,
};

/**
 * A picture by the engine's own code, beside as many bare runs of the network with 32-bit weights as it has steps, turn by
 * turn in one process; the least disturbed of some rounds counts. Processor time is compared, since the clock tells more of
 * other users of the machine.
 */
export async function imageBench({ quick, threads = 2, log }: BenchOptions): Promise<Row[]> {
  const path = fileURLToPath(new URL('../../../models/parley-sketch.onnx', import.meta.url));
  const session = await openSketch({ path, threads });
  const bare = await OnnxSession.open(withFloatWeights(readFileSync(path)), { threads });
  const { signal } = new AbortController();
  const upscaler = new UpscalingNetworks(threads).watchedBy((work) => work());
  const condition = new SeededNoise(3)
    .take(sketch.conditionLength)
    .map((value) => value / Math.sqrt(sketch.conditionLength));
  const conditions = [condition, new Float32Array(sketch.conditionLength)] as const;
  const generateSquare = (size: number): Promise<void> =>
    generate(
      { request: { ...request, width: size, height: size }, conditions, shortened: false },
      { network: sketchNetwork(session, signal), upscaler, signal, emit: () => undefined },
    );
  const x = new SeededNoise(1).take(2 * 3 * sketch.side * sketch.side);
  const bareNetwork = sketchNetwork(bare, signal);
  const runs = async (): Promise<void> => {
    for (let step = 0; step < steps; step += 1) await bareNetwork({ x, time: step / steps, conditions });
  };
  // Both find their memory.
  await sketchNetwork(session, signal)({ x, time: 0, conditions });
  await bareNetwork({ x, time: 0, conditions });
  const costs: { readonly own: Cost; readonly bare: Cost }[] = [];
  for (let round = 0; round < (quick ? 1 : 4); round += 1) {
    costs.push({ own: await cost(() => generateSquare(sketch.side)), bare: await cost(runs) });
    const { own, bare: peer } = costs.at(-1) as (typeof costs)[number];
    log(`${own.processor.toFixed(2)} s of processor time, bare ${peer.processor.toFixed(2)} s`);
  }
  await generateSquare(512);
  const whole = await cost(() => generateSquare(512));
  session.release();
  bare.release();
  const row = (what: string, of: keyof Cost): Row => {
    const value = lowest(costs.map(({ own }) => own[of]));
    const peer = lowest(costs.map((one) => one.bare[of]));
    return { bench: 'image', what, value, unit: 's', peer: { value: peer, ratio: value / peer } };
  };
  return [
    { ...row(`a picture of ${steps} steps, processor time`, 'processor'), ratioGoal: { atMost: 1.15 } },
    row(`a picture of ${steps} steps, ${threads} threads`, 'clock'),
    { bench: 'image', what: 'the same at 512×512, processor time', value: whole.processor, unit: 's' },
  ];
}

/** In seconds. */
interface Cost {
  readonly clock: number;
  readonly processor: number;
}

async function cost(work: () => Promise<void>): Promise<Cost> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { clock: (performance.now() - startedAt) / 1000, processor: (user + system) / 1e6 };
}
