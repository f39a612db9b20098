import { readFile } from 'node:fs/promises';
import { OnnxSession } from '../../onnx/session.ts';
import { checkedWeights, type WeightsFile, weights } from '../../weights.ts';
import type { NetworkScale } from '../facts.ts';
import { pictureInput, pictureOutput } from '../upscaling/upscaler.ts';
import type { Watched } from './sketch-network.ts';
import type { NetworkOf } from './upscale.ts';

const files: Readonly<Record<NetworkScale, WeightsFile>> = {
  2: weights.upscaler2,
  3: weights.upscaler3,
  4: weights.upscaler4,
  8: weights.upscaler8,
};

/** Each is loaded at its first use, and stays. */
export class UpscalingNetworks {
  readonly #opened = new Map<NetworkScale, Promise<OnnxSession>>();

  constructor(private readonly threads: number) {}

  watchedBy(watched: Watched): NetworkOf {
    return async (scale) => {
      const session = await this.#session(scale);
      return {
        scale,
        run: async (planes, { width, height }, signal) => {
          const inputs = { [pictureInput]: { data: planes, shape: [1, 3, height, width] } };
          const larger = (await watched(() => session.run(inputs, signal)))[pictureOutput];
          if (!larger) throw new Error('the upscaler gave nothing');
          return larger.data;
        },
      };
    };
  }

  async close(): Promise<void> {
    for (const session of await Promise.allSettled(this.#opened.values())) {
      if (session.status === 'fulfilled') session.value.release();
    }
  }

  #session(scale: NetworkScale): Promise<OnnxSession> {
    const found = this.#opened.get(scale);
    if (found) return found;
    const opening = open(scale, this.threads);
    this.#opened.set(scale, opening);
    // What failed once may be there the next time.
    opening.catch(() => this.#opened.delete(scale));
    return opening;
  }
}

async function open(scale: NetworkScale, threads: number): Promise<OnnxSession> {
  return OnnxSession.open(await readFile(await checkedWeights(files[scale])), { threads });
}
